//! The stored snapshot of a review always equals the replay of its log.

use crate::{
    Change, LogEntry, Settings, Store, open,
    query_types::{ReviewFilter, WaitingReview},
};
use domain::{
    consensus::Escalation,
    content::Content,
    credential::Authority,
    ids::{ReviewId, ReviewNumber},
    review::{
        AcceptCounterPatch, AddMessage, AppliesTo, CheckedDiff, ClaimSeat, Command, DiffCheck, DiffFacts, GiveVerdict,
        OfferedPatch, PatchedContent, Review, Revise, Role, Status, Transition, replay, transition,
    },
    time::{Now, Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use std::{path::Path, sync::Arc};
use testkit::{RULES, content, proposal, round};
use tokio::sync::oneshot;

/// One review, and the database it is stored in.
struct StoredReview {
    store: Store,
    review: Review,
}

impl StoredReview {
    async fn propose(path: &Path) -> Self {
        Self::propose_with(path, &["general"]).await
    }

    async fn propose_with(path: &Path, personas: &[&str]) -> Self {
        let store = open(path, Settings::default()).await.unwrap();
        let content = content("the first");
        let proposal = proposal(1, &content, personas);
        let proposed = transition(None, Command::Propose(Box::new(proposal)), now(1), &RULES).unwrap();
        let mut stored = Self { store, review: proposed.next.clone() };
        stored.commit(None, proposed, Some(content)).await;
        stored
    }

    async fn apply(&mut self, command: Command, content: Option<Content>) {
        let transition = transition(Some(&self.review), command, now(1 + self.review.version), &RULES).unwrap();
        self.commit(Some(self.review.clone()), transition, content).await;
    }

    async fn commit(
        &mut self,
        before: Option<Review>,
        Transition { next, events, .. }: Transition,
        content: Option<Content>,
    ) {
        let mut change = Change::new(before.as_ref(), Arc::new(next.clone()), events, now(next.version).tick).unwrap();
        let (done, saved) = oneshot::channel();
        (change.content, change.patch) = (content.map(Arc::new), Some("a better diff".into()));
        self.store.writer.commit(change, done);
        saved.await.unwrap().unwrap();
        self.review = next;
    }

    async fn claim(&mut self) {
        let content_hash = self.review.round.content_hash.clone();
        let check = DiffCheck::Applies { to: AppliesTo::Base, tree_id: None };
        let check = Some(CheckedDiff { content_hash, check, head: None, rebased: None });
        let claim = ClaimSeat { by: "ada".into(), persona: None, takes_over: None, check, pool_personas: Vec::new() };
        self.apply(Command::Claim(claim), None).await;
    }

    async fn add_message(&mut self, role: Authority, body: &str) {
        let (by, persona, to, anchor, metadata) = (None, None, None, None, None);
        let message = AddMessage { role, by, persona, to, body: body.into(), anchor, metadata, gives_up: false };
        self.apply(Command::AddMessage(message), None).await;
    }

    /// Requests changes with a counter-patch, which the proposer then accepts.
    async fn replace_content(&mut self, intent: &str) {
        let applies = DiffCheck::Applies { to: AppliesTo::Base, tree_id: None };
        if self.review.seats[0].claim.is_none() {
            self.claim().await;
        }
        self.give_verdict(Some(OfferedPatch { check: Some(applies.clone()), files: Vec::new() })).await;
        let content = content(intent);
        let patch = self.review.seats[0].patch.as_ref().unwrap().id;
        let patched = PatchedContent {
            patch,
            replaces: self.review.round.content_hash.clone(),
            content_hash: content.hash(),
            diff: DiffFacts { base_commit: None, base_named: false, patch_id: None, check: applies, head: None },
            anchors: Vec::new(),
            required: Vec::new(),
        };
        let accept = AcceptCounterPatch { by: None, persona: None, patched: Some(patched) };
        self.apply(Command::AcceptCounterPatch(accept), Some(content)).await;
    }

    async fn request_changes(&mut self) {
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
            findings: None,
            signature: None,
            digest: self.review.version.to_string(),
        };
        self.apply(Command::GiveVerdict(verdict), None).await;
    }

    async fn revise(&mut self, intent: &str) {
        let content = content(intent);
        let revise = Revise {
            proposer_id: None,
            completes: self.review.round.content_hash.clone(),
            round: round(&content),
            anchors: Vec::new(),
        };
        self.apply(Command::Revise(revise), Some(content)).await;
    }

    async fn cancel_and_close(&mut self) {
        self.apply(Command::Cancel { by: None, reason: "enough".into() }, None).await;
        self.apply(Command::Close { by: Role::Proposer, identity: None, landed_as: None }, None).await;
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

/// Opens the database again and loads the review, which must equal the replay of its log.
async fn reload(path: &Path) -> Review {
    let store = open(path, Settings::default()).await.unwrap();
    let snapshot = store.reader.find_review(ReviewId(uuid::Uuid::from_u128(1))).await.unwrap();
    let log = store.reader.list_events(0, Some(ReviewNumber(1)), u32::MAX).await.unwrap();
    let logged = log.into_iter().filter_map(|record| match record.entry {
        LogEntry::Review { recorded, .. } => Some(*recorded),
        LogEntry::Pool(_) => None,
    });
    assert_eq!(replay(&logged.collect::<Vec<_>>()), snapshot);
    snapshot.unwrap()
}

#[tokio::test]
async fn a_stored_review_has_the_last_message_of_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose(&path).await;
    stored.claim().await;
    for (role, body) in
        [(Authority::Proposer, "read this"), (Authority::Reviewer, "why?"), (Authority::Proposer, "for you")]
    {
        stored.add_message(role, body).await;
    }
    let before = stored.review.clone();
    stored.end().await;
    assert_eq!(reload(&path).await, before);
    assert!(before.seats[0].last_message.as_ref().unwrap().answers.is_some());
}

#[tokio::test]
async fn a_message_of_an_earlier_round_is_not_taken_for_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose(&path).await;
    stored.claim().await;
    stored.add_message(Authority::Reviewer, "why?").await;
    stored.request_changes().await;
    stored.add_message(Authority::Proposer, "what do you mean?").await;
    stored.revise("the second").await;
    stored.claim().await;
    stored.add_message(Authority::Reviewer, "better").await;
    let before = stored.review.clone();
    stored.end().await;
    assert_eq!(reload(&path).await, before);
    assert_eq!(before.seats[0].last_message.as_ref().unwrap().answers, None);
}

#[tokio::test]
async fn a_closed_review_is_stored_when_the_caller_has_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose(&path).await;
    stored.claim().await;
    stored.request_changes().await;
    stored.revise("the second").await;
    stored.cancel_and_close().await;
    let before = stored.review.clone();
    stored.end().await;
    assert_eq!(reload(&path).await, before);
}

