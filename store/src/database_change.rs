//! Types for the changes that the store's writer commits: of a review, of the reviewer pool, of a webhook, or of a
//! session. Each is written completely or not at all.

use crate::{StoreError, query_types::ReviewerRow};
use domain::{
    content::Content,
    credential::SecretHash,
    finding::Finding,
    review::{LoggedEvent, Review},
    reviewer_pool::PoolEvent,
    time::{Tick, Timestamp},
    waiting_on::waiting_on,
};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::oneshot;

/// What one command changed in one review.
#[derive(Debug, Clone)]
pub struct Change {
    pub(crate) review: Arc<Review>,
    /// JSON, here and below: the caller serialises, because the writing thread is shared by all callers.
    pub(crate) body: String,
    pub(crate) seats: Vec<String>,
    pub(crate) events: Vec<LoggedEvent>,
    pub(crate) payloads: Vec<String>,
    pub(crate) waiting_on: String,
    pub(crate) tick: Tick,
    /// The content of the review's round, if the events bring a new one.
    pub content: Option<Arc<Content>>,
    /// The text of the counter-patch that the events offer.
    pub patch: Option<Arc<str>>,
    /// Number and body of the findings that the events changed.
    pub(crate) findings: Vec<(i64, String)>,
}

impl Change {
    /// `review` is the state after `events`. Its version before them must be the one in the database.
    pub fn new(review: Arc<Review>, events: Vec<LoggedEvent>, tick: Tick) -> Result<Self, StoreError> {
        let seats = review.seats.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        let payload = |recorded: &LoggedEvent| serde_json::to_string(&recorded.event);
        let payloads = events.iter().map(payload).collect::<Result<_, _>>()?;
        let touched: BTreeSet<_> =
            events.iter().flat_map(|recorded| recorded.event.touched_findings(&review)).collect();
        let touched = review.findings.iter().filter(|finding| touched.contains(&finding.number));
        let body = |finding: &Arc<Finding>| Ok((finding.number.0, serde_json::to_string(finding.as_ref())?));
        let findings = touched.map(body).collect::<Result<_, serde_json::Error>>()?;
        let body = serde_json::to_string(&*review)?;
        let waiting_on = serde_json::to_string(&waiting_on(&review))?;
        Ok(Self { review, body, seats, events, payloads, waiting_on, tick, content: None, patch: None, findings })
    }

    pub fn review(&self) -> &Arc<Review> {
        &self.review
    }
}

/// Receives the result of a commit.
pub type CommitReply = oneshot::Sender<Result<(), StoreError>>;

/// A change to the reviewer pool.
#[derive(Debug, Clone)]
pub struct PoolChange {
    pub at: Timestamp,
    pub tick: Tick,
    /// The row to insert or update.
    pub reviewer: Option<ReviewerRow>,
    pub event: Option<PoolEvent>,
}

/// A change to the delivery state of one webhook.
#[derive(Debug, Clone)]
pub struct WebhookChange {
    pub webhook: String,
    pub step: WebhookStep,
}

#[derive(Debug, Clone)]
pub enum WebhookStep {
    /// Registers the webhook with this cursor. A known webhook keeps the cursor it has.
    Register { source: String, cursor: u64 },
    /// Every event up to `cursor` was delivered, is dead, or does not match the filter.
    Advance { cursor: u64 },
    /// Gives up on one event and moves the cursor past it. For an event that is dead already the attempts are added.
    AddDead { seq: u64, attempts: u32, error: String, at: Timestamp },
    /// Removes dead deliveries, because they were delivered after all or an operator dropped them.
    RemoveDead(DeliverySelector),
    /// Asks for another attempt.
    RetryDead(DeliverySelector),
}

/// Which of a webhook's dead deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliverySelector {
    All,
    Seqs(Vec<u64>),
}

/// A change to the sessions of browsers.
#[derive(Debug, Clone)]
pub enum BrowserSessionChange {
    /// `token` is the hash of the token that signs in; `None`: the local operator.
    Create {
        hash: SecretHash,
        token: Option<SecretHash>,
        at: Timestamp,
        expires_at: Timestamp,
    },
    Remove {
        hash: SecretHash,
    },
}
