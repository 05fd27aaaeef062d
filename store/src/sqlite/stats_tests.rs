//! Reviews with known times, and the statistics of them.

use crate::{Change, Settings, StatsPeriod, Store, open};
use domain::{
    content::Content,
    credential::Authority,
    finding::{RequestedStatus, Severity},
    query_types::GroupBy,
    review::{
        Category, ClaimSeat, Command, GiveVerdict, OfferedFindings, Proposer, Review, Revise, Role, Status, Transition,
        UpdateFinding, transition,
    },
    stats::{DurationStats, Stats, StatusTime},
    time::{Now, Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use std::{path::Path, sync::Arc};
use testkit::{RULES, approval, content, issue, proposal, proposer, round};
use tokio::sync::oneshot;

/// A midnight in UTC.
pub(crate) const START: i64 = 1_700_006_400_000;
const DAY: i64 = 86_400_000;

/// Seconds after the start.
fn at(seconds: i64) -> Now {
    Now { at: Timestamp(START + seconds * 1000), tick: Tick(seconds * 1000) }
}

pub(crate) struct ReviewFixture {
    pub(crate) store: Store,
    last_finding: i64,
}

impl ReviewFixture {
    pub(crate) async fn on(path: &Path) -> Self {
        Self { store: open(path, Settings::default()).await.unwrap(), last_finding: 0 }
    }

    pub(crate) async fn propose(&self, number: i64, project: Option<&str>, when: i64) -> Review {
        let content = content(&format!("change {number}"));
        let mut proposal = proposal(number, &content, &["general"]);
        proposal.proposed.proposer =
            Proposer { project: project.map(Into::into), proposer_id: Some("eve".into()), ..proposer() };
        proposal.proposed.category = (number % 2 == 1).then_some(Category::CodeChange);
        self.commit(
            None,
            transition(None, Command::Propose(Box::new(proposal)), at(when), &RULES).unwrap(),
            Some(content),
            when,
        )
        .await
    }

    pub(crate) async fn apply(&self, review: &Review, command: Command, when: i64) -> Review {
        self.commit(Some(review), transition(Some(review), command, at(when), &RULES).unwrap(), None, when).await
    }

    pub(crate) async fn claim(&self, review: &Review, by: &str, when: i64) -> Review {
        let claim =
            ClaimSeat { by: by.into(), persona: None, takes_over: None, check: None, pool_personas: Vec::new() };
        self.apply(review, Command::Claim(claim), when).await
    }

    pub(crate) async fn vote(
        &mut self,
        review: &Review,
        by: &str,
        verdict: Verdict,
        issues: &[Severity],
        when: i64,
    ) -> Review {
        let command = self.verdict(review, by, verdict, issues, when);
        self.apply(review, command, when).await
    }

    pub(crate) fn verdict(
        &mut self,
        review: &Review,
        by: &str,
        verdict: Verdict,
        issues: &[Severity],
        when: i64,
    ) -> Command {
        let numbers = self.last_finding + 1..;
        self.last_finding += i64::try_from(issues.len()).unwrap();
        let list = numbers.zip(issues).map(|(number, severity)| issue(number, *severity)).collect();
        let offered = Some(OfferedFindings { content_hash: review.round.content_hash.clone(), list });
        let metrics = ReviewMetrics {
            cost_usd: Some(0.1),
            input_tokens: Some(100),
            output_tokens: Some(10),
            ..ReviewMetrics::default()
        };
        Command::GiveVerdict(GiveVerdict {
            verdict,
            reason: Some("so".into()),
            metrics: Some(metrics),
            findings: offered,
            signature: None,
            digest: format!("{by} {when}"),
            ..approval(by)
        })
    }

    pub(crate) fn revision(review: &Review, intent: &str) -> (Command, Content) {
        let content = content(intent);
        let revise = Revise {
            proposer_id: None,
            completes: review.round.content_hash.clone(),
            round: round(&content),
            anchors: Vec::new(),
        };
        (Command::Revise(revise), content)
    }

    async fn revise(&self, review: &Review, intent: &str, when: i64) -> Review {
        let (command, content) = Self::revision(review, intent);
        self.try_apply(review, command, Some(content), when).await.unwrap()
    }

    /// `None` if the rules refuse the command or nothing changes.
    pub(crate) async fn try_apply(
        &self,
        review: &Review,
        command: Command,
        content: Option<Content>,
        when: i64,
    ) -> Option<Review> {
        let transition = transition(Some(review), command, at(when), &RULES).ok()?;
        if transition.events.is_empty() {
            return None;
        }
        let content = content.filter(|_| transition.events.iter().any(|logged| logged.event.replaces_content()));
        Some(self.commit(Some(review), transition, content, when).await)
    }

    pub(crate) async fn close(&self, review: &Review, when: i64) -> Review {
        self.apply(review, Command::Close { by: Role::Proposer, identity: None, landed_as: None }, when).await
    }

    async fn commit(
        &self,
        before: Option<&Review>,
        Transition { next, events, .. }: Transition,
        content: Option<Content>,
        when: i64,
    ) -> Review {
        let mut change = Change::new(before, Arc::new(next.clone()), events, at(when).tick).unwrap();
        change.content = content.map(Arc::new);
        let (done, saved) = oneshot::channel();
        self.store.writer.commit(change, done);
        saved.await.unwrap().unwrap();
        next
    }

    pub(crate) async fn stats(&self, period: StatsPeriod, by: GroupBy) -> Stats {
        self.write_figures().await;
        self.store.reader.count_stats(&period, by).await.unwrap()
    }

    pub(crate) async fn write_figures(&self) {
        let (done, written) = oneshot::channel();
        self.store.writer.write_figures(done);
        written.await.unwrap().unwrap();
    }

    pub(crate) async fn end(self) {
        drop(self.store.writer);
        self.store.thread.ended().await;
        self.store.reader.close().await;
    }
}

/// Two rounds and a close; rejected and closed; cancelled; pending since a day later; approved, of another project.
pub(crate) async fn known_reviews(path: &Path) -> ReviewFixture {
    let mut fixture = ReviewFixture::on(path).await;
    let one = fixture.propose(1, Some("app"), 0).await;
    let one = fixture.claim(&one, "ada", 10).await;
    let one = fixture.vote(&one, "ada", Verdict::Comment, &[], 20).await;
    let one = fixture.vote(&one, "ada", Verdict::ChangesRequested, &[Severity::High, Severity::Low], 40).await;
    let one = fixture.revise(&one, "change 1, better", 100).await;
    let one = fixture.claim(&one, "bob", 110).await;
    let one = fixture.vote(&one, "bob", Verdict::Approved, &[], 130).await;
    fixture.close(&one, 200).await;
    let two = fixture.propose(2, Some("app"), 0).await;
    let two = fixture.claim(&two, "ada", 30).await;
    let two = fixture.vote(&two, "ada", Verdict::Rejected, &[Severity::Critical], 90).await;
    fixture.close(&two, 100).await;
    let three = fixture.propose(3, Some("app"), 0).await;
    fixture.apply(&three, Command::Cancel { by: None, reason: "no".into() }, 50).await;
    fixture.propose(4, Some("app"), 86_400).await;
    let five = fixture.propose(5, Some("web"), 86_400).await;
    let five = fixture.claim(&five, "ada", 86_401).await;
    fixture.vote(&five, "ada", Verdict::Approved, &[], 86_403).await;
    fixture
}

fn of_app() -> StatsPeriod {
    StatsPeriod { project: Some(Some("app".into())), now: Timestamp(START + 2 * DAY), ..StatsPeriod::default() }
}

#[tokio::test]
async fn the_statistics_of_known_reviews_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let stats = fixture.stats(of_app(), GroupBy::None).await;
    let reviews = &stats.reviews;
    let counted: Vec<_> =
        reviews.by_status.iter().filter(|(_, count)| **count > 0).map(|(status, n)| (status.as_str(), *n)).collect();
    assert_eq!((reviews.total, counted), (4, vec![("cancelled", 1), ("closed", 2), ("pending", 1)]));
    assert_eq!((reviews.by_category["code_change"], reviews.by_category["none"]), (2, 2));
    assert_eq!((reviews.approved, reviews.rejected, reviews.cancelled), (1, 1, 1));
    assert_eq!((reviews.approval_rate, reviews.first_round_rate), (Some(0.333), Some(0.0)));
    assert_eq!((reviews.rounds.mean, reviews.rounds.max), (1.25, 2));

    let duration = |count, mean, p50, p90, max| DurationStats {
        count,
        mean_ms: Some(mean),
        p50_ms: Some(p50),
        p90_ms: Some(p90),
        p95_ms: Some(max),
        max_ms: Some(max),
    };
    assert_eq!(reviews.time_to_first_claim, duration(2, 20_000, 10_000, 30_000, 30_000));
    assert_eq!(reviews.time_to_verdict, duration(2, 65_000, 40_000, 90_000, 90_000));
    assert_eq!(reviews.time_to_decision, duration(3, 90_000, 90_000, 130_000, 130_000));
    assert_eq!(reviews.time_to_close, duration(2, 150_000, 100_000, 200_000, 200_000));

    let time = |status: Status| {
        let StatusTime { reviews, total_ms, .. } = reviews.time_in_status[status.as_str()];
        (reviews, total_ms)
    };
    let day = u64::try_from(DAY).unwrap();
    // 10 + 10 of the first, 30 of the second, 50 of the third, a day of the fourth.
    assert_eq!(time(Status::Pending), (4, 100_000 + day));
    assert_eq!(time(Status::Claimed), (2, 30_000 + 20_000 + 60_000));
    assert_eq!(time(Status::ChangesRequested), (1, 60_000));
    assert_eq!(time(Status::Approved), (1, 70_000));
    assert_eq!(time(Status::Rejected), (1, 10_000));
    assert_eq!(time(Status::Cancelled), (1, 2 * day - 50_000));
    assert_eq!(time(Status::InReview), (0, 0));

    let work = &stats.work;
    assert_eq!((work.reviews, work.verdicts, work.votes, work.comments), (2, 4, 3, 1));
    assert_eq!((work.approvals, work.changes_requested, work.rejections), (1, 1, 1));
    assert_eq!(work.average_ms, Some(36_667));
    assert_eq!((work.input_tokens, work.output_tokens), (400, 40));
    assert!(work.cost_usd == Some(0.4));
    let counts = |counts: &[(&str, u64)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!(stats.issues.total, 3);
    assert_eq!(stats.issues.by_severity, counts(&[("low", 1), ("high", 1), ("critical", 1)]));
    let fates = |severity: &str, fate: &str| stats.issues.fates[severity].get(fate).copied();
    assert_eq!((fates("high", "fixed"), fates("critical", "wont_fix")), (Some(1), Some(1)));
    assert!((stats.cost_per_approval_usd, work.verdicts_with_cost) == (Some(0.4), 4));
    // The approval of bob and the rejection of ada decided their reviews. The vote of an earlier round does not count.
    assert_eq!((work.judged_votes, work.agreement_rate), (2, Some(1.0)));
    // An approval in a later round resolves the findings of its own persona. Without lines they count as fixed.
    assert_eq!(stats.issues.by_status, counts(&[("wont_fix", 1), ("fixed", 2)]));
    fixture.end().await;
}

#[tokio::test]
async fn statistics_are_grouped_by_reviewer_day_category_and_persona() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let all = StatsPeriod { now: Timestamp(START + 2 * DAY), ..StatsPeriod::default() };
    let named = |stats: &Stats| stats.groups.iter().map(|group| group.group.clone()).collect::<Vec<_>>();
    let by_reviewer = fixture.stats(all.clone(), GroupBy::Reviewer).await;
    assert_eq!(named(&by_reviewer), ["ada", "bob"]);
    let ada = &by_reviewer.groups[0];
    assert_eq!((ada.work.votes, ada.work.approvals, ada.work.reviews, ada.issues.total), (3, 1, 3, 3));
    assert_eq!((ada.work.average_ms, ada.reviews.is_none()), (Some(30_667), true));
    assert_eq!(by_reviewer.groups[1].work.average_ms, Some(20_000));
    let by_day = fixture.stats(all.clone(), GroupBy::Day).await;
    assert_eq!(named(&by_day), ["2023-11-16", "2023-11-15"]);
    let reviews = by_day.groups[0].reviews.as_ref().unwrap();
    assert_eq!((reviews.total, reviews.approved, reviews.time_to_first_claim.max_ms), (2, 1, Some(1_000)));
    let by_category = fixture.stats(all.clone(), GroupBy::Category).await;
    assert_eq!(named(&by_category), ["code_change", "none"]);
    assert_eq!(by_category.groups[0].work.votes, 3);
    let by_persona = fixture.stats(all, GroupBy::Persona).await;
    assert_eq!((named(&by_persona), by_persona.groups[0].work.votes), (vec!["general".to_owned()], 4));
    let by_day_and_persona = fixture.stats(StatsPeriod::default(), GroupBy::DayPersona).await;
    let rows = by_day_and_persona.groups.iter();
    let rows: Vec<_> = rows.map(|row| (row.group.as_str(), row.persona.as_deref(), row.work.votes)).collect();
    assert_eq!(rows, [("2023-11-16", Some("general"), 1), ("2023-11-15", Some("general"), 3)]);
    fixture.end().await;
}

#[tokio::test]
async fn daily_statistics_are_those_of_the_groups_in_short() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    fixture.write_figures().await;
    let daily = fixture.store.reader.count_daily_stats(&StatsPeriod::default(), true).await.unwrap();
    let days: Vec<_> = daily.days.iter().map(|day| (day.day.as_str(), day.reviews, day.verdicts)).collect();
    assert_eq!(days, [("2023-11-15", 3, 4), ("2023-11-16", 2, 1)]);
    assert_eq!(
        (daily.personas.as_slice(), daily.more_personas, daily.more_days),
        (["general".into()].as_slice(), 0, 0)
    );
    let by_day = fixture.stats(StatsPeriod::default(), GroupBy::Day).await;
    for (day, group) in daily.days.iter().rev().zip(&by_day.groups) {
        let reviews = group.reviews.as_ref().unwrap();
        assert_eq!(
            (day.day.as_str(), day.approved, day.rejected),
            (group.group.as_str(), reviews.approved, reviews.rejected)
        );
        assert_eq!(day.time_to_decision, reviews.time_to_decision);
        assert_eq!((&day.issues_by_severity, day.cost_usd), (&group.issues.by_severity, group.work.cost_usd));
        assert_eq!(day.personas[0].approvals, group.work.approvals);
    }
    let period = StatsPeriod { since: Some(Timestamp(START + DAY)), ..StatsPeriod::default() };
    let daily = fixture.store.reader.count_daily_stats(&period, false).await.unwrap();
    assert_eq!((daily.days.len(), daily.personas.len()), (1, 0));
    fixture.end().await;
}

