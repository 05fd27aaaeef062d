//! The rule for adding a required reviewer (a seat) to a running review.

use super::{
    super::AddSeat, CommandKind, Decided, Event, Refusal, Reply, Review, Status, or_proposer, proposer_only, verdicts,
    wrong_status,
};
use crate::{credential::Authority, ids::DEFAULT_PERSONA, time::Tick};

/// The most seats of a review.
pub(super) const MAX_SEATS: usize = 10;

pub(super) fn add(review: &Review, add: AddSeat, lease_ends: Tick) -> Decided {
    let AddSeat { role, by, persona } = add;
    if review.status.has_ended() {
        return Err(wrong_status(review, CommandKind::AddSeat));
    }
    let by = match role {
        Authority::Proposer => {
            proposer_only(review, by.as_deref(), CommandKind::AddSeat)?;
            or_proposer(review, by)
        }
        Authority::Operator => by.unwrap_or_else(|| Authority::Operator.as_str().into()),
        Authority::Reviewer => return Err(Refusal::NotTheProposer { command: CommandKind::AddSeat }),
    };
    let persona = if persona.is_empty() { DEFAULT_PERSONA.into() } else { persona };
    if persona.strip_prefix('@').is_some_and(|name| review.is_proposed_by(name)) {
        return Err(Refusal::OwnProposal { number: review.number, reviewer: by });
    }
    if review.seats.iter().any(|seat| seat.persona == persona) {
        return Ok((Vec::new(), Reply::Done));
    }
    if let Some(name) = persona.strip_prefix('@')
        && let Some(held) = review.seats.iter().find(|seat| seat.is_held_by(name) || seat.is_reserved_for(name))
    {
        let (reviewer, persona) = (name.to_owned(), held.persona.clone());
        return Err(Refusal::HoldsAnotherSeat { number: review.number, reviewer, persona });
    }
    if review.seats.len() >= MAX_SEATS {
        return Err(Refusal::TooManySeats { number: review.number, limit: MAX_SEATS });
    }
    let votes: Vec<_> = review.seats.iter().map(|seat| seat.vote).chain([None]).collect();
    let status = match review.status {
        Status::Approved => verdicts::status_by(review, &votes, review.blocking().next().is_some()),
        Status::Claimed => Status::InReview,
        status @ (Status::Pending
        | Status::InReview
        | Status::ChangesRequested
        | Status::Rejected
        | Status::Cancelled
        | Status::Closed) => status,
    };
    let reopens = status.is_open() && !review.status.is_open();
    let lease_ends = reopens.then_some(lease_ends);
    Ok((vec![Event::SeatAdded { persona, role, by, status, lease_ends }], Reply::Done))
}
