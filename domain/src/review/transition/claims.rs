//! Rules for claims: how a reviewer takes a seat, returns it or loses it.

use super::{
    CheckNeeded, CommandKind, Decided, DiffCheck, Event, Refusal, Reply, Review, Seat, Status, findings, requeue,
    seat_of_persona, verdicts::fenced_seat, wrong_status,
};
use crate::identity::is_same_identity;
use crate::{
    credential::Authority,
    ids::VALIDATOR,
    review::{
        AppliesTo, CheckedDiff, ClaimEndReason, ClaimSeat, DiffFacts, HeadCheck, RebasedContent, ReleaseSeat, Requeued,
        Reservation,
    },
    time::Tick,
};
use std::time::Duration;

/// The seat that a claim gets.
enum Admission<'a> {
    /// The caller holds it already: a repeat after a lost response.
    Held(usize),
    Free(usize, &'a Seat),
    /// It is held, and the caller takes it over.
    TakenOver(usize, &'a Seat),
}

pub(super) fn check_needed(review: &Review, claim: &ClaimSeat, tick: Tick) -> Result<Option<CheckNeeded>, Refusal> {
    let is_new = !matches!(admit(review, claim, tick)?, Admission::Held(_));
    Ok((is_new && needs_check(review)).then_some(CheckNeeded::ActiveDiff))
}

pub(super) fn claim(review: &Review, claim: ClaimSeat, tick: Tick, lease_ends: Tick) -> Decided {
    let mut generation = review.claim_generation;
    let mut events = Vec::new();
    let (index, seat) = match admit(review, &claim, tick)? {
        Admission::Held(index) => return Ok((Vec::new(), Reply::Claimed { seat: index })),
        Admission::Free(index, seat) => (index, seat),
        Admission::TakenOver(index, seat) => {
            generation += 1;
            let detail = format!("by {}", claim.by);
            events.extend(claim_ended(seat, ClaimEndReason::TakenOver, Some(&detail), generation, None));
            (index, seat)
        }
    };
    // Git's answer counts only if it was needed, and only for the content that is claimed.
    let checked = claim.check.filter(|checked| checked.content_hash == review.round.content_hash);
    let mut diff = None;
    if let Some(facts) = review.round.diff.as_ref().filter(|_| review.checks_diffs()) {
        match judge(facts, checked.ok_or(Refusal::ContentMoved)?)? {
            Judgement::Unchanged => {}
            Judgement::Checked(checked) => diff = Some(checked),
            Judgement::Rebased { diff, to, rebased } => {
                let is_other = |other: &&Seat| other.persona != seat.persona && !other.is_free();
                let freed: Vec<_> =
                    review.seats.iter().filter(is_other).map(|seat| requeue(seat, lease_ends)).collect();
                generation += u32::from(!freed.is_empty());
                events.push(Event::Rebased {
                    from: facts.base_commit.clone(),
                    to,
                    content_hash: rebased.content_hash,
                    diff,
                    requeued: Requeued { seats: freed, generation },
                    anchors: findings::reanchor(review, &rebased.anchors),
                });
            }
            Judgement::SentBack { message, diff } => {
                let generation = generation + 1;
                events.push(Event::AutoRejected { claimant: claim.by, message, generation, diff });
                return Ok((events, Reply::AutoRejected));
            }
        }
    }
    generation += 1;
    let by_operator = claim.takes_over == Some(Authority::Operator);
    let persona = seat.persona.clone();
    events.push(Event::Claimed { persona, by: claim.by, generation, lease_ends, by_operator, diff });
    Ok((events, Reply::Claimed { seat: index }))
}

/// What git's answer means for a claim.
enum Judgement {
    /// The diff applies, as before.
    Unchanged,
    Checked(DiffFacts),
    Rebased {
        diff: DiffFacts,
        to: String,
        rebased: RebasedContent,
    },
    SentBack {
        message: String,
        diff: Option<DiffFacts>,
    },
}

/// A diff must apply to its base. If the proposer did not name the base, the diff must also apply to HEAD or be part of
/// it, and HEAD becomes its base if it does not apply to the old one.
fn judge(facts: &DiffFacts, checked: CheckedDiff) -> Result<Judgement, Refusal> {
    let CheckedDiff { check, head, rebased, .. } = checked;
    let follows_head = !facts.base_named;
    let applies_to_base = matches!(check, DiffCheck::Applies { to: AppliesTo::Base, .. });
    let misses_base = matches!(check, DiffCheck::Fails { .. } | DiffCheck::Applies { to: AppliesTo::Worktree, .. });
    if let (Some(HeadCheck { commit: to, check: check @ DiffCheck::Applies { .. }, .. }), Some(rebased)) =
        (&head, rebased)
        && follows_head
        && misses_base
    {
        let (to, check) = (to.clone(), check.clone());
        let diff = DiffFacts { base_commit: Some(to.clone()), check, head: None, ..facts.clone() };
        return Ok(Judgement::Rebased { diff, to, rebased });
    }
    let missed_head = head.as_ref().filter(|head| follows_head && !head.contains).map(|head| &head.check);
    match (check, missed_head) {
        (DiffCheck::Fails { .. }, Some(DiffCheck::Fails { message })) => {
            Ok(Judgement::SentBack { message: message.clone(), diff: None })
        }
        (DiffCheck::Fails { message }, _) => Ok(Judgement::SentBack { message, diff: None }),
        (check @ DiffCheck::Applies { .. }, Some(DiffCheck::Fails { message })) if applies_to_base => {
            let message = message.clone();
            Ok(Judgement::SentBack { message, diff: Some(DiffFacts { check, head, ..facts.clone() }) })
        }
        (check @ DiffCheck::Applies { .. }, _) => {
            let diff = DiffFacts { check, head, ..facts.clone() };
            Ok(if diff == *facts { Judgement::Unchanged } else { Judgement::Checked(diff) })
        }
        (DiffCheck::Skipped | DiffCheck::Unknown { .. }, _) => Err(Refusal::ContentMoved),
    }
}

/// Renewing only in the second half of a lease keeps reads cheap: most of them change nothing.
pub(super) fn renew(review: &Review, by: &str, tick: Tick, lease: Duration) -> Vec<Event> {
    let is_due = |seat: &&Seat| {
        let ends =
            seat.claim.as_ref().filter(|claim| is_same_identity(&claim.by, by)).and_then(|claim| claim.lease_ends);
        ends.is_some_and(|ends| ends <= tick.plus(lease / 2))
    };
    let renewed = |seat: &Seat| Event::ClaimRenewed {
        persona: seat.persona.clone(),
        by: by.to_owned(),
        lease_ends: tick.plus(lease),
    };
    review.seats.iter().filter(is_due).map(renewed).collect()
}

pub(super) fn release(review: &Review, release: &ReleaseSeat) -> Decided {
    let (index, seat, _) = fenced_seat(review, release.by.as_deref(), release.generation, CommandKind::Release)?;
    let why = if release.gave_up { ClaimEndReason::CouldNotReview } else { ClaimEndReason::Released };
    let generation = review.claim_generation + 1;
    let ended = owes_vote(review, seat).then(|| claim_ended(seat, why, release.reason.as_deref(), generation, None));
    Ok((ended.flatten().into_iter().collect(), Reply::Released { seat: index }))
}

/// Ends the claims of `reviewer`. Its seats are kept for it until `kept_until`; without one its reservations end too.
pub(super) fn reviewer_gone(
    review: &Review,
    reviewer: &str,
    why: ClaimEndReason,
    detail: Option<&str>,
    kept_until: Option<Tick>,
) -> Vec<Event> {
    let mut generation = review.claim_generation;
    let mut events = Vec::new();
    for seat in &review.seats {
        if seat.is_held_by(reviewer) && owes_vote(review, seat) {
            generation += 1;
            let until = kept_until.filter(|_| review.status.is_open());
            let reservation = until.map(|until| Reservation { reviewer: reviewer.to_owned(), until });
            events.extend(claim_ended(seat, why, detail, generation, reservation));
        }
        if kept_until.is_none()
            && seat.reservation.as_ref().is_some_and(|reservation| is_same_identity(&reservation.reviewer, reviewer))
        {
            events.push(Event::ReservationEnded { persona: seat.persona.clone(), reviewer: reviewer.into() });
        }
    }
    events
}

/// A seat that has voted keeps its vote even if the reviewer leaves.
fn owes_vote(review: &Review, seat: &Seat) -> bool {
    seat.vote.is_none() && !review.is_final()
}

pub(super) fn expire(review: &Review, tick: Tick) -> Vec<Event> {
    let mut generation = review.claim_generation;
    let mut events = Vec::new();
    for seat in &review.seats {
        if seat.claim.as_ref().and_then(|claim| claim.lease_ends).is_some_and(|ends| ends <= tick) {
            generation += 1;
            events.extend(claim_ended(seat, ClaimEndReason::LeaseExpired, None, generation, None));
        }
        if let Some(reservation) = seat.reservation.as_ref().filter(|r| r.until <= tick) {
            let (persona, reviewer) = (seat.persona.clone(), reservation.reviewer.clone());
            events.push(Event::ReservationEnded { persona, reviewer });
        }
    }
    events
}

fn claim_ended(
    seat: &Seat,
    reason: ClaimEndReason,
    detail: Option<&str>,
    generation: u32,
    reservation: Option<Reservation>,
) -> Option<Event> {
    let (persona, by) = (seat.persona.clone(), seat.claim.as_ref()?.by.clone());
    Some(Event::ClaimEnded { persona, by, reason, detail: detail.map(Into::into), generation, reservation })
}

fn needs_check(review: &Review) -> bool {
    review.round.diff.is_some() && review.checks_diffs()
}

fn admit<'a>(review: &'a Review, claim: &ClaimSeat, tick: Tick) -> Result<Admission<'a>, Refusal> {
    let number = review.number;
    // A person can take a seat over that has asked for changes: its vote no longer counts.
    let can_take_over =
        claim.takes_over.is_some() && review.status == Status::ChangesRequested && !review.auto_rejected();
    if !review.status.is_open() && !can_take_over {
        return Err(wrong_status(review, CommandKind::Claim));
    }
    // The broker's own name would turn a reviewer's request for changes into an automatic one.
    if claim.by.trim().is_empty() || is_same_identity(&claim.by, VALIDATOR) {
        return Err(Refusal::BadReviewerId { given: claim.by.clone() });
    }
    if review.is_proposed_by(&claim.by) {
        return Err(Refusal::OwnProposal { number, reviewer: claim.by.clone() });
    }
    let wanted = claim.persona.as_deref().map(|persona| seat_of_persona(review, persona)).transpose()?;
    let is_assigned = |seat: &Seat| seat.assigned.as_deref().is_some_and(|name| is_same_identity(name, &claim.by));
    // A reviewer for whom a seat was requested takes that one.
    let own_seat = review.seats.iter().enumerate().find(|(_, seat)| is_assigned(seat));
    let wanted = wanted.or(own_seat);
    let is_wanted = |index: usize| wanted.is_none_or(|(wanted, _)| wanted == index);
    let seats = || review.seats.iter().enumerate();
    if let Some((index, seat)) = seats().find(|(_, seat)| seat.is_held_by(&claim.by)) {
        return if is_wanted(index) && claim.takes_over.is_some() {
            Ok(Admission::TakenOver(index, seat))
        } else if is_wanted(index) {
            Ok(Admission::Held(index))
        } else {
            let persona = seat.persona.clone();
            Err(Refusal::HoldsAnotherSeat { number, reviewer: claim.by.clone(), persona })
        };
    }
    // Otherwise the seat that was requested for this reviewer would stay empty.
    if let Some((_, seat)) = seats().find(|(index, seat)| !is_wanted(*index) && is_assigned(seat)) {
        return Err(Refusal::HasOwnSeat { number, reviewer: claim.by.clone(), persona: seat.persona.clone() });
    }
    let candidates = || seats().filter(|(index, _)| is_wanted(*index));
    let held = || candidates().find(|(_, seat)| seat.claim.is_some());
    let free = || candidates().filter(|(_, seat)| seat.is_free());
    match claim.takes_over {
        Some(Authority::Operator) => {
            let free = || free().next().map(|(index, seat)| Admission::Free(index, seat));
            let taken = held().map(|(index, seat)| Admission::TakenOver(index, seat)).or_else(free);
            return taken.ok_or_else(|| wrong_status(review, CommandKind::Claim));
        }
        Some(Authority::Reviewer | Authority::Proposer) => {
            return Err(match held().and_then(|(_, seat)| seat.claim.as_ref()) {
                Some(other) => Refusal::NotYourSeat { reviewer: claim.by.clone(), holder: other.by.clone() },
                None => Refusal::NotClaimed { number },
            });
        }
        None => {}
    }
    let reserved_for = |seat: &Seat| seat.reserved_at(tick).map(str::to_owned);
    let own =
        |(_, seat): &(usize, &Seat)| reserved_for(seat).is_some_and(|reviewer| is_same_identity(&reviewer, &claim.by));
    // A review that waits for an operator gets no reviewer of the pool.
    let waits_for_operator = review.escalation().is_some();
    let is_of_pool =
        |seat: &Seat| claim.pool_personas.contains(&seat.persona) && seat.gave_up.is_none() && !waits_for_operator;
    let unreserved = |(_, seat): &(usize, &Seat)| reserved_for(seat).is_none() && !is_of_pool(seat);
    if let Some((index, seat)) = free().find(own).or_else(|| free().find(unreserved)) {
        return Ok(Admission::Free(index, seat));
    }
    if let Some((_, seat)) = free().find(|(_, seat)| reserved_for(seat).is_none()) {
        let reviewer = format!("the pool's own {} reviewer", seat.persona);
        return Err(Refusal::Reserved { number, reviewer });
    }
    if let Some(reviewer) = free().find_map(|(_, seat)| reserved_for(seat)) {
        return Err(Refusal::Reserved { number, reviewer });
    }
    match candidates().find_map(|(_, seat)| seat.claim.as_ref()) {
        Some(holder) => Err(Refusal::AlreadyClaimed { number, by: holder.by.clone() }),
        None => Err(wrong_status(review, CommandKind::Claim)),
    }
}
