//! After random histories the running figures equal a recount, and the columns of a row equal its body.

use super::{ALL_DAYS, category_key, project_key, recount};
use crate::{
    Reader, StatsPeriod,
    sqlite::stats::tests::{ReviewFixture, START},
};
use domain::{
    credential::Authority,
    figures::{Counted, Figures, Measure, ReviewSums, WorkSums, Worker},
    finding::{FindingStatus, RequestedStatus, Severity},
    query_types::GroupBy,
    review::{AddMessage, ClaimSeat, Command, ReleaseSeat, Review, Role, UpdateFinding},
    time::Timestamp,
    verdict::Verdict,
};
use sqlx::{Row as _, sqlite::SqliteRow};
use std::{collections::BTreeMap, path::Path};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()]
    }
}

#[tokio::test]
async fn running_figures_equal_a_recount_and_columns_equal_their_body() {
    let mut disputes = 0;
    for seed in 0..9 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countersign.db");
        let mut fixture = ReviewFixture::on(&path).await;
        let (mut random, mut reviews, mut when, mut changed) = (Random(seed), Vec::<Review>::new(), 0, 0);
        for _ in 0..150 {
            // Some steps are at the same moment, and the whole takes days.
            when += random.one_of(&[0, 0, 1, 7, 60, 3_000, 40_000]);
            if random.below(20) == 0 {
                fixture.write_figures().await;
            }
            if reviews.is_empty() || random.below(8) == 0 {
                let project = random.one_of(&[None, Some("app"), Some("tool")]);
                reviews.push(fixture.propose(i64::try_from(reviews.len()).unwrap() + 1, project, when).await);
                continue;
            }
            let index = usize::try_from(random.below(reviews.len() as u64)).unwrap();
            if let Some(next) = act(&mut fixture, &mut random, &reviews[index], when).await {
                reviews[index] = next;
                changed += 1;
            }
        }
        assert!(changed > 30, "only {changed} changes in the history of seed {seed}");
        disputes += fixture.stats(StatsPeriod::default(), GroupBy::None).await.issues.disputes.total;
        a_copy_catches_up(&path).await;
        fixture.write_figures().await;
        assert_eq!(stored(&fixture.store.reader).await, recounted(&fixture.store.reader).await, "seed {seed}");
        let all = StatsPeriod { now: Timestamp(START + when * 1000), ..StatsPeriod::default() };
        for (since, until) in [(Some(1), None), (None, Some(when)), (Some(90_000), Some(200_000))] {
            let moment = |seconds: Option<i64>| seconds.map(|seconds| Timestamp(START + seconds * 1000));
            let period = StatsPeriod { since: moment(since), until: moment(until), ..all.clone() };
            let before = StatsPeriod { until: period.since, ..all.clone() };
            let after = StatsPeriod { since: period.until, ..all.clone() };
            let mut parts = 0;
            for (part, is_counted) in [(before, since.is_some()), (period, true), (after, until.is_some())] {
                if is_counted {
                    parts += fixture.stats(part, GroupBy::Persona).await.work.verdicts;
                }
            }
            assert_eq!(fixture.stats(all.clone(), GroupBy::Reviewer).await.work.verdicts, parts, "seed {seed}");
        }
        assert_eq!(list_rows_that_differ_from_their_body(&fixture.store.reader).await, [""; 0], "seed {seed}");
        fixture.end().await;
    }
    assert!(disputes > 2, "only {disputes} disputes in all histories");
}

/// Columns that the writer fills in beside the body.
async fn list_rows_that_differ_from_their_body(reader: &Reader) -> Vec<String> {
    let sql = "SELECT 'review ' || number FROM reviews WHERE id IS NOT body ->> '$.id'
               OR project IS NOT body ->> '$.proposer.project' OR category IS NOT body ->> '$.category'
               OR proposer IS NOT coalesce(body ->> '$.proposer.proposer_id', body ->> '$.proposer.agent_type')
               OR created_at_ms IS NOT body ->> '$.created_at' OR version IS NOT body ->> '$.version'
               OR status IS NOT body ->> '$.status' OR round IS NOT body ->> '$.round.number'
               OR content_hash IS NOT body ->> '$.round.content_hash'
               OR approved_hash IS NOT body ->> '$.approved_hash'
               OR escalated_for IS NOT body ->> '$.escalated.why' OR updated_at_ms IS NOT body ->> '$.updated_at'
               UNION ALL
               SELECT 'seat of review ' || review FROM seats WHERE persona IS NOT body ->> '$.persona'
               OR claimed_by IS NOT body ->> '$.claim.by' OR lease_ends_tick IS NOT body ->> '$.claim.lease_ends'
               OR vote IS NOT body ->> '$.vote'
               OR reserved_for IS NOT coalesce(body ->> '$.reservation.reviewer', body ->> '$.assigned')
               OR reserved_until_tick IS NOT body ->> '$.reservation.until'
               UNION ALL
               SELECT 'event ' || seq FROM events WHERE NOT json_valid(payload)";
    sqlx::QueryBuilder::<sqlx::Sqlite>::new(sql).build_query_scalar().fetch_all(&reader.pool).await.unwrap()
}

