//! A database that an older broker wrote. It is made by the newest one and then put back: columns that
//! came later are dropped, the migrations that brought them are forgotten, and events lose what they
//! say more than before.

use crate::{Change, Filter, Settings, Store, Waiting, open};
use domain::{
    consensus::{Escalation, Policy},
    content::Content,
    ids::{ReviewId, ReviewNumber},
    review::{
        AcceptCounterPatch, AddMessage, AppliesTo, Check, ClaimSeat, Command, DiffCheck, DiffFacts, GiveVerdict,
        OfferedFindings, OfferedPatch, Proposal, Proposer, Review, Revise, Role, Rules, Status, Transition, propose,
        replay, transition,
    },
    time::{Now, Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use rusqlite::Connection;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::oneshot;

const FIRST: i64 = 20261116090000;
const RULES: Rules = Rules { lease: Duration::from_secs(1200) };

/// What of the schema is younger than the first release.
const PUT_BACK: &str = "
    DROP INDEX reviews_approved_by_patch;
    DROP INDEX reviews_approved_by_tree;
    DROP TABLE dead_deliveries;
    DROP TABLE webhooks;
    DROP INDEX events_of_the_pool;
    ALTER TABLE verdicts DROP COLUMN claimed_at_ms;
    ALTER TABLE reviews DROP COLUMN first_claimed_at_ms;
    ALTER TABLE reviews DROP COLUMN first_verdict_at_ms;
    ALTER TABLE reviews DROP COLUMN decided_at_ms;
    ALTER TABLE reviews DROP COLUMN closed_at_ms;
    ALTER TABLE reviews DROP COLUMN pending_ms;
    ALTER TABLE reviews DROP COLUMN claimed_ms;
    ALTER TABLE reviews DROP COLUMN in_review_ms;
    ALTER TABLE reviews DROP COLUMN changes_requested_ms;
    ALTER TABLE reviews DROP COLUMN approved_ms;
    DROP TABLE reviewers;
    DROP TABLE tokens;
    DROP TABLE findings;
    ALTER TABLE seats DROP COLUMN reviewed_round;
    ALTER TABLE seats DROP COLUMN reviewed_hash;
    ALTER TABLE seats DROP COLUMN gave_up;
    ALTER TABLE reviews ADD COLUMN escalated INTEGER NOT NULL DEFAULT 0 CHECK (escalated IN (0, 1));
    UPDATE reviews SET escalated = (escalated_for IS NOT NULL);
    ALTER TABLE reviews DROP COLUMN escalated_for;
    ALTER TABLE reviews DROP COLUMN cost;
    ALTER TABLE seats DROP COLUMN answered_message_digest;
    ALTER TABLE seats DROP COLUMN answered_message_id;
    ALTER TABLE seats DROP COLUMN last_message_round;
    ALTER TABLE reviews DROP COLUMN target;
    ALTER TABLE rounds DROP COLUMN target;
    ALTER TABLE rounds DROP COLUMN submitted_hash;
    DROP INDEX reviews_queue;
    DROP INDEX reviews_queue_by_project;
    DROP INDEX reviews_queue_by_category;
    DROP INDEX reviews_queue_news;
    ALTER TABLE reviews DROP COLUMN free_seats;
    CREATE INDEX reviews_queue ON reviews (priority, number) WHERE status = 'pending';
    CREATE INDEX reviews_queue_by_project ON reviews (project, priority, number) WHERE status = 'pending';
    CREATE INDEX reviews_queue_by_category ON reviews (category, priority, number)
        WHERE status = 'pending' AND category IS NOT NULL;
    CREATE INDEX reviews_queue_news ON reviews (queued_seq) WHERE status = 'pending';
    DROP TRIGGER events_are_not_changed;
    UPDATE events SET actor = NULL, payload = json_remove(payload, '$.by')
        WHERE kind IN ('revised', 'counter_patch_accepted', 'counter_patch_rejected');
    UPDATE events SET actor = NULL, payload = json_set(payload, '$.by', NULL) WHERE kind = 'cancelled';
    UPDATE events SET actor = NULL, payload = json_remove(payload, '$.identity') WHERE kind = 'closed';
    UPDATE events SET payload = json_remove(payload, '$.escalate_why') WHERE kind = 'verdict_given';
    UPDATE events SET payload = json_remove(payload, '$.policy.block_on_critical', '$.policy.ungrounded_blocks')
        WHERE kind = 'proposed';
    UPDATE reviews SET policy = json_remove(policy, '$.block_on_critical', '$.ungrounded_blocks');
    CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;";

fn put_back(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(PUT_BACK).unwrap();
    connection.execute("DELETE FROM _sqlx_migrations WHERE version > ?1", [FIRST]).unwrap();
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

/// One review, and the database it is told to.
struct Life {
    store: Store,
    review: Review,
}

impl Life {
    async fn begin(path: &Path) -> Self {
        Self::begin_with(path, &["general"]).await
    }

    async fn begin_with(path: &Path, personas: &[&str]) -> Self {
        let store = open(path, Settings::default()).await.unwrap();
        let content = content("the first");
        let proposer = Proposer {
            agent_type: "gsd-executor".into(),
            agent_role: "proposer".into(),
            phase: "3".into(),
            plan: None,
            task: None,
            project: None,
            proposer_id: None,
        };
        let proposal = Proposal {
            id: ReviewId(uuid::Uuid::from_u128(1)),
            number: ReviewNumber(1),
            proposer,
            category: None,
            priority: None,
            intent: content.intent.clone(),
            content_hash: content.hash(),
            diff: None,
            personas: personas.iter().map(ToString::to_string).collect(),
            policy: Policy::default(),
            request_key: None,
            target: None,
        };
        let begun = propose(proposal, now(1));
        let mut life = Self { store, review: begun.next.clone() };
        life.commit(begun, Some(content)).await;
        life
    }

    async fn tell(&mut self, command: Command, content: Option<Content>) {
        let told = transition(&self.review, command, now(1 + self.review.version), &RULES).unwrap();
        self.commit(told, content).await;
    }

    async fn commit(&mut self, Transition { next, events }: Transition, content: Option<Content>) {
        let change = Change::new(Arc::new(next.clone()), events, now(next.version).tick).unwrap();
        let (done, saved) = oneshot::channel();
        let change = change.with_content(content.map(Arc::new)).with_patch(Some("a better diff".into()));
        self.store.writer.commit(change, done);
        saved.await.unwrap().unwrap();
        self.review = next;
    }

    async fn claim(&mut self) {
        let claim = ClaimSeat { by: "ada".into(), persona: None, checked: None, check: Check::NotNeeded };
        self.tell(Command::Claim(claim), None).await;
    }

    async fn say(&mut self, role: Role, body: &str) {
        let message = AddMessage { role, by: None, persona: None, body: body.into(), metadata: None };
        self.tell(Command::AddMessage(message), None).await;
    }

    /// Asks for changes with a better diff at hand, which is then taken.
    async fn swap(&mut self, intent: &str) {
        let check = Check::Applies { to: AppliesTo::Base, tree_id: None };
        let patch = OfferedPatch { digest: intent.into(), check: check.clone() };
        self.give_verdict(Some(patch)).await;
        let content = content(intent);
        let patch = self.review.seats[0].patch.as_ref().unwrap().id;
        let applies = DiffCheck::Applies { to: AppliesTo::Base, tree_id: None };
        let accept = AcceptCounterPatch {
            by: None,
            persona: None,
            checked: Some((patch, self.review.round.content_hash.clone())),
            content_hash: Some(content.hash()),
            diff: Some(DiffFacts { base_commit: None, patch_id: None, check: applies }),
            check,
            anchors: Vec::new(),
        };
        self.tell(Command::AcceptCounterPatch(accept), Some(content)).await;
    }

    async fn ask_for_changes(&mut self) {
        self.give_verdict(None).await;
    }

    async fn give_verdict(&mut self, patch: Option<OfferedPatch>) {
        let verdict = GiveVerdict {
            by: Some("ada".into()),
            generation: None,
            content_hash: None,
            verdict: Verdict::ChangesRequested,
            reason: Some("line 3".into()),
            summary: None,
            metrics: Some(ReviewMetrics { cost_usd: Some(0.1), ..ReviewMetrics::default() }),
            patch,
            findings: OfferedFindings::default(),
        };
        self.tell(Command::GiveVerdict(verdict), None).await;
    }

    async fn revise(&mut self, intent: &str) {
        let content = content(intent);
        let revise = Revise {
            proposer_id: None,
            completes: self.review.round.content_hash.clone(),
            intent: content.intent.clone(),
            content_hash: content.hash(),
            diff: None,
            request_key: None,
            anchors: Vec::new(),
            target: None,
        };
        self.tell(Command::Revise(revise), Some(content)).await;
    }

    async fn cancel_and_close(&mut self) {
        self.tell(Command::Cancel { by: None, reason: "enough".into() }, None).await;
        self.tell(Command::Close { by: Role::Proposer, identity: None }, None).await;
    }

    async fn end(self) {
        drop(self.store.writer);
        self.store.thread.ended().await;
        self.store.reader.close().await;
    }
}

fn now(n: u64) -> Now {
    let n = i64::try_from(n).unwrap();
    Now { at: Timestamp(1_700_000_000_000 + n), tick: Tick(n) }
}

/// The review as an updated database has it, which must be what its log replays to.
async fn updated(path: &Path) -> Review {
    let store = open(path, Settings::default()).await.unwrap();
    let snapshot = store.reader.find_review(ReviewId(uuid::Uuid::from_u128(1))).await.unwrap();
    let log = store.reader.list_events(ReviewNumber(1)).await.unwrap();
    assert_eq!(replay(&log), snapshot);
    snapshot.unwrap()
}

#[tokio::test]
async fn an_old_database_knows_what_was_said_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin(&path).await;
    life.claim().await;
    for (role, body) in [(Role::Proposer, "read this"), (Role::Reviewer, "why?"), (Role::Proposer, "for you")] {
        life.say(role, body).await;
    }
    let before = life.review.clone();
    life.end().await;
    put_back(&path);
    assert_eq!(updated(&path).await, before);
    assert!(before.seats[0].last_message.as_ref().unwrap().answers.is_some());
}

#[tokio::test]
async fn an_old_database_does_not_take_an_earlier_round_for_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin(&path).await;
    life.claim().await;
    life.say(Role::Reviewer, "why?").await;
    life.ask_for_changes().await;
    life.say(Role::Proposer, "what do you mean?").await;
    life.revise("the second").await;
    life.claim().await;
    life.say(Role::Reviewer, "better").await;
    let before = life.review.clone();
    life.end().await;
    put_back(&path);
    assert_eq!(updated(&path).await, before);
    assert_eq!(before.seats[0].last_message.as_ref().unwrap().answers, None);
}

#[tokio::test]
async fn an_old_log_that_names_nobody_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin(&path).await;
    life.claim().await;
    life.ask_for_changes().await;
    life.revise("the second").await;
    life.cancel_and_close().await;
    let before = life.review.clone();
    life.end().await;
    put_back(&path);
    assert_eq!(updated(&path).await, before);
}

