//! Lives with known times, and what is counted of them.

use super::{Period, Reviews, Span, Stats, TimeIn};
use crate::{Change, Settings, Store, open};
use domain::{
    consensus::Policy,
    content::Content,
    finding::{FindingKind, FindingStatus, Grounding, NewFinding, Severity},
    ids::{ReviewId, ReviewNumber},
    query::GroupBy,
    review::{
        Category, Check, ClaimSeat, Command, GiveVerdict, OfferedFinding, OfferedFindings, Proposal, Proposer, Review,
        Revise, Role, Rules, Status, Transition, propose, transition,
    },
    time::{Now, Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};
use tokio::sync::oneshot;

const RULES: Rules = Rules { lease: Duration::from_secs(1200) };
/// A midnight in UTC.
const START: i64 = 1_700_006_400_000;
const DAY: i64 = 86_400_000;

/// Seconds after the start.
fn at(seconds: i64) -> Now {
    Now { at: Timestamp(START + seconds * 1000), tick: Tick(seconds * 1000) }
}

pub(crate) struct Lives {
    pub(crate) store: Store,
    last_finding: i64,
}

impl Lives {
    pub(crate) async fn on(path: &Path) -> Self {
        Self { store: open(path, Settings::default()).await.unwrap(), last_finding: 0 }
    }

    pub(crate) async fn propose(&self, number: i64, project: Option<&str>, when: i64) -> Review {
        let content = content(&format!("change {number}"));
        let proposer = Proposer {
            agent_type: "gsd-executor".into(),
            agent_role: "proposer".into(),
            phase: "3".into(),
            plan: None,
            task: None,
            project: project.map(Into::into),
            proposer_id: Some("eve".into()),
        };
        let proposal = Proposal {
            id: ReviewId(uuid::Uuid::from_u128(u128::try_from(number).unwrap())),
            number: ReviewNumber(number),
            proposer,
            category: (number % 2 == 1).then_some(Category::CodeChange),
            priority: None,
            intent: content.intent.clone(),
            content_hash: content.hash(),
            diff: None,
            personas: vec!["general".into()],
            policy: Policy::default(),
            request_key: None,
            target: None,
        };
        self.commit(propose(proposal, at(when)), Some(content), when).await
    }

    pub(crate) async fn tell(&self, review: &Review, command: Command, when: i64) -> Review {
        self.commit(transition(review, command, at(when), &RULES).unwrap(), None, when).await
    }

    pub(crate) async fn claim(&self, review: &Review, by: &str, when: i64) -> Review {
        let claim = ClaimSeat { by: by.into(), persona: None, checked: None, check: Check::NotNeeded };
        self.tell(review, Command::Claim(claim), when).await
    }

    async fn vote(&mut self, review: &Review, by: &str, verdict: Verdict, issues: &[Severity], when: i64) -> Review {
        let first = self.last_finding + 1;
        self.last_finding += i64::try_from(issues.len()).unwrap();
        let list = issues.iter().map(|severity| finding(*severity)).collect();
        let checked = Some(review.round.content_hash.clone());
        let offered = OfferedFindings { first, digest: None, checked, list };
        let metrics = ReviewMetrics {
            cost_usd: Some(0.1),
            input_tokens: Some(100),
            output_tokens: Some(10),
            ..ReviewMetrics::default()
        };
        let command = GiveVerdict {
            by: Some(by.into()),
            generation: None,
            content_hash: None,
            verdict,
            reason: Some("so".into()),
            summary: None,
            metrics: Some(metrics),
            patch: None,
            findings: offered,
        };
        self.tell(review, Command::GiveVerdict(command), when).await
    }

    async fn revise(&self, review: &Review, intent: &str, when: i64) -> Review {
        let content = content(intent);
        let revise = Revise {
            proposer_id: None,
            completes: review.round.content_hash.clone(),
            intent: content.intent.clone(),
            content_hash: content.hash(),
            diff: None,
            request_key: None,
            anchors: Vec::new(),
            target: None,
        };
        let told = transition(review, Command::Revise(revise), at(when), &RULES).unwrap();
        self.commit(told, Some(content), when).await
    }

    pub(crate) async fn close(&self, review: &Review, when: i64) -> Review {
        self.tell(review, Command::Close { by: Role::Proposer, identity: None }, when).await
    }

    async fn commit(&self, Transition { next, events }: Transition, content: Option<Content>, when: i64) -> Review {
        let change = Change::new(Arc::new(next.clone()), events, at(when).tick).unwrap();
        let (done, saved) = oneshot::channel();
        self.store.writer.commit(change.with_content(content.map(Arc::new)), done);
        saved.await.unwrap().unwrap();
        next
    }

    async fn stats(&self, period: Period, by: GroupBy) -> Stats {
        self.store.reader.stats(&period, by).await.unwrap()
    }

    pub(crate) async fn end(self) {
        drop(self.store.writer);
        self.store.thread.ended().await;
        self.store.reader.close().await;
    }
}

fn content(intent: &str) -> Content {
    Content {
        intent: intent.into(),
        description: None,
        diff: None,
        base_commit: None,
        files: Vec::new(),
        flags: Vec::new(),
        diff_note: None,
    }
}

fn finding(severity: Severity) -> OfferedFinding {
    let found = NewFinding {
        is_issue: true,
        kind: FindingKind::Bug,
        severity,
        place: None,
        title: format!("a {severity} one"),
        description: None,
        code_snippet: None,
        suggestion: None,
        rule_ref: None,
        confidence: None,
    };
    let grounding = Grounding::Unchecked { why: "it names no place".into() };
    OfferedFinding { found, grounding, on_changed_lines: None }
}

/// Two rounds and a close; rejected and closed; cancelled; pending since a day later; approved, of another project.
pub(crate) async fn lived(path: &Path) -> Lives {
    let mut lives = Lives::on(path).await;
    let one = lives.propose(1, Some("app"), 0).await;
    let one = lives.claim(&one, "ada", 10).await;
    let one = lives.vote(&one, "ada", Verdict::Comment, &[], 20).await;
    let one = lives.vote(&one, "ada", Verdict::ChangesRequested, &[Severity::High, Severity::Low], 40).await;
    let one = lives.revise(&one, "change 1, better", 100).await;
    let one = lives.claim(&one, "bob", 110).await;
    let one = lives.vote(&one, "bob", Verdict::Approved, &[], 130).await;
    lives.close(&one, 200).await;
    let two = lives.propose(2, Some("app"), 0).await;
    let two = lives.claim(&two, "ada", 30).await;
    let two = lives.vote(&two, "ada", Verdict::Rejected, &[Severity::Critical], 90).await;
    lives.close(&two, 100).await;
    let three = lives.propose(3, Some("app"), 0).await;
    lives.tell(&three, Command::Cancel { by: None, reason: "no".into() }, 50).await;
    lives.propose(4, Some("app"), 86_400).await;
    let five = lives.propose(5, Some("web"), 86_400).await;
    let five = lives.claim(&five, "ada", 86_401).await;
    lives.vote(&five, "ada", Verdict::Approved, &[], 86_403).await;
    lives
}

fn of_app() -> Period {
    Period { project: Some(Some("app".into())), now: Timestamp(START + 2 * DAY), ..Period::default() }
}

#[tokio::test]
async fn every_figure_of_known_lives() {
    let folder = tempfile::tempdir().unwrap();
    let lives = lived(&folder.path().join("countersign.db")).await;
    let stats = lives.stats(of_app(), GroupBy::None).await;
    let Reviews { total, by_status, by_category, .. } = &stats.reviews;
    let counted: Vec<_> =
        by_status.iter().filter(|(_, count)| **count > 0).map(|(word, n)| (word.as_str(), *n)).collect();
    assert_eq!((*total, counted), (4, vec![("pending", 1), ("cancelled", 1), ("closed", 2)]));
    assert_eq!((by_category[&Some(Category::CodeChange)], by_category[&None]), (2, 2));
    let reviews = &stats.reviews;
    assert_eq!((reviews.approved, reviews.rejected, reviews.cancelled, reviews.approved_at_once), (1, 1, 1, 0));
    assert_eq!((reviews.mean_rounds, reviews.max_rounds), (1.25, 2));

    let span = |count, mean_ms, p50_ms, p90_ms, max_ms| Span { count, mean_ms, p50_ms, p90_ms, max_ms };
    assert_eq!(stats.spans.first_claim, span(2, 20_000.0, 10_000, 30_000, 30_000));
    assert_eq!(stats.spans.first_verdict, span(2, 65_000.0, 40_000, 90_000, 90_000));
    assert_eq!(stats.spans.decision, span(3, 90_000.0, 90_000, 130_000, 130_000));
    assert_eq!(stats.spans.close, span(2, 150_000.0, 100_000, 200_000, 200_000));

    let time = |status| stats.reviews.time_in[&status];
    let day = u64::try_from(DAY).unwrap();
    // 10 + 10 of the first, 30 of the second, 50 of the third, a day of the fourth.
    assert_eq!(time(Status::Pending), TimeIn { reviews: 4, total_ms: 100_000 + day });
    assert_eq!(time(Status::Claimed), TimeIn { reviews: 2, total_ms: 30_000 + 20_000 + 60_000 });
    assert_eq!(time(Status::ChangesRequested), TimeIn { reviews: 1, total_ms: 60_000 });
    assert_eq!(time(Status::Approved), TimeIn { reviews: 1, total_ms: 70_000 });
    assert_eq!(time(Status::Rejected), TimeIn { reviews: 1, total_ms: 10_000 });
    assert_eq!(time(Status::Cancelled), TimeIn { reviews: 1, total_ms: 2 * day - 50_000 });
    assert_eq!(time(Status::InReview), TimeIn::default());

    let work = &stats.work;
    assert_eq!((work.reviews, work.verdicts, work.votes(), work.comments), (2, 4, 3, 1));
    assert_eq!((work.approvals, work.changes_requested, work.rejections), (1, 1, 1));
    assert_eq!(work.mean_ms, Some((30_000.0 + 20_000.0 + 60_000.0) / 3.0));
    assert_eq!((work.input_tokens, work.output_tokens), (400, 40));
    assert!((work.cost_usd - 0.4).abs() < 1e-9);
    let findings = &stats.findings;
    assert_eq!(findings.issues, 3);
    assert_eq!(
        findings.by_severity,
        BTreeMap::from([(Severity::Low, 1), (Severity::High, 1), (Severity::Critical, 1)])
    );
    // An approval in a later round settles what its own persona had found; what names no lines counts as fixed.
    assert_eq!(findings.by_status, BTreeMap::from([(FindingStatus::Open, 1), (FindingStatus::Fixed, 2)]));
    lives.end().await;
}

#[tokio::test]
async fn groups_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let lives = lived(&folder.path().join("countersign.db")).await;
    let all = Period { now: Timestamp(START + 2 * DAY), ..Period::default() };
    let named = |stats: &Stats| stats.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    let by_reviewer = lives.stats(all.clone(), GroupBy::Reviewer).await;
    assert_eq!(named(&by_reviewer), ["ada", "bob"]);
    let ada = &by_reviewer.groups[0];
    assert_eq!((ada.work.votes(), ada.work.approvals, ada.work.reviews, ada.findings.issues), (3, 1, 3, 3));
    assert_eq!((ada.work.mean_ms, ada.reviews.is_none()), (Some((30_000.0 + 60_000.0 + 2_000.0) / 3.0), true));
    assert_eq!(by_reviewer.groups[1].work.mean_ms, Some(20_000.0));
    let by_day = lives.stats(all.clone(), GroupBy::Day).await;
    assert_eq!(named(&by_day), ["2023-11-16", "2023-11-15"]);
    let (reviews, spans) = by_day.groups[0].reviews.as_ref().unwrap();
    assert_eq!((reviews.total, reviews.approved, spans.first_claim.max_ms), (2, 1, 1_000));
    let by_category = lives.stats(all.clone(), GroupBy::Category).await;
    assert_eq!(named(&by_category), ["code_change", "none"]);
    assert_eq!(by_category.groups[0].work.votes(), 3);
    let by_persona = lives.stats(all, GroupBy::Persona).await;
    assert_eq!((named(&by_persona), by_persona.groups[0].work.votes()), (vec!["general".to_owned()], 4));
    lives.end().await;
}

