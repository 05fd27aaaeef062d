//! Taking a seat, and losing it again.

use super::{
    Check, CheckNeeded, CommandKind, Event, Refusal, Review, Seat, Status, diff_is_checked, seat_of,
    verdicts::fenced_seat, wrong_status,
};
use crate::{
    ids::VALIDATOR,
    review::{ClaimEndReason, ClaimSeat, DiffCheck, DiffFacts, ReleaseSeat},
    time::Tick,
};

/// What a claim would find.
enum Admission<'a> {
    /// The caller has it already: a repeat after a lost answer.
    Held,
    Free(&'a Seat),
}

pub(super) fn check_needed(review: &Review, claim: &ClaimSeat, tick: Tick) -> Result<Option<CheckNeeded>, Refusal> {
    let free = matches!(admit(review, claim, tick)?, Admission::Free(_));
    Ok((free && needs_check(review)).then_some(CheckNeeded::ActiveDiff))
}

pub(super) fn decide(review: &Review, claim: ClaimSeat, tick: Tick, lease_ends: Tick) -> Result<Vec<Event>, Refusal> {
    let Admission::Free(seat) = admit(review, &claim, tick)? else { return Ok(Vec::new()) };
    let generation = review.claim_generation + 1;
    // What git said counts only where it was needed, and only for the content that is claimed.
    let check = match claim.check {
        _ if !needs_check(review) => None,
        _ if claim.checked.as_ref() != Some(&review.round.content_hash) => return Err(Refusal::ContentMoved),
        Check::NotNeeded => return Err(Refusal::ContentMoved),
        Check::Fails { words } => return Ok(vec![Event::AutoRejected { claimant: claim.by, words, generation }]),
        Check::Applies { to, tree_id } => Some(DiffCheck::Applies { to, tree_id }),
    };
    let diff = match (check, &review.round.diff) {
        (Some(check), Some(facts)) if check != facts.check => Some(DiffFacts { check, ..facts.clone() }),
        _ => None,
    };
    Ok(vec![Event::Claimed { persona: seat.persona.clone(), by: claim.by, generation, lease_ends, diff }])
}

pub(super) fn release(review: &Review, release: ReleaseSeat) -> Result<Vec<Event>, Refusal> {
    let (seat, _) = fenced_seat(review, release.by.as_deref(), release.generation, CommandKind::Release)?;
    let why = if release.gave_up { ClaimEndReason::CouldNotReview } else { ClaimEndReason::Released };
    let event =
        owes_vote(review, seat).then(|| ended(seat, why, release.reason.as_deref(), review.claim_generation + 1));
    Ok(event.flatten().into_iter().collect())
}

pub(super) fn gone(review: &Review, reviewer: &str, why: ClaimEndReason, detail: Option<&str>) -> Vec<Event> {
    let mut generation = review.claim_generation;
    let mut events = Vec::new();
    for seat in &review.seats {
        if seat.is_held_by(reviewer) && owes_vote(review, seat) {
            generation += 1;
            events.extend(ended(seat, why, detail, generation));
        }
        if seat.reservation.as_ref().is_some_and(|reservation| reservation.reviewer == reviewer) {
            events.push(Event::ReservationEnded { persona: seat.persona.clone(), reviewer: reviewer.into() });
        }
    }
    events
}

/// A seat that has voted owes nothing; its vote stands whatever becomes of the voter.
fn owes_vote(review: &Review, seat: &Seat) -> bool {
    seat.vote.is_none() && !review.is_final()
}

pub(super) fn expire(review: &Review, tick: Tick) -> Vec<Event> {
    let mut generation = review.claim_generation;
    let mut events = Vec::new();
    for seat in &review.seats {
        if seat.claim.as_ref().and_then(|claim| claim.lease_ends).is_some_and(|ends| ends <= tick) {
            generation += 1;
            events.extend(ended(seat, ClaimEndReason::LeaseExpired, None, generation));
        }
        if let Some(reservation) = seat.reservation.as_ref().filter(|r| r.until <= tick) {
            let (persona, reviewer) = (seat.persona.clone(), reservation.reviewer.clone());
            events.push(Event::ReservationEnded { persona, reviewer });
        }
    }
    events
}

fn ended(seat: &Seat, reason: ClaimEndReason, detail: Option<&str>, generation: u32) -> Option<Event> {
    let (persona, by) = (seat.persona.clone(), seat.claim.as_ref()?.by.clone());
    Some(Event::ClaimEnded { persona, by, reason, detail: detail.map(Into::into), generation })
}

fn needs_check(review: &Review) -> bool {
    review.round.diff.is_some() && diff_is_checked(review)
}

fn admit<'a>(review: &'a Review, claim: &ClaimSeat, tick: Tick) -> Result<Admission<'a>, Refusal> {
    let number = review.number;
    match review.status {
        Status::Pending | Status::Claimed | Status::InReview => {}
        Status::ChangesRequested | Status::Approved | Status::Rejected | Status::Cancelled | Status::Closed => {
            return Err(wrong_status(review, CommandKind::Claim));
        }
    }
    // The broker's own name would turn a person's request for changes into an automatic one.
    if claim.by.trim().is_empty() || claim.by == VALIDATOR {
        return Err(Refusal::BadReviewer { given: claim.by.clone() });
    }
    if claim.by == review.proposer.identity() {
        return Err(Refusal::OwnProposal { number, reviewer: claim.by.clone() });
    }
    let wanted = claim.persona.as_deref().map(|persona| seat_of(review, persona)).transpose()?;
    if let Some(seat) = review.seats.iter().find(|seat| seat.is_held_by(&claim.by)) {
        return if wanted.is_none_or(|wanted| wanted.persona == seat.persona) {
            Ok(Admission::Held)
        } else {
            let persona = seat.persona.clone();
            Err(Refusal::HoldsAnotherSeat { number, reviewer: claim.by.clone(), persona })
        };
    }
    let candidates = || review.seats.iter().filter(|seat| wanted.is_none_or(|wanted| wanted.persona == seat.persona));
    let free = || candidates().filter(|seat| seat.is_free());
    let open_to_me = |seat: &&Seat| seat.reserved_at(tick).is_none_or(|r| r.reviewer == claim.by);
    let mine = |seat: &&Seat| seat.reserved_at(tick).is_some_and(|r| r.reviewer == claim.by);
    if let Some(seat) = free().find(mine).or_else(|| free().find(open_to_me)) {
        return Ok(Admission::Free(seat));
    }
    if let Some(reservation) = free().find_map(|seat| seat.reserved_at(tick)) {
        return Err(Refusal::Reserved { number, reviewer: reservation.reviewer.clone() });
    }
    match candidates().find_map(|seat| seat.claim.as_ref()) {
        Some(holder) => Err(Refusal::AlreadyClaimed { number, by: holder.by.clone() }),
        None => Err(wrong_status(review, CommandKind::Claim)),
    }
}