#[tokio::test]
async fn an_old_database_knows_what_its_rounds_were_submitted_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin(&path).await;
    life.claim().await;
    life.swap("the first, better").await;
    life.swap("the first, best").await;
    life.revise("the second").await;
    let before = life.store.reader.list_rounds(ReviewNumber(1)).await.unwrap();
    life.end().await;
    put_back(&path);
    updated(&path).await;
    let store = open(&path, Settings::default()).await.unwrap();
    assert_eq!(store.reader.list_rounds(ReviewNumber(1)).await.unwrap(), before);
    let submitted: Vec<_> = before.into_iter().map(|row| row.submitted_hash).collect();
    assert_eq!(submitted, [Some(content("the first").hash().0), None]);
}

#[tokio::test]
async fn an_old_database_knows_which_seats_are_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin_with(&path, &["general", "security", "tests"]).await;
    life.claim().await;
    life.end().await;
    put_back(&path);
    updated(&path).await;
    let store = open(&path, Settings::default()).await.unwrap();
    let free = async |caller: Option<&str>| {
        let filter = Filter { status: Some(Status::Pending), open_to: caller.map(Into::into), ..Filter::default() };
        let (page, _) = store.reader.list_reviews(&[filter], None, 10).await.unwrap();
        page.items.into_iter().map(|row| (row.status, row.free_seats)).collect::<Vec<_>>()
    };
    assert_eq!(free(Some("bob")).await, [(Status::InReview, vec!["security".into(), "tests".into()])]);
    assert_eq!(free(Some("ada")).await, [], "who has a seat gets no second");
    assert_eq!(free(None).await, [], "it is not pending");
    let waiting = store.reader.list_waiting(None, &[], 10).await.unwrap();
    assert_eq!(waiting, [Waiting { seats: 2, holders: vec!["ada".into()] }]);
}