#[tokio::test]
async fn a_period_counts_what_was_submitted_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let lives = lived(&folder.path().join("countersign.db")).await;
    let total = async |since: Option<i64>, until: Option<i64>| {
        let moment = |seconds: i64| Timestamp(START + seconds * 1000);
        let period = Period { since: since.map(moment), until: until.map(moment), ..of_app() };
        let stats = lives.stats(period, GroupBy::None).await;
        (stats.reviews.total, stats.work.verdicts, stats.findings.issues)
    };
    assert_eq!(total(None, None).await, (4, 4, 3));
    assert_eq!(total(Some(0), Some(1)).await, (3, 4, 3));
    assert_eq!(total(Some(1), None).await, (1, 0, 0));
    assert_eq!(total(None, Some(0)).await, (0, 0, 0));
    assert_eq!(total(Some(86_400), Some(86_401)).await, (1, 0, 0));
    assert_eq!(total(Some(90_000), None).await, (0, 0, 0));
    let none = Period { project: Some(None), ..of_app() };
    assert_eq!(lives.stats(none, GroupBy::Day).await, Stats::default());
    lives.end().await;
}

#[tokio::test]
async fn a_database_without_reviews_has_figures_too() {
    let folder = tempfile::tempdir().unwrap();
    let lives = Lives::on(&folder.path().join("countersign.db")).await;
    let since = Period { since: Some(Timestamp(START)), ..Period::default() };
    for period in [Period::default(), since] {
        assert_eq!(lives.stats(period, GroupBy::Category).await, Stats::default());
    }
    lives.end().await;
}
