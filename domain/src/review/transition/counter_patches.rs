//! Rules for counter-patches, which a reviewer offers with a verdict: how the proposer accepts or rejects one.

use super::{
    CheckNeeded, CommandKind, Decided, DiffCheck, Event, Refusal, Reply, Review, Seat, Status, findings, or_proposer,
    requeue, requeued, seat_of_persona, wrong_status,
};
use crate::identity::is_same_identity;
use crate::{
    review::{AcceptCounterPatch, CounterPatch, PatchStatus, RequeuedSeat, Reservation},
    time::Tick,
};

pub(super) fn check_needed(review: &Review, accept: &AcceptCounterPatch) -> Result<Option<CheckNeeded>, Refusal> {
    if was_decided(review, accept.persona.as_deref(), PatchStatus::Accepted) {
        return Ok(None);
    }
    let (_, patch) = admit(review, accept.persona.as_deref())?;
    Ok(Some(CheckNeeded::PendingPatch { id: patch.id }))
}

pub(super) fn accept(review: &Review, accept: AcceptCounterPatch, lease_ends: Tick) -> Decided {
    if was_decided(review, accept.persona.as_deref(), PatchStatus::Accepted) {
        return Ok((Vec::new(), Reply::Done));
    }
    let (offering, patch) = admit(review, accept.persona.as_deref())?;
    let is_current = |replaces, id| replaces == review.round.content_hash && id == patch.id;
    let patched = accept.patched.filter(|patched| is_current(patched.replaces.clone(), patched.patch));
    let patched = patched.ok_or(Refusal::ContentMoved)?;
    match &patched.diff.check {
        DiffCheck::Fails { message } => return Err(Refusal::CounterPatchFails { message: message.clone() }),
        DiffCheck::Skipped if review.checks_diffs() => return Err(Refusal::ContentMoved),
        DiffCheck::Unknown { .. } => return Err(Refusal::ContentMoved),
        DiffCheck::Skipped | DiffCheck::Applies { .. } => {}
    }
    // Votes on the old content no longer count, so their seats are freed. So are the seats of reviewers that are reading
    // the old content: their claims would let them approve the new one unseen. The seat of the counter-patch is reserved
    // for the reviewer that offered it.
    let looks_again = |seat: &&Seat| {
        let is_reading = || seat.claim.as_ref().is_some_and(|claim| !is_same_identity(&claim.by, &patch.by));
        review.status == Status::ChangesRequested || seat.vote.is_some() || is_reading()
    };
    let freed = review.seats.iter().filter(looks_again).map(|seat| {
        let requeued = requeue(seat, lease_ends);
        if seat.persona == offering.persona {
            let offerer = Reservation { reviewer: patch.by.clone(), until: lease_ends };
            return RequeuedSeat { reservation: requeued.reservation.or(Some(offerer)), ..requeued };
        }
        RequeuedSeat { reservation: None, ..requeued }
    });
    let freed = freed.collect();
    let by = or_proposer(review, accept.by);
    let accepted = Event::CounterPatchAccepted {
        by,
        persona: offering.persona.clone(),
        patch: patch.id,
        content_hash: patched.content_hash,
        diff: patched.diff,
        requeued: requeued(review, freed),
        anchors: findings::reanchor(review, &patched.anchors),
        required: patched.required,
    };
    Ok((vec![accepted], Reply::Done))
}

pub(super) fn reject(review: &Review, by: Option<String>, persona: Option<&str>) -> Decided {
    if review.status.has_ended() {
        return Err(wrong_status(review, CommandKind::RejectCounterPatch));
    }
    if was_decided(review, persona, PatchStatus::Rejected) {
        return Ok((Vec::new(), Reply::Done));
    }
    let (seat, patch) = pending(review, persona)?;
    let persona = seat.persona.clone();
    let rejected = Event::CounterPatchRejected { by: or_proposer(review, by), persona, patch: patch.id };
    Ok((vec![rejected], Reply::Done))
}

/// Nothing is pending, and the last answer was this one: the call repeats it after a lost response.
fn was_decided(review: &Review, persona: Option<&str>, status: PatchStatus) -> bool {
    let patches = || wanted(review, persona).filter_map(|seat| seat.patch.as_ref());
    !review.status.has_ended()
        && patches().all(|patch| patch.status != PatchStatus::Pending)
        && patches().any(|patch| patch.status == status)
}

fn admit<'a>(review: &'a Review, persona: Option<&str>) -> Result<(&'a Seat, &'a CounterPatch), Refusal> {
    match review.status {
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested => pending(review, persona),
        Status::Approved | Status::Rejected | Status::Cancelled | Status::Closed => {
            Err(wrong_status(review, CommandKind::AcceptCounterPatch))
        }
    }
}

fn wanted<'a>(review: &'a Review, persona: Option<&str>) -> impl Iterator<Item = &'a Seat> {
    review.seats.iter().filter(move |seat| persona.is_none_or(|persona| persona == seat.persona))
}

fn pending<'a>(review: &'a Review, persona: Option<&str>) -> Result<(&'a Seat, &'a CounterPatch), Refusal> {
    if let Some(persona) = persona {
        seat_of_persona(review, persona)?;
    }
    let mut found = wanted(review, persona).filter_map(|seat| Some((seat, seat.pending_patch()?)));
    match (found.next(), found.next()) {
        (None, _) => Err(Refusal::NoPendingCounterPatch { number: review.number }),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let offers = review.seats.iter().filter(|seat| seat.pending_patch().is_some());
            let offers: Vec<_> = offers.map(|seat| &*seat.persona).collect();
            Err(Refusal::PersonaNeeded { number: review.number, seats: offers.join(", ") })
        }
    }
}
