//! Types for the changes that the store's writer commits: of a review, of the reviewer pool, of a webhook, or of a
//! session. Each is written completely or not at all.

use crate::{StoreError, query_types::ReviewerRow};
use domain::{
    content::Content,
    credential::SecretHash,
    figures::{Cohort, Figures, ReviewSum, WorkSums, Worker},
    finding::{Finding, FindingNumber},
    review::{Event, LoggedEvent, PatchStatus, Review, Seat, VerdictGiven},
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
    /// The seats that the events changed, with their positions.
    pub(crate) seats: Vec<(usize, String)>,
    pub(crate) events: Vec<LoggedEvent>,
    pub(crate) payloads: Vec<String>,
    pub(crate) waiting_on: String,
    pub(crate) tick: Tick,
    /// The content of the review's round, if the events bring a new one.
    pub content: Option<Arc<Content>>,
    /// The text of the counter-patch that the events offer.
    pub patch: Option<Arc<str>>,
    /// A counter-patch was pending before the events.
    pub(crate) had_pending_patch: bool,
    /// Number and body of the findings that the events changed.
    pub(crate) findings: Vec<(i64, String)>,
    pub(crate) cohort: Cohort,
    /// What changes in the figures of its cohort, apart from the counts of reviews with a verdict.
    pub(crate) figures: Figures,
}

impl Change {
    /// `before` and `review` are the states before and after `events`. The former must be the one in the database; `None`: a
    /// new review.
    pub fn new(
        before: Option<&Review>,
        review: Arc<Review>,
        events: Vec<LoggedEvent>,
        tick: Tick,
    ) -> Result<Self, StoreError> {
        let is_new =
            |(position, seat): &(usize, &Seat)| before.and_then(|before| before.seats.get(*position)) != Some(*seat);
        let seat_body = |(position, seat)| Ok((position, serde_json::to_string::<Seat>(seat)?));
        let seats =
            review.seats.iter().enumerate().filter(is_new).map(seat_body).collect::<Result<_, serde_json::Error>>()?;
        let payload = |recorded: &LoggedEvent| serde_json::to_string(&recorded.event);
        let payloads = events.iter().map(payload).collect::<Result<_, _>>()?;
        let touched: BTreeSet<_> =
            events.iter().flat_map(|recorded| recorded.event.touched_findings(&review)).collect();
        let body = |finding: &Arc<Finding>| Ok((finding.number.0, serde_json::to_string(finding.as_ref())?));
        let findings = find_all(&review, &touched).map(body).collect::<Result<_, serde_json::Error>>()?;
        let body = serde_json::to_string(&*review)?;
        let waiting_on = serde_json::to_string(&waiting_on(&review))?;
        let figures = changed_figures(before, &review, &events, &touched);
        Ok(Self {
            body,
            seats,
            payloads,
            waiting_on,
            tick,
            content: None,
            patch: None,
            had_pending_patch: before.is_some_and(has_pending_patch),
            findings,
            cohort: Cohort::of(&review),
            figures,
            review,
            events,
        })
    }

    pub fn review(&self) -> &Arc<Review> {
        &self.review
    }
}

fn has_pending_patch(review: &Review) -> bool {
    review.seats.iter().filter_map(|seat| seat.patch.as_ref()).any(|patch| patch.status == PatchStatus::Pending)
}

fn find_all<'a>(review: &'a Review, numbers: &'a BTreeSet<FindingNumber>) -> impl Iterator<Item = &'a Arc<Finding>> {
    review.findings.iter().filter(|finding| numbers.contains(&finding.number))
}

fn changed_figures(
    before: Option<&Review>,
    review: &Review,
    events: &[LoggedEvent],
    touched: &BTreeSet<FindingNumber>,
) -> Figures {
    let mut figures = Figures::default();
    for (state, times) in before.map(|before| (before, -1)).into_iter().chain([(review, 1)]) {
        figures.add_review(state, times);
        for finding in find_all(state, touched) {
            figures.add_finding(finding, times);
        }
    }
    for LoggedEvent { at, event, .. } in events {
        if let Event::VerdictGiven(VerdictGiven { persona, by, verdict, metrics, .. }) = event {
            let sums = WorkSums::of_verdict(*verdict, claimed_at(review, persona), *at, metrics.as_ref());
            let worker = Worker { persona: persona.clone(), reviewer: by.clone() };
            figures.work.entry(worker).or_default().add(&sums, 1);
        } else if matches!(event, Event::AutoRejected { .. }) {
            figures.reviews.count(ReviewSum::AutoRejections, 1);
        }
    }
    figures.retain_changes();
    figures
}

/// When the seat of a persona was claimed.
pub(crate) fn claimed_at(review: &Review, persona: &str) -> Option<Timestamp> {
    let seat = review.seats.iter().find(|seat| seat.persona == *persona)?;
    Some(seat.claim.as_ref()?.at)
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
