//! Reads new events of reviews from the event log and updates the state of the pool: which reviewers hold claims, who
//! gave a verdict, and which claims went to reviewers that have exited.

use super::{
    ReviewerPool, State, dedicated, exited_reviewers,
    reviewer_registry::{HeldClaim, Reviewer},
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    review::{ClaimEndReason, Event, FindingUpdated, Requeued, Status, VerdictGiven},
    reviewer_pool::scaling::DrainReason,
    time::Tick,
};
use store::{EventRecord, LogEntry};

impl ReviewerPool {
    /// Applies new records of the log. Returns `true` if they may change how many reviewers are needed.
    pub(crate) async fn apply_log(&self, state: &mut State, records: &[EventRecord]) -> bool {
        let mut may_rescale = false;
        for record in records {
            if let LogEntry::Review { id, number, recorded } = &record.entry {
                // Any event may make it the turn of a dedicated reviewer.
                may_rescale |= changes_demand(&recorded.event) || self.has_dedicated_personas();
                self.apply_event(state, *id, *number, &recorded.event, record.tick).await;
            }
        }
        may_rescale
    }

    async fn apply_event(&self, state: &mut State, review: ReviewId, number: ReviewNumber, event: &Event, at: Tick) {
        match event {
            Event::Claimed { by, generation, .. } => {
                if let Some(reviewer) = state.reviewers.get_mut(by) {
                    reviewer.has_claimed = true;
                    reviewer.claims.insert(review, HeldClaim { number, generation: *generation, since: at });
                }
                // The claim was in flight when the process exited.
                if state.gone.contains(by) {
                    self.release(review, by.clone());
                }
            }
            Event::AutoRejected { claimant, .. } => {
                if let Some(reviewer) = state.reviewers.get_mut(claimant) {
                    reviewer.handled += 1;
                }
                self.check_claims(state, review, at).await;
            }
            Event::VerdictGiven(VerdictGiven { by, verdict, status, .. }) => {
                if let Some(reviewer) = state.reviewers.get_mut(by) {
                    reviewer.verdict_given(review, *verdict, at);
                    let row = reviewer.is_recorded().then(|| reviewer.row.clone());
                    self.write(row, None);
                }
                // A rejection ends all claims; after an approval the other reviewers may still vote.
                if *status == Status::Rejected {
                    self.check_claims(state, review, at).await;
                }
            }
            Event::ClaimEnded { by, reason, .. } => {
                if let Some(reviewer) = state.reviewers.get_mut(by) {
                    reviewer.claim_ended(review, at);
                    match reason {
                        ClaimEndReason::LeaseExpired => self.stop_without_seat(reviewer, review, DrainReason::Ttl),
                        ClaimEndReason::Released | ClaimEndReason::TakenOver => {
                            self.stop_without_seat(reviewer, review, DrainReason::NotNeeded)
                        }
                        // The reviewer gave the claim up itself or has exited.
                        ClaimEndReason::CouldNotReview
                        | ClaimEndReason::ReviewerExited
                        | ClaimEndReason::ReviewerStopped
                        | ClaimEndReason::BrokerRestarted
                        | ClaimEndReason::TurnEnded => {}
                    }
                }
            }
            // These events free seats without naming the reviewer.
            Event::Revised { .. } | Event::Cancelled { .. } | Event::Closed { .. } => {
                self.check_claims(state, review, at).await;
                self.stop_answering(state, review, number, at);
            }
            Event::Rebased { requeued, .. } | Event::CounterPatchAccepted { requeued, .. } => {
                self.check_claims(state, review, at).await;
                self.release_reservations(state, review, requeued).await;
            }
            Event::MessageAdded { requeued: Some(requeued), .. }
            | Event::FindingUpdated(FindingUpdated { requeued: Some(requeued), .. }) => {
                self.release_reservations(state, review, requeued).await;
            }
            Event::Proposed(_)
            | Event::FindingUpdated(_)
            | Event::ClaimRenewed { .. }
            | Event::SeatAdded { .. }
            | Event::ReservationEnded { .. }
            | Event::MessageAdded { .. }
            | Event::CounterPatchRejected { .. } => {}
        }
    }