#[tokio::test]
async fn a_dispute_is_upheld_if_the_issue_is_withdrawn_and_the_last_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = ReviewFixture::on(&folder.path().join("countersign.db")).await;
    let mut review = fixture.propose(1, None, 0).await;
    review = fixture.claim(&review, "ada", 10).await;
    review = fixture.vote(&review, "ada", Verdict::ChangesRequested, &[Severity::High, Severity::Low], 20).await;
    let numbers: Vec<_> = review.findings.iter().map(|finding| finding.number).collect();
    let mut seen = Vec::new();
    let steps = [
        (0, Authority::Proposer, "eve", RequestedStatus::Disputed),
        (1, Authority::Proposer, "eve", RequestedStatus::Disputed),
        (0, Authority::Operator, "ann", RequestedStatus::WontFix),
        (1, Authority::Operator, "ann", RequestedStatus::Open),
        (1, Authority::Proposer, "eve", RequestedStatus::Disputed),
    ];
    for (when, (index, role, by, requested)) in (30..).zip(steps) {
        let (number, by, note) = (numbers[index], Some(by.into()), Some(format!("at {when}")));
        let update = UpdateFinding { number, role, by, requested, duplicate_of: None, note };
        review = fixture.apply(&review, Command::UpdateFinding(update), when).await;
        let issues = fixture.stats(StatsPeriod::default(), GroupBy::None).await.issues;
        let disputed = issues.fates.values().filter_map(|fates| fates.get("disputed")).sum::<u64>();
        seen.push((issues.disputes.total, issues.disputes.upheld, issues.disputes.rejected, disputed));
    }
    assert_eq!(seen, [(1, 0, 0, 1), (2, 0, 0, 2), (2, 1, 0, 1), (2, 1, 1, 0), (2, 1, 0, 1)]);
    // Closing the review decides nothing.
    review = fixture.apply(&review, Command::Cancel { by: None, reason: "no".into() }, 45).await;
    fixture.close(&review, 50).await;
    let stats = fixture.stats(StatsPeriod::default(), GroupBy::None).await;
    assert_eq!((stats.issues.disputes.total, stats.issues.disputes.upheld, stats.issues.disputes.rejected), (2, 1, 0));
    assert_eq!(stats.processes.cost_usd, None);
    fixture.end().await;
}

