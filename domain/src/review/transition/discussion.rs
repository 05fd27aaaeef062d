//! Rules of the discussion: on each seat proposer and reviewer take turns.

use super::{
    super::AddMessage, CommandKind, Decided, Event, Refusal, Reply, Review, Role, Seat, Status, is_discussed,
    proposer_only, seat_names, seat_of_persona, wrong_status,
};
use crate::{
    content::digest,
    review::{Requeued, Reservation},
    time::Tick,
};

pub(super) fn add(review: &Review, message: AddMessage, lease_ends: Tick) -> Decided {
    let addressed = addressed_seat(review, &message);
    if let Ok((seat, addressed)) = &addressed
        && let Some(id) = repeated_message(review, addressed, &message)
    {
        return Ok((Vec::new(), Reply::MessageAdded { seat: *seat, id }));
    }
    if !is_discussed(review) {
        return Err(wrong_status(review, CommandKind::Message));
    }
    let (index, seat) = addressed?;
    let by = match message.role {
        Role::Proposer => {
            proposer_only(review, message.by.as_deref(), CommandKind::Message)?;
            message.by.clone().unwrap_or_else(|| review.proposer.identity().into())
        }
        Role::Reviewer => holder(review, seat, message.by.as_deref())?.into(),
    };
    let digest = message_digest(&message, &by);
    let asks_back = message.role == Role::Proposer && review.status == Status::ChangesRequested;
    // A request for changes was the reviewer's turn, even without a message.
    if let Some(last) = seat.last_message.as_ref().filter(|last| last.role == message.role && !asks_back) {
        return Err(Refusal::OutOfTurn { role: last.role });
    }
    let requeued = asks_back.then(|| Requeued {
        reservation: seat.claim.as_ref().map(|claim| Reservation { reviewer: claim.by.clone(), until: lease_ends }),
        generation: review.claim_generation + 1,
    });
    let is_working = review.status.is_open() && message.role == Role::Reviewer && seat.vote.is_none();
    let added = Event::MessageAdded {
        persona: seat.persona.clone(),
        role: message.role,
        by,
        round: review.round.number,
        body: message.body,
        metadata: message.metadata,
        digest,
        lease_ends: is_working.then_some(lease_ends),
        requeued,
    };
    Ok((vec![added], Reply::MessageAdded { seat: index, id: review.version + 1 }))
}

/// The id of the sender's last message in this round, if `message` repeats it after a lost response. The other side may
/// have answered since, and the status may have changed.
fn repeated_message(review: &Review, seat: &Seat, message: &AddMessage) -> Option<u64> {
    let by = message.by.as_deref().or_else(|| match message.role {
        Role::Proposer => Some(review.proposer.identity()),
        Role::Reviewer => seat.claim.as_ref().map(|claim| claim.by.as_str()),
    })?;
    let last = seat.last_message.as_ref().filter(|last| last.round == review.round.number)?;
    let (id, digest) = last.last_of(message.role)?;
    (digest == message_digest(message, by)).then_some(id)
}

fn addressed_seat<'a>(review: &'a Review, message: &AddMessage) -> Result<(usize, &'a Seat), Refusal> {
    let own = || {
        let mut seats = review.seats.iter().enumerate();
        seats.find(|(_, seat)| message.by.as_deref().is_some_and(|by| seat.is_held_by(by)))
    };
    match (&message.persona, review.seats.as_slice()) {
        (Some(persona), _) => seat_of_persona(review, persona),
        (None, [only]) => Ok((0, only)),
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

fn message_digest(message: &AddMessage, by: &str) -> String {
    let metadata = message.metadata.as_ref().map(ToString::to_string).unwrap_or_default();
    digest(&[message.role.as_str(), by, &message.body, &metadata])
}