    /// Ends the reservations of requeued seats for reviewers that will not come back.
    async fn release_reservations(&self, state: &State, review: ReviewId, requeued: &Requeued) {
        for reservation in requeued.seats.iter().filter_map(|seat| seat.reservation.as_ref()) {
            let id = &reservation.reviewer;
            let is_leaving = match state.reviewers.get(id) {
                Some(reviewer) => reviewer.is_leaving(),
                None => self.is_former_reviewer(state, id).await,
            };
            if is_leaving && !self.is_coming_back(state, id).await {
                self.release(review, id.clone());
            }
        }
    }

    /// Whether this is a dedicated reviewer that takes its seat again in its next turn.
    async fn is_coming_back(&self, state: &State, id: &str) -> bool {
        let is_stopped = |reviewer: &Reviewer| reviewer.stop_reason == Some(DrainReason::Operator);
        !state.reviewers.get(id).is_some_and(is_stopped) && dedicated::keep_seat(&self.shared, id).await.is_some()
    }

    /// Reads from the database which live reviewers still hold a claim on `review`.
    async fn check_claims(&self, state: &mut State, review: ReviewId, at: Tick) {
        let holders = state.reviewers.values_mut().filter(|reviewer| reviewer.claims.contains_key(&review));
        for reviewer in holders.filter(|reviewer| reviewer.is_live()) {
            match self.shared.reader.list_claimed_by(&reviewer.row.id).await {
                Ok(claimed) if claimed.contains(&review) => {}
                Ok(_) => {
                    reviewer.claim_ended(review, at);
                    self.stop_without_seat(reviewer, review, DrainReason::NotNeeded);
                }
                Err(error) => tracing::error!(reviewer.id = reviewer.row.id, %error, "cannot read a reviewer's claims"),
            }
        }
    }

    /// Stops dedicated reviewers that have voted and answer a question: it is no longer asked.
    fn stop_answering(&self, state: &mut State, review: ReviewId, number: ReviewNumber, at: Tick) {
        let is_of_review = |reviewer: &&mut Reviewer| {
            let seat = reviewer.row.seat.as_ref().filter(|_| reviewer.row.session.is_some());
            seat.is_some_and(|seat| seat.review == number) && !reviewer.has_claimed && reviewer.spawned_at < at
        };
        for reviewer in state.reviewers.values_mut().filter(is_of_review) {
            self.stop_without_seat(reviewer, review, DrainReason::NotNeeded);
        }
    }

    /// Whether this was a reviewer of the pool, in this run or an earlier one.
    async fn is_former_reviewer(&self, state: &State, id: &str) -> bool {
        state.gone.contains(id) || self.shared.reader.is_pool_reviewer(id).await.unwrap_or(false)
    }

    fn release(&self, review: ReviewId, reviewer: String) {
        let reviews = self.reviews().clone();
        tokio::spawn(async move {
            let (why, detail) = (ClaimEndReason::ReviewerExited, Some("it had already exited"));
            exited_reviewers::release(&reviews, review, &reviewer, why, detail).await;
        });
    }
}

/// Whether an event may change the queue or a claim.
const fn changes_demand(event: &Event) -> bool {
    match event {
        Event::MessageAdded { requeued, .. } => requeued.is_some(),
        Event::FindingUpdated(updated) => updated.lease_ends.is_some() || updated.requeued.is_some(),
        Event::CounterPatchRejected { .. } | Event::ClaimRenewed { .. } | Event::Closed { .. } => false,
        Event::Proposed(_)
        | Event::Revised { .. }
        | Event::Claimed { .. }
        | Event::Rebased { .. }
        | Event::AutoRejected { .. }
        | Event::ClaimEnded { .. }
        | Event::ReservationEnded { .. }
        | Event::SeatAdded { .. }
        | Event::VerdictGiven(_)
        | Event::CounterPatchAccepted { .. }
        | Event::Cancelled { .. } => true,
    }
}