#[tokio::test]
async fn a_period_counts_the_reviews_submitted_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let total = async |since: Option<i64>, until: Option<i64>| {
        let moment = |seconds: i64| Timestamp(START + seconds * 1000);
        let period = StatsPeriod { since: since.map(moment), until: until.map(moment), ..of_app() };
        let stats = fixture.stats(period, GroupBy::None).await;
        (stats.reviews.total, stats.work.verdicts, stats.issues.total)
    };
    assert_eq!(total(None, None).await, (4, 4, 3));
    assert_eq!(total(Some(0), Some(1)).await, (3, 4, 3));
    assert_eq!(total(Some(1), None).await, (1, 0, 0));
    assert_eq!(total(None, Some(0)).await, (0, 0, 0));
    assert_eq!(total(Some(86_400), Some(86_401)).await, (1, 0, 0));
    assert_eq!(total(Some(90_000), None).await, (0, 0, 0));
    let none = StatsPeriod { project: Some(None), ..of_app() };
    assert_eq!(fixture.stats(none, GroupBy::Day).await, Stats::default());
    fixture.end().await;
}

#[tokio::test]
async fn an_empty_database_has_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = ReviewFixture::on(&folder.path().join("countersign.db")).await;
    let since = StatsPeriod { since: Some(Timestamp(START)), ..StatsPeriod::default() };
    for period in [StatsPeriod::default(), since] {
        assert_eq!(fixture.stats(period, GroupBy::Category).await, Stats::default());
    }
    fixture.end().await;
}
