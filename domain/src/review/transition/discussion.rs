//! Messages: strict turns, per seat.

use super::{
    AddMessage, CommandKind, Event, Refusal, Review, Role, Seat, Status, proposer_only, seat_names, seat_of,
    wrong_status,
};
use crate::{
    content::digest,
    review::{Requeued, Reservation},
    time::Tick,
};

pub(super) fn decide(review: &Review, message: AddMessage, lease_ends: Tick) -> Result<Vec<Event>, Refusal> {
    let seat = addressed_seat(review, &message);
    if seat.as_ref().is_ok_and(|seat| is_repeat(review, seat, &message)) {
        return Ok(Vec::new());
    }
    match review.status {
        Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {}
        Status::Pending | Status::Rejected | Status::Cancelled | Status::Closed => {
            return Err(wrong_status(review, CommandKind::Message));
        }
    }
    let seat = seat?;
    let by = match message.role {
        Role::Proposer => {
            proposer_only(review, message.by.as_deref(), CommandKind::Message)?;
            message.by.clone().unwrap_or_else(|| review.proposer.identity().into())
        }
        Role::Reviewer => holder(review, seat, message.by.as_deref())?.into(),
    };
    let digest = digest_of(&message, &by);
    let asks_back = message.role == Role::Proposer && review.status == Status::ChangesRequested;
    // A request for changes was the reviewer's turn, also where it came without a message.
    if let Some(last) = seat.last_message.as_ref().filter(|last| last.role == message.role && !asks_back) {
        return Err(Refusal::OutOfTurn { role: last.role });
    }
    let requeued = asks_back.then(|| Requeued {
        reservation: seat.claim.as_ref().map(|claim| Reservation { reviewer: claim.by.clone(), until: lease_ends }),
        generation: review.claim_generation + 1,
    });
    let working = review.status.is_open() && message.role == Role::Reviewer && seat.vote.is_none();
    Ok(vec![Event::MessageAdded {
        persona: seat.persona.clone(),
        role: message.role,
        by: Some(by),
        round: review.round.number,
        body: message.body,
        metadata: message.metadata,
        digest,
        lease_ends: working.then_some(lease_ends),
        requeued,
    }])
}

/// The side's last words of this round once more: a repeat after a lost answer, whatever has happened
/// since. The other side may have answered them, or the status may have moved on.
fn is_repeat(review: &Review, seat: &Seat, message: &AddMessage) -> bool {
    let by = message.by.as_deref().or_else(|| match message.role {
        Role::Proposer => Some(review.proposer.identity()),
        Role::Reviewer => seat.claim.as_ref().map(|claim| claim.by.as_str()),
    });
    let last = seat.last_message.as_ref().filter(|last| last.round == review.round.number);
    match (by, last.and_then(|last| last.said_by(message.role))) {
        (Some(by), Some((_, digest))) => digest == digest_of(message, by),
        _ => false,
    }
}

pub(super) fn addressed_seat<'a>(review: &'a Review, message: &AddMessage) -> Result<&'a Seat, Refusal> {
    let own = || review.seats.iter().find(|seat| message.by.as_deref().is_some_and(|by| seat.is_held_by(by)));
    match (&message.persona, review.seats.as_slice()) {
        (Some(persona), _) => seat_of(review, persona),
        (None, [only]) => Ok(only),
        (None, _) => own().ok_or_else(|| Refusal::PersonaNeeded { number: review.number, seats: seat_names(review) }),
    }
}

fn holder<'a>(review: &Review, seat: &'a Seat, id: Option<&str>) -> Result<&'a str, Refusal> {
    match (&seat.claim, id) {
        (None, _) => Err(Refusal::NotClaimed { number: review.number }),
        (Some(claim), Some(id)) if claim.by != id => {
            Err(Refusal::NotYourSeat { reviewer: id.into(), holder: claim.by.clone() })
        }
        (Some(claim), _) => Ok(&claim.by),
    }
}

fn digest_of(message: &AddMessage, by: &str) -> String {
    let metadata = message.metadata.as_ref().map(ToString::to_string).unwrap_or_default();
    digest(&[message.role.as_str(), by, &message.body, &metadata])
}
