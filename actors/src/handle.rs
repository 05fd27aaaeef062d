//! The doors' one way in: a typed method per thing that can be asked.

use crate::{
    error::BrokerError,
    request::{ListQuery, Listing, MessageRequest, NewProposal, Revision, Seen, Submitted, VerdictRequest, Wait},
};
use domain::{
    content::{Content, ContentHash},
    ids::ReviewId,
    review::{Review, Role},
};
use std::sync::Arc;
use store::view::{CounterPatch, Iteration, Message, Page, RoundRow};

type Answer<T> = Result<T, BrokerError>;

/// A running broker. Cheap to clone; doors hold nothing else.
#[derive(Clone)]
pub struct Broker {}

impl Broker {
    /// Reads a review_id, `R-12`, or a unique prefix of an id.
    pub async fn resolve(&self, given: &str) -> Answer<ReviewId> { let _ = given; todo!() }
    pub async fn create(&self, proposal: NewProposal) -> Answer<Submitted> { let _ = proposal; todo!() }
    pub async fn revise(&self, id: ReviewId, revision: Revision) -> Answer<Submitted> { let _ = (id, revision); todo!() }
    /// The review after the claim. If git said no it is `changes_requested` and `auto_rejected()`.
    pub async fn claim(&self, id: ReviewId, reviewer_id: String, persona: Option<String>) -> Answer<Arc<Review>> { let _ = (id, reviewer_id, persona); todo!() }
    pub async fn give_verdict(&self, id: ReviewId, verdict: VerdictRequest) -> Answer<Arc<Review>> { let _ = (id, verdict); todo!() }
    /// The review, and the id of the message (an old one, if this repeats it).
    pub async fn add_message(&self, id: ReviewId, message: MessageRequest) -> Answer<(Arc<Review>, u64)> { let _ = (id, message); todo!() }
    pub async fn accept_counter_patch(&self, id: ReviewId, persona: Option<String>) -> Answer<Arc<Review>> { let _ = (id, persona); todo!() }
    pub async fn reject_counter_patch(&self, id: ReviewId, persona: Option<String>) -> Answer<Arc<Review>> { let _ = (id, persona); todo!() }
    pub async fn cancel(&self, id: ReviewId, by: Option<String>, reason: String) -> Answer<Arc<Review>> { let _ = (id, by, reason); todo!() }
    pub async fn close(&self, id: ReviewId, by: Role) -> Answer<Arc<Review>> { let _ = (id, by); todo!() }

    /// The review as last committed.
    pub async fn review(&self, id: ReviewId) -> Answer<Arc<Review>> { let _ = id; todo!() }
    /// Answers as soon as the review's version is above `since`; without `since`, at once when there
    /// is something to act on, else at the next change. Dropping the future ends the wait.
    pub async fn wait_review(&self, id: ReviewId, wait: Wait) -> Answer<Seen> { let _ = (id, wait); todo!() }
    pub async fn content(&self, hash: &ContentHash) -> Answer<Arc<Content>> { let _ = hash; todo!() }
    /// All rounds, oldest first.
    pub async fn rounds(&self, id: ReviewId) -> Answer<Vec<RoundRow>> { let _ = id; todo!() }
    /// Messages, oldest first; `after` is a message id.
    pub async fn discussion(&self, id: ReviewId, round: Option<u32>, after: Option<u64>, limit: u32) -> Answer<Page<Message>> { let _ = (id, round, after, limit); todo!() }
    /// Verdicts, newest first, at most `limit`.
    pub async fn iterations(&self, id: ReviewId, limit: u32) -> Answer<Vec<Iteration>> { let _ = (id, limit); todo!() }
    /// Counter-patches of a round, oldest first.
    pub async fn counter_patches(&self, id: ReviewId, round: u32) -> Answer<Vec<CounterPatch>> { let _ = (id, round); todo!() }
    pub async fn list(&self, query: ListQuery) -> Answer<Listing> { let _ = query; todo!() }
    /// Like [`Self::list`] for pending reviews, but waits until there is one the caller may take
    /// that `since` did not know of.
    pub async fn wait_list(&self, query: ListQuery, wait: Wait) -> Answer<Listing> { let _ = (query, wait); todo!() }
    /// The live tree, for operators.
    pub async fn actors(&self) -> Answer<crate::tree::Tree> { todo!() }
    /// The writer accepts changes and nobody has asked for shutdown.
    pub fn is_ready(&self) -> bool { todo!() }
}