#[tokio::test]
async fn an_old_database_knows_what_was_voted_on_and_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut life = Life::begin(&path).await;
    for round in ["the second", "the third", "the fourth"] {
        life.claim().await;
        life.ask_for_changes().await;
        life.revise(round).await;
    }
    let before = life.review.clone();
    life.end().await;
    put_back(&path);
    assert_eq!(updated(&path).await, before);
    assert_eq!((before.escalated, before.cost), (Some(Escalation::Rounds), 300_000));
    assert_eq!(before.seats[0].reviewed.as_ref().map(|reviewed| reviewed.round), Some(3));
}

#[tokio::test]
async fn an_old_database_knows_when_its_reviews_moved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    crate::stats::tests::lived(&path).await.end().await;
    let facts = || {
        let connection = Connection::open(&path).unwrap();
        let mut rows = Vec::new();
        for sql in [
            "SELECT json_array(number, first_claimed_at_ms, first_verdict_at_ms, decided_at_ms, closed_at_ms, pending_ms,
                    claimed_ms, in_review_ms, changes_requested_ms, approved_ms) FROM reviews ORDER BY number",
            "SELECT json_array(review, id, claimed_at_ms) FROM verdicts ORDER BY review, id",
        ] {
            let mut statement = connection.prepare(sql).unwrap();
            rows.extend(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
        }
        rows
    };
    let before = facts();
    put_back(&path);
    open(&path, Settings::default()).await.unwrap();
    assert_eq!(facts(), before);
    assert_eq!(before.len(), 5 + 5);
}
