//! Counter-patches: a reviewer offers one with a verdict, the proposer accepts or rejects it.

use super::{
    CheckNeeded, CommandKind, Decided, DiffCheck, Event, Refusal, Reply, Review, Seat, Status, findings, or_proposer,
    seat_of_persona, wrong_status,
};
use crate::{
    review::{AcceptCounterPatch, PendingPatch},
    verdict::Verdict,
};

pub(super) fn check_needed(review: &Review, accept: &AcceptCounterPatch) -> Result<CheckNeeded, Refusal> {
    let (_, patch) = admit(review, accept.persona.as_deref())?;
    Ok(CheckNeeded::PendingPatch { id: patch.id })
}

pub(super) fn accept(review: &Review, accept: AcceptCounterPatch) -> Decided {
    let (persona, patch) = admit(review, accept.persona.as_deref())?;
    let is_current = |replaces, id| replaces == review.round.content_hash && id == patch.id;
    let patched = accept.patched.filter(|patched| is_current(patched.replaces.clone(), patched.patch));
    let patched = patched.ok_or(Refusal::ContentMoved)?;
    match &patched.diff.check {
        DiffCheck::Fails { message } => return Err(Refusal::CounterPatchFails { message: message.clone() }),
        DiffCheck::Skipped if review.checks_diffs() => return Err(Refusal::ContentMoved),
        DiffCheck::Unknown { .. } => return Err(Refusal::ContentMoved),
        DiffCheck::Skipped | DiffCheck::Applies { .. } => {}
    }
    // Approvals of the old content no longer count, so their seats are freed. So are the seats of reviewers that are
    // reading the old content: their claims would let them approve the new one unseen.
    let of_old_content = |seat: &&Seat| match seat.vote {
        Some(vote) => vote == Verdict::Approved,
        None => seat.claim.as_ref().is_some_and(|claim| claim.by != patch.by),
    };
    let freed: Vec<String> = review.seats.iter().filter(of_old_content).map(|seat| seat.persona.clone()).collect();
    let generation = review.claim_generation + u32::from(!freed.is_empty());
    let by = or_proposer(review, accept.by);
    let accepted = Event::CounterPatchAccepted {
        by,
        persona,
        patch: patch.id,
        content_hash: patched.content_hash,
        diff: patched.diff,
        freed,
        generation,
        anchors: findings::reanchor(review, &patched.anchors),
    };
    Ok((vec![accepted], Reply::Done))
}

pub(super) fn reject(review: &Review, by: Option<String>, persona: Option<&str>) -> Decided {
    if review.status.has_ended() {
        return Err(wrong_status(review, CommandKind::RejectCounterPatch));
    }
    let (persona, patch) = pending(review, persona)?;
    let rejected = Event::CounterPatchRejected { by: or_proposer(review, by), persona, patch: patch.id };
    Ok((vec![rejected], Reply::Done))
}

fn admit<'a>(review: &'a Review, persona: Option<&str>) -> Result<(String, &'a PendingPatch), Refusal> {
    match review.status {
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested => pending(review, persona),
        Status::Approved | Status::Rejected | Status::Cancelled | Status::Closed => {
            Err(wrong_status(review, CommandKind::AcceptCounterPatch))
        }
    }
}

fn pending<'a>(review: &'a Review, persona: Option<&str>) -> Result<(String, &'a PendingPatch), Refusal> {
    if let Some(persona) = persona {
        seat_of_persona(review, persona)?;
    }
    let wanted = |name: &str| persona.is_none_or(|persona| persona == name);
    let mut found = review
        .seats
        .iter()
        .filter(|seat| wanted(&seat.persona))
        .filter_map(|seat| seat.patch.as_ref().map(|patch| (seat.persona.clone(), patch)));
    match (found.next(), found.next()) {
        (None, _) => Err(Refusal::NoPendingCounterPatch { number: review.number }),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let offers: Vec<_> = review.seats.iter().filter(|seat| seat.patch.is_some()).map(|s| &*s.persona).collect();
            Err(Refusal::PersonaNeeded { number: review.number, seats: offers.join(", ") })
        }
    }
}
