//! What the log says of the pool's reviewers: who is busy, who has judged, and what was given to one that is
//! gone.

use super::{ReviewerPool, State, release_claims, reviewers::Held};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::scaling::DrainReason,
    review::{ClaimEndReason, Event, Requeued, Status},
    time::Tick,
};
use std::sync::Arc;
use store::{EventRecord, LogEntry};

impl ReviewerPool {
    /// Takes note of what happened. `true` if it may change how many reviewers there should be.
    pub(super) async fn take_news(&self, state: &mut State, news: &[EventRecord]) -> bool {
        let mut matters = false;
        for logged in news {
            if let LogEntry::Review { id, number, recorded } = &logged.entry {
                matters |= !is_talk(&recorded.event);
                self.take_event(state, *id, *number, &recorded.event, logged.tick).await;
            }
        }
        matters
    }

    async fn take_event(&self, state: &mut State, review: ReviewId, number: ReviewNumber, event: &Event, at: Tick) {
        match event {
            Event::Claimed { by, generation, .. } => {
                if let Some(member) = state.reviewer(by) {
                    member.has_claimed = true;
                    member.claims.insert(review, Held { number, generation: *generation, since: at });
                }
                // The claim was on its way when its process ended.
                if state.gone.contains(by) {
                    self.give_back(review, by.clone());
                }
            }
            Event::AutoRejected { claimant, .. } => {
                if let Some(member) = state.reviewer(claimant) {
                    member.handled += 1;
                }
                self.check_claims(state, review, at).await;
            }
            Event::VerdictGiven { by, verdict, status, .. } => {
                if let Some(member) = state.reviewer(by) {
                    member.judged(review, *verdict, at);
                    let row = member.started.then(|| member.row.clone());
                    self.write(row, None);
                }
                // One rejection ends it for all; after an approval the others may still speak.
                if *status == Status::Rejected {
                    self.check_claims(state, review, at).await;
                }
            }
            Event::ClaimEnded { by, reason, .. } => {
                if let Some(member) = state.reviewer(by) {
                    member.lost(review, at);
                    match reason {
                        ClaimEndReason::LeaseExpired => self.dismiss(member, review, DrainReason::Ttl),
                        ClaimEndReason::Released => self.dismiss(member, review, DrainReason::NotNeeded),
                        // It has given it up itself, or is gone.
                        ClaimEndReason::CouldNotReview
                        | ClaimEndReason::ReviewerExited
                        | ClaimEndReason::ReviewerStopped
                        | ClaimEndReason::BrokerRestarted => {}
                    }
                }
            }
            // These free seats by persona, so whoever is still bound is looked up.
            Event::Revised { .. }
            | Event::CounterPatchAccepted { .. }
            | Event::Cancelled { .. }
            | Event::Closed { .. } => {
                self.check_claims(state, review, at).await;
            }
            Event::MessageAdded { requeued: Some(Requeued { reservation: Some(kept), .. }), .. } => {
                let reviewer = &kept.reviewer;
                let leaves = match state.members.get(reviewer) {
                    Some(member) => member.leaving.is_some(),
                    None => self.was_ours(state, reviewer).await,
                };
                if leaves {
                    self.give_back(review, reviewer.clone());
                }
            }
            Event::Proposed(_)
            | Event::FindingUpdated(_)
            | Event::ReservationEnded { .. }
            | Event::MessageAdded { .. }
            | Event::CounterPatchRejected { .. } => {}
        }
    }

    async fn check_claims(&self, state: &mut State, review: ReviewId, at: Tick) {
        for member in state.members.values_mut().filter(|member| member.claims.contains_key(&review)) {
            match self.context.reader.list_claimed_by(&member.row.id).await {
                Ok(held) if held.contains(&review) => {}
                Ok(_) => {
                    member.lost(review, at);
                    self.dismiss(member, review, DrainReason::NotNeeded);
                }
                Err(error) => tracing::error!(reviewer.id = member.row.id, %error, "claims cannot be read"),
            }
        }
    }

    /// A reviewer of this pool, now or in an earlier run, that no longer lives.
    async fn was_ours(&self, state: &State, reviewer: &str) -> bool {
        state.gone.contains(reviewer) || self.context.reader.is_pool_reviewer(reviewer).await.unwrap_or(false)
    }

    fn give_back(&self, review: ReviewId, reviewer: String) {
        let context = Arc::clone(&self.context);
        tokio::spawn(async move {
            release_claims::tell(
                &context,
                review,
                &reviewer,
                ClaimEndReason::ReviewerExited,
                Some("it had ended before"),
            )
            .await;
        });
    }
}

/// What leaves the queue and everybody's claims as they were.
const fn is_talk(event: &Event) -> bool {
    match event {
        Event::MessageAdded { requeued, .. } => requeued.is_none(),
        Event::FindingUpdated(updated) => updated.lease_ends.is_none(),
        Event::CounterPatchRejected { .. } | Event::Closed { .. } => true,
        Event::Proposed(_)
        | Event::Revised { .. }
        | Event::Claimed { .. }
        | Event::AutoRejected { .. }
        | Event::ClaimEnded { .. }
        | Event::ReservationEnded { .. }
        | Event::VerdictGiven { .. }
        | Event::CounterPatchAccepted { .. }
        | Event::Cancelled { .. } => false,
    }
}