/// The files as a crash would leave them: the figures of the last changes are in memory only.
async fn a_copy_catches_up(path: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("countersign.db");
    std::fs::copy(path, &copy).unwrap();
    std::fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
    let started = ReviewFixture::on(&copy).await;
    assert_eq!(stored(&started.store.reader).await, recounted(&started.store.reader).await);
    started.end().await;
}

/// Applies a random command; `None` if the rules refuse it.
async fn act(fixture: &mut ReviewFixture, random: &mut Random, review: &Review, when: i64) -> Option<Review> {
    let by = random.one_of(&["ada", "bob", "cyd"]);
    let open = review.findings.iter().rfind(|finding| finding.status == FindingStatus::Open);
    let finding = open.or(review.findings.last()).map(|finding| finding.number);
    let (mut content, role) = (None, Authority::Operator);
    let command = match random.below(14) {
        0..3 => Command::Claim(ClaimSeat {
            by: by.into(),
            persona: None,
            takes_over: None,
            check: None,
            pool_personas: Vec::new(),
        }),
        3..7 => {
            let verdicts = [Verdict::Approved, Verdict::ChangesRequested, Verdict::Comment, Verdict::Rejected];
            let severities: [&[Severity]; 3] = [&[], &[Severity::Low], &[Severity::High, Severity::Critical]];
            let (verdict, severities) = (random.one_of(&verdicts), random.one_of(&severities));
            fixture.verdict(review, by, verdict, severities, when)
        }
        7 => {
            let (revise, revised) = ReviewFixture::revision(review, &format!("a better change {when}"));
            content = Some(revised);
            revise
        }
        8 => Command::Cancel { by: None, reason: "no".into() },
        9 => Command::Close { by: Role::Proposer, identity: None, landed_as: None },
        10 => Command::Release(ReleaseSeat { by: Some(by.into()), generation: None, reason: None, gave_up: false }),
        _ => match finding {
            Some(number) => {
                // Disputes outnumber the decisions about them, because only open findings can be disputed.
                let (role, by, requested) = random.one_of(&[
                    (Authority::Proposer, "eve", RequestedStatus::Disputed),
                    (Authority::Proposer, "eve", RequestedStatus::Disputed),
                    (role, "operator", RequestedStatus::WontFix),
                    (role, "operator", RequestedStatus::Fixed),
                    (role, "operator", RequestedStatus::Open),
                ]);
                let (by, note) = (Some(by.into()), Some("decided".into()));
                Command::UpdateFinding(UpdateFinding { number, role, by, requested, duplicate_of: None, note })
            }
            None => {
                let (by, persona, to, anchor, metadata) = (None, None, None, None, None);
                let body = format!("a word at {when}");
                Command::AddMessage(AddMessage { role, by, persona, to, body, anchor, metadata, gives_up: false })
            }
        },
    };
    fixture.try_apply(review, command, content, when).await
}

type Counts = BTreeMap<(i64, String, String), Figures>;

/// The figures of each day, and those of all days.
async fn recounted(reader: &Reader) -> Counts {
    let mut counts = Counts::new();
    let recounted = recount(&mut reader.pool.acquire().await.unwrap(), |_| {}).await.unwrap();
    for (cohort, figures) in recounted.iter() {
        for day in [cohort.day.0, ALL_DAYS] {
            let key = (day, project_key(cohort.project.as_deref()).to_owned(), category_key(cohort).to_owned());
            counts.entry(key).or_default().add(figures);
        }
    }
    counts
}

async fn stored(reader: &Reader) -> Counts {
    let mut counts = Counts::new();
    for row in rows(reader, &format!("{} FROM review_figures", ReviewSums::names().join(", "))).await {
        counts.entry(key(&row)).or_default().reviews = ReviewSums::new(sums(&row, 3));
    }
    for row in rows(reader, "measure, value, reviews, total FROM review_distributions").await {
        let measure = Measure::parse(row.get(3)).unwrap();
        let counted = Counted { reviews: row.get(5), total: row.get(6) };
        counts.entry(key(&row)).or_default().distributions.insert((measure, row.get(4)), counted);
    }
    for row in rows(reader, &format!("persona, reviewer, {} FROM work_figures", WorkSums::names().join(", "))).await {
        let worker = Worker { persona: row.get(3), reviewer: row.get(4) };
        counts.entry(key(&row)).or_default().work.insert(worker, WorkSums::new(sums(&row, 5)));
    }
    counts.values_mut().for_each(Figures::retain_changes);
    counts
}

async fn rows(reader: &Reader, columns_and_table: &str) -> Vec<SqliteRow> {
    let sql = format!("SELECT day, project, category, {columns_and_table}");
    sqlx::QueryBuilder::<sqlx::Sqlite>::new(sql).build().fetch_all(&reader.pool).await.unwrap()
}

fn key(row: &SqliteRow) -> (i64, String, String) {
    (row.get(0), row.get(1), row.get(2))
}

fn sums<const N: usize>(row: &SqliteRow, first: usize) -> [i64; N] {
    std::array::from_fn(|index| row.get(first + index))
}
