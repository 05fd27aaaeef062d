//! Rules for messages in the discussion: on each seat proposer and reviewer take turns. An operator can write at any
//! time.

use super::{
    super::AddMessage, CommandKind, Decided, Event, Refusal, Reply, Review, Seat, Status, or_proposer, proposer_only,
    requeue, requeued, seat_names, seat_of_persona, wrong_status,
};
use crate::identity::is_same_identity;
use crate::{
    consensus::Escalation,
    content::digest,
    credential::Authority,
    review::{Recipient, Role},
    time::Tick,
};

pub(super) fn add(review: &Review, message: AddMessage, lease_ends: Tick, max_exchanges: u32) -> Decided {
    if message.role == Authority::Operator {
        return add_as_operator(review, message);
    }
    let role = if message.role == Authority::Proposer { Role::Proposer } else { Role::Reviewer };
    let addressed = addressed_seats(review, &message);
    if let Ok(seats) = &addressed
        && let Some((seat, id)) = repeated_message(review, seats, &message, role)
    {
        return Ok((Vec::new(), Reply::MessageAdded { seat, id }));
    }
    if review.status.has_ended() {
        return Err(wrong_status(review, CommandKind::Message));
    }
    let seats = addressed?;
    let by = match (role, seats.as_slice()) {
        (Role::Reviewer, [(_, seat), ..]) => holder(review, seat, message.by.as_deref())?.into(),
        (Role::Proposer, _) | (Role::Reviewer, []) => {
            proposer_only(review, message.by.as_deref(), CommandKind::Message)?;
            or_proposer(review, message.by.clone())
        }
    };
    if seats.iter().all(|(_, seat)| is_out_of_turn(review, seat, role)) {
        return Err(Refusal::OutOfTurn { role: message.role });
    }
    let asks_back = role == Role::Proposer && review.status == Status::ChangesRequested;
    let requeued =
        asks_back.then(|| requeued(review, seats.iter().map(|(_, seat)| requeue(seat, lease_ends)).collect()));
    let is_working = review.status.is_open() && role == Role::Reviewer && seats.iter().all(|(_, s)| s.vote.is_none());
    let exceeds = |seat: &Seat| answers(review, seat, role) && seat.exchanges + 1 >= max_exchanges;
    let escalation = match message.gives_up {
        true => Some(Escalation::CouldNotReview),
        false => seats.iter().any(|(_, seat)| exceeds(seat)).then_some(Escalation::Exchanges),
    };
    let only = match seats.as_slice() {
        [(index, seat)] if message.to.is_none() => Some((*index, seat.persona.clone())),
        _ => None,
    };
    let added = Event::MessageAdded {
        to: only.is_none().then_some(Recipient::Reviewers),
        persona: only.as_ref().map(|(_, persona)| persona.clone()),
        role: message.role,
        round: review.round.number,
        digest: message_digest(review, &message, &by),
        by,
        body: message.body,
        anchor: message.anchor,
        metadata: message.metadata,
        lease_ends: is_working.then_some(lease_ends),
        requeued,
        escalation,
    };
    Ok((vec![added], Reply::MessageAdded { seat: only.map(|(index, _)| index), id: review.version + 1 }))
}

/// An operator holds no seat. Its message wakes those it addresses and changes no turn between the two sides.
fn add_as_operator(review: &Review, message: AddMessage) -> Decided {
    let by = message.by.clone().unwrap_or_else(|| Authority::Operator.as_str().into());
    let digest = message_digest(review, &message, &by);
    // While the review waits for an operator, the same words are an answer each time.
    if review.messages.last_digest.as_ref() == Some(&digest) && review.escalation().is_none() {
        let id = review.messages.last_id.unwrap_or_default();
        return Ok((Vec::new(), Reply::MessageAdded { seat: None, id }));
    }
    if review.is_final() {
        return Err(wrong_status(review, CommandKind::Message));
    }
    let seat = message.persona.as_deref().map(|persona| seat_of_persona(review, persona)).transpose()?;
    let to = seat.is_none().then(|| message.to.unwrap_or(Recipient::Everyone));
    let added = Event::MessageAdded {
        to,
        persona: seat.map(|(_, seat)| seat.persona.clone()),
        role: message.role,
        by,
        round: review.round.number,
        body: message.body,
        anchor: message.anchor,
        metadata: message.metadata,
        digest,
        lease_ends: None,
        requeued: None,
        escalation: None,
    };
    Ok((vec![added], Reply::MessageAdded { seat: seat.map(|(index, _)| index), id: review.version + 1 }))
}

