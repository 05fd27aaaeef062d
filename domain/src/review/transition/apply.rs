//! Applies events to the state. Replaying the log of a review gives its snapshot.

mod findings;

pub(super) use findings::{raise, resolve_own, update_finding};

use super::super::{
    Answered, Claim, ClaimEndReason, Decision, DiffCheck, Event, LastMessage, LastVerdict, LoggedEvent, PendingPatch,
    Proposed, Review, Reviewed, Role, Seat, Status,
    event::{Requeued, VerdictGiven},
};
use crate::{
    consensus::Escalation,
    content::ContentHash,
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use findings::anchor;

/// The review that a proposal creates.
pub(super) fn begin(proposed: &Proposed, at: Timestamp, version: u64) -> Review {
    Review {
        id: proposed.id,
        number: proposed.number,
        version,
        proposer: proposed.proposer.clone(),
        category: proposed.category,
        priority: proposed.priority,
        status: Status::Pending,
        round: proposed.round.clone(),
        returned: false,
        seats: proposed.personas.iter().map(Seat::new).collect(),
        policy: proposed.policy,
        claim_generation: 0,
        decision: None,
        approved_hash: None,
        escalated: None,
        findings: Vec::new(),
        cost_micro_usd: 0,
        cancel_reason: None,
        created_at: at,
        updated_at: at,
    }
}

/// The review after `logged`.
pub fn apply(mut review: Review, logged: &LoggedEvent) -> Review {
    review.version = logged.version;
    review.updated_at = logged.at;
    change(&mut review, &logged.event, logged.at);
    review
}

/// The review after all events of `log`; `None` if the log does not start with a proposal.
pub fn replay(log: &[LoggedEvent]) -> Option<Review> {
    let (first, rest) = log.split_first()?;
    let Event::Proposed(proposed) = &first.event else { return None };
    Some(rest.iter().fold(begin(proposed, first.at, first.version), apply))
}

fn change(review: &mut Review, event: &Event, at: Timestamp) {
    match event {
        // Always the first event, which `begin` handles.
        Event::Proposed(_) => {}
        Event::Revised { round, generation, anchors, .. } => {
            review.round = round.clone();
            review.claim_generation = *generation;
            review.decision = None;
            review.approved_hash = None;
            for seat in &mut review.seats {
                seat.last_verdict = None;
                seat.patch = None;
                seat.gave_up = None;
                // The revision counts as the proposer's turn.
                seat.last_message.take_if(|last| last.role == Role::Reviewer);
                vacate(seat);
            }
            anchor(review, anchors);
            review.status = Status::Pending;
        }
        Event::Claimed { persona, by, generation, lease_ends, diff } => {
            review.claim_generation = *generation;
            if diff.is_some() {
                review.round.diff.clone_from(diff);
            }
            for seat in &mut review.seats {
                seat.reservation.take_if(|reservation| reservation.reviewer == *by);
            }
            if let Some(seat) = seat_mut(review, persona) {
                vacate(seat);
                seat.gave_up = None;
                seat.claim = Some(Claim { by: by.clone(), generation: *generation, at, lease_ends: Some(*lease_ends) });
            }
            review.status = open_status(review);
        }
        Event::AutoRejected { message, generation, .. } => {
            review.claim_generation = *generation;
            auto_reject(review, message);
        }
        Event::ClaimEnded { persona, reason, detail, generation, .. } => {
            review.claim_generation = *generation;
            if let Some(seat) = seat_mut(review, persona) {
                vacate(seat);
                if *reason == ClaimEndReason::CouldNotReview {
                    seat.gave_up = Some(detail.clone().unwrap_or_default());
                }
            }
            // A decision stands even if a reviewer leaves without a vote.
            if review.status.is_open() {
                review.status = open_status(review);
            }
        }
        Event::ReservationEnded { persona, .. } => {
            if let Some(seat) = seat_mut(review, persona) {
                seat.reservation = None;
            }
        }
        Event::VerdictGiven(given) => give_verdict(review, given, at),
        Event::FindingUpdated(updated) => update_finding(review, updated, at),
        Event::MessageAdded { persona, role, round, digest, lease_ends, requeued, .. } => {
            let id = review.version;
            if let Some(seat) = seat_mut(review, persona) {
                let before = seat.last_message.take().filter(|last| last.round == *round);
                let answers = before.and_then(|last| match last.role == *role {
                    true => last.answers,
                    false => Some(Answered { id: last.id, digest: last.digest }),
                });
                let digest = digest.clone();
                seat.last_message = Some(LastMessage { id, role: *role, round: *round, digest, answers });
                if let (Some(claim), Some(ends)) = (&mut seat.claim, lease_ends) {
                    claim.lease_ends = Some(*ends);
                }
            }
            if let Some(Requeued { reservation, generation }) = requeued {
                review.claim_generation = *generation;
                if let Some(seat) = seat_mut(review, persona) {
                    vacate(seat);
                    seat.reservation.clone_from(reservation);
                }
                review.status = open_status(review);
            }
        }
        Event::CounterPatchAccepted { persona, content_hash, diff, freed, generation, anchors, .. } => {
            anchor(review, anchors);
            review.claim_generation = *generation;
            review.round.content_hash = content_hash.clone();
            review.round.diff = Some(diff.clone());
            review.round.target = None;
            if let Some(seat) = seat_mut(review, persona) {
                seat.patch = None;
            }
            for persona in freed {
                if let Some(seat) = seat_mut(review, persona) {
                    vacate(seat);
                }
            }
            review.decision.take_if(|decision| decision.verdict == Verdict::Approved);
            if review.status != Status::ChangesRequested {
                review.status = open_status(review);
            }
        }
        Event::CounterPatchRejected { persona, .. } => {
            if let Some(seat) = seat_mut(review, persona) {
                seat.patch = None;
            }
        }
        Event::Cancelled { reason, generation, .. } => {
            review.claim_generation = *generation;
            review.cancel_reason = Some(reason.clone());
            review.approved_hash = None;
            for seat in &mut review.seats {
                seat.claim = None;
                seat.reservation = None;
                seat.patch = None;
            }
            review.status = Status::Cancelled;
        }
        Event::Closed { .. } => {
            for seat in &mut review.seats {
                seat.patch = None;
            }
            review.status = Status::Closed;
        }
    }
}

fn give_verdict(review: &mut Review, given: &VerdictGiven, at: Timestamp) {
    let VerdictGiven { persona, by, verdict, content_hash, status, .. } = given;
    let version = review.version;
    if let Some(seat) = seat_mut(review, persona) {
        let (generation, digest) = (given.generation, given.digest.clone());
        seat.last_verdict = Some(LastVerdict { generation, verdict: *verdict, digest });
        if verdict.is_vote() {
            seat.vote = Some(*verdict);
            seat.reviewed = Some(Reviewed { round: given.round, content_hash: content_hash.clone() });
        }
        if given.offers_patch {
            seat.patch = Some(PendingPatch { id: version, by: by.clone() });
        }
        if let Some(claim) = &mut seat.claim {
            claim.lease_ends = given.lease_ends.filter(|_| seat.vote.is_none());
        }
    }
    // A comment on a decided review does not replace the decision, unless its findings change the status.
    let decision = if verdict.is_vote() || status.is_open() {
        Some(*verdict)
    } else {
        findings::verdict_of(*status).filter(|_| *status != review.status)
    };
    if let Some(verdict) = decision {
        review.decision = Some(Decision { verdict, reason: given.reason.clone(), by: by.clone() });
    }
    enter_status(review, *status, content_hash, given.lease_ends);
    review.escalated = review.escalated.or(given.escalation);
    let cost = given.metrics.as_ref().map_or(0, ReviewMetrics::cost_micro_usd);
    review.cost_micro_usd = review.cost_micro_usd.saturating_add(cost);
    raise(review, persona, by, at, &given.findings);
    resolve_own(review, by, at, &given.resolved);
}

/// Sets the status that the votes lead to, and ends or starts leases accordingly.
fn enter_status(review: &mut Review, status: Status, content_hash: &ContentHash, lease_ends: Option<Tick>) {
    for seat in &mut review.seats {
        if !status.is_open() {
            seat.reservation = None;
        }
        if let Some(claim) = &mut seat.claim {
            if !status.is_open() {
                claim.lease_ends = None;
            } else if seat.vote.is_none() && claim.lease_ends.is_none() {
                claim.lease_ends = lease_ends;
            }
        }
    }
    review.approved_hash = (status == Status::Approved).then(|| content_hash.clone());
    review.returned |= status == Status::ChangesRequested;
    review.status = status;
}

/// The broker requests changes. All seats become free.
fn auto_reject(review: &mut Review, message: &str) {
    for seat in &mut review.seats {
        seat.patch = None;
        vacate(seat);
    }
    if let Some(diff) = &mut review.round.diff {
        diff.check = DiffCheck::Fails { message: message.into() };
    }
    if review.round.number >= review.policy.max_rounds {
        review.escalated.get_or_insert(Escalation::Rounds);
    }
    review.decision = Some(Decision {
        verdict: Verdict::ChangesRequested,
        reason: Some(message.into()),
        by: crate::ids::VALIDATOR.into(),
    });
    review.approved_hash = None;
    review.returned = true;
    review.status = Status::ChangesRequested;
}

/// Frees a seat. Its counter-patch stays until the proposer answers it or revises.
fn vacate(seat: &mut Seat) {
    seat.claim = None;
    seat.vote = None;
    seat.reservation = None;
}

/// The status of an open review, by its seats.
fn open_status(review: &Review) -> Status {
    let busy = review.seats.iter().any(|seat| seat.claim.is_some() || seat.vote.is_some());
    match (busy, review.seats.len()) {
        (false, _) => Status::Pending,
        (true, 1) => Status::Claimed,
        (true, _) => Status::InReview,
    }
}

fn seat_mut<'a>(review: &'a mut Review, persona: &str) -> Option<&'a mut Seat> {
    review.seats.iter_mut().find(|seat| seat.persona == persona)
}
