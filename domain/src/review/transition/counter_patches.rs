//! Counter-patches: offered with a verdict, answered by the proposer.

use super::{
    Check, CheckNeeded, CommandKind, Event, Refusal, Review, Seat, Status, diff_is_checked, findings, or_proposer,
    seat_of, wrong_status,
};
use crate::{
    review::{AcceptCounterPatch, PendingPatch},
    verdict::Verdict,
};

pub(super) fn check_needed(review: &Review, accept: &AcceptCounterPatch) -> Result<Option<CheckNeeded>, Refusal> {
    let (_, patch) = admit(review, accept.persona.as_deref())?;
    let id = patch.id;
    Ok(diff_is_checked(review).then_some(CheckNeeded::PendingPatch { id }))
}

pub(super) fn accept(review: &Review, accept: AcceptCounterPatch) -> Result<Vec<Event>, Refusal> {
    let (persona, patch) = admit(review, accept.persona.as_deref())?;
    let looked_at =
        accept.checked.as_ref().is_some_and(|(id, hash)| *id == patch.id && *hash == review.round.content_hash);
    match accept.check {
        _ if !looked_at => return Err(Refusal::ContentMoved),
        Check::Fails { words } => return Err(Refusal::PatchFails { words }),
        Check::NotNeeded if diff_is_checked(review) => return Err(Refusal::ContentMoved),
        Check::NotNeeded | Check::Applies { .. } => {}
    }
    let (Some(content_hash), Some(diff)) = (accept.content_hash, accept.diff) else {
        return Err(Refusal::ContentMoved);
    };
    // An approval was for the old content, so it no longer stands and its seat is free again. So is
    // the seat of a reviewer who reads the old content: its claim would let it sign the new one unseen.
    let of_old_content = |seat: &&Seat| match seat.vote {
        Some(vote) => vote == Verdict::Approved,
        None => seat.claim.as_ref().is_some_and(|claim| claim.by != patch.by),
    };
    let freed: Vec<String> = review.seats.iter().filter(of_old_content).map(|seat| seat.persona.clone()).collect();
    let generation = review.claim_generation + u32::from(!freed.is_empty());
    let by = or_proposer(review, accept.by);
    let (patch, anchors) = (patch.id, findings::follow(review, &accept.anchors));
    Ok(vec![Event::CounterPatchAccepted { by, persona, patch, content_hash, diff, freed, generation, anchors }])
}

pub(super) fn reject(review: &Review, by: Option<String>, persona: Option<&str>) -> Result<Vec<Event>, Refusal> {
    match review.status {
        Status::Rejected | Status::Cancelled | Status::Closed => {
            return Err(wrong_status(review, CommandKind::RejectCounterPatch));
        }
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {}
    }
    let (persona, patch) = pending(review, persona)?;
    Ok(vec![Event::CounterPatchRejected { by: or_proposer(review, by), persona, patch: patch.id }])
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
        seat_of(review, persona)?;
    }
    let wanted = |name: &str| persona.is_none_or(|persona| persona == name);
    let mut found = review
        .seats
        .iter()
        .filter(|seat| wanted(&seat.persona))
        .filter_map(|seat| seat.patch.as_ref().map(|patch| (seat.persona.clone(), patch)));
    match (found.next(), found.next()) {
        (None, _) => Err(Refusal::NoPendingPatch { number: review.number }),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let offers: Vec<_> = review.seats.iter().filter(|seat| seat.patch.is_some()).map(|s| &*s.persona).collect();
            Err(Refusal::PersonaNeeded { number: review.number, seats: offers.join(", ") })
        }
    }
}