/// The sender wrote last in this round, and the other side, which is there, has not responded. A party that is asked
/// can always write, for example to an operator.
fn is_out_of_turn(review: &Review, seat: &Seat, role: Role) -> bool {
    let is_asked = match role {
        Role::Proposer => review.asked_proposer.is_some() || seat.asked_proposer.is_some(),
        Role::Reviewer => seat.asked_reviewer.is_some(),
    };
    let last = seat.last_message.as_ref().filter(|last| last.round == review.round.number && !last.responded);
    // After a request for changes every question of the proposer returns the seat to the queue.
    let can_insist = role == Role::Proposer && (seat.claim.is_none() || review.status == Status::ChangesRequested);
    last.is_some_and(|last| last.role == role) && !can_insist && !is_asked
}

/// Whether a message of `role` answers one of the other side.
pub(super) fn answers(review: &Review, seat: &Seat, role: Role) -> bool {
    let last = seat.last_message.as_ref().filter(|last| last.round == review.round.number && !last.responded);
    last.is_some_and(|last| last.role != role)
}

/// The seat and the id of the sender's last message in this round, if `message` repeats it after a lost response. The
/// other side may have answered since, and the status may have changed.
fn repeated_message(
    review: &Review,
    seats: &[(usize, &Seat)],
    message: &AddMessage,
    role: Role,
) -> Option<(Option<usize>, u64)> {
    let (index, seat) = seats.first()?;
    let by = message.by.as_deref().or_else(|| match role {
        Role::Proposer => Some(review.proposer.identity()),
        Role::Reviewer => seat.claim.as_ref().map(|claim| claim.by.as_str()),
    })?;
    let digest = message_digest(review, message, by);
    let last = |seat: &Seat| {
        let last = seat.last_message.as_ref().filter(|last| last.round == review.round.number)?;
        last.last_of(role).filter(|(_, last)| *last == digest).map(|(id, _)| id)
    };
    let id = last(seat)?;
    let is_known = seats.iter().all(|(_, seat)| last(seat) == Some(id));
    let is_one_seat = seats.len() == 1 && message.to.is_none();
    is_known.then_some((is_one_seat.then_some(*index), id))
}

fn addressed_seats<'a>(review: &'a Review, message: &AddMessage) -> Result<Vec<(usize, &'a Seat)>, Refusal> {
    let seats = || review.seats.iter().enumerate();
    // An operator asked the proposer about the whole review, so the answer is for all seats.
    let answers_operator = || {
        let all: Vec<_> = seats().collect();
        review.asked_proposer.is_some() || repeated_message(review, &all, message, Role::Proposer).is_some()
    };
    let own = || seats().find(|(_, seat)| message.by.as_deref().is_some_and(|by| seat.is_held_by(by)));
    match (&message.persona, review.seats.as_slice()) {
        (Some(persona), _) => Ok(vec![seat_of_persona(review, persona)?]),
        (None, _) if message.to.is_some() && message.role == Authority::Proposer => Ok(seats().collect()),
        (None, [only]) => Ok(vec![(0, only)]),
        (None, _) if message.role == Authority::Proposer && answers_operator() => Ok(seats().collect()),
        (None, _) => {
            let own = own().map(|own| vec![own]);
            own.ok_or_else(|| Refusal::PersonaNeeded { number: review.number, seats: seat_names(review) })
        }
    }
}

fn holder<'a>(review: &Review, seat: &'a Seat, id: Option<&str>) -> Result<&'a str, Refusal> {
    match (&seat.claim, id) {
        (None, _) => Err(Refusal::NotClaimed { number: review.number }),
        (Some(claim), Some(id)) if !is_same_identity(&claim.by, id) => {
            Err(Refusal::NotYourSeat { reviewer: id.into(), holder: claim.by.clone() })
        }
        (Some(claim), _) => Ok(&claim.by),
    }
}

fn message_digest(review: &Review, message: &AddMessage, by: &str) -> String {
    let json = |value: Option<String>| value.unwrap_or_default();
    let metadata = json(message.metadata.as_ref().map(ToString::to_string));
    let anchor = json(message.anchor.as_ref().and_then(|anchor| serde_json::to_string(anchor).ok()));
    let to = message.to.map_or("", |to| to.as_str());
    // A single seat need not be named.
    let persona = message.persona.as_deref().filter(|_| review.seats.len() > 1 && message.role == Authority::Operator);
    let round = review.round.number.to_string();
    let texts = [message.role.as_str(), by, &message.body, &metadata, &anchor, to, persona.unwrap_or_default(), &round];
    digest(&texts)
}