#[tokio::test]
async fn a_round_keeps_the_content_it_was_submitted_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose(&path).await;
    stored.claim().await;
    stored.replace_content("the first, better").await;
    stored.replace_content("the first, best").await;
    stored.revise("the second").await;
    let before = stored.store.reader.list_rounds(ReviewNumber(1)).await.unwrap();
    stored.end().await;
    reload(&path).await;
    let store = open(&path, Settings::default()).await.unwrap();
    assert_eq!(store.reader.list_rounds(ReviewNumber(1)).await.unwrap(), before);
    let submitted: Vec<_> = before.into_iter().map(|row| row.submitted_hash).collect();
    assert_eq!(submitted, [Some(content("the first").hash().0), None]);
}

#[tokio::test]
async fn the_queue_lists_the_free_seats_of_started_reviews() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose_with(&path, &["general", "security", "tests"]).await;
    stored.claim().await;
    stored.end().await;
    reload(&path).await;
    let store = open(&path, Settings::default()).await.unwrap();
    let free = async |caller: Option<&str>| {
        let filter =
            ReviewFilter { status: Some(Status::Pending), open_to: caller.map(Into::into), ..ReviewFilter::default() };
        let (page, _) = store.reader.list_reviews(&[filter], None, 10).await.unwrap();
        page.items.into_iter().map(|review| (review.status, review.claimable_by(caller))).collect::<Vec<_>>()
    };
    assert_eq!(free(Some("bob")).await, [(Status::InReview, vec!["security".into(), "tests".into()])]);
    assert_eq!(free(Some("ada")).await, [], "a reviewer with a seat cannot claim a second");
    assert_eq!(free(None).await, [], "the review is not pending");
    let waiting = store.reader.list_waiting_reviews(None, &[], false, 10).await.unwrap();
    assert_eq!(waiting, [WaitingReview { seats: 2, holders: vec!["ada".into()] }]);
}

#[tokio::test]
async fn a_stored_review_has_its_cost_and_what_was_voted_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut stored = StoredReview::propose(&path).await;
    for round in ["the second", "the third", "the fourth"] {
        stored.claim().await;
        stored.request_changes().await;
        stored.revise(round).await;
    }
    let before = stored.review.clone();
    stored.end().await;
    assert_eq!(reload(&path).await, before);
    assert_eq!((before.escalation(), before.cost_micro_usd), (Some(Escalation::Rounds), 300_000));
    assert_eq!(before.seats[0].reviewed.as_ref().map(|reviewed| reviewed.round), Some(3));
}
