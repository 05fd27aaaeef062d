//! Decides what a command does to a review. [`transition`] is the only way a review changes: it turns a command into
//! events and a reply, and [`apply()`] turns each event into the next state.

mod apply;
mod claims;
mod counter_patches;
mod discussion;
mod findings;
mod proposals;
mod seats;
mod verdicts;

pub use apply::{apply, replay};
pub use proposals::distinct_personas;

use super::{
    CheckNeeded, Command, CommandKind, DiffCheck, Event, LoggedEvent, Refusal, Reply, Review, Role, Seat, Status,
};
use crate::{
    finding::FindingStatus,
    identity::is_same_identity,
    review::{Requeued, RequeuedSeat, Reservation},
    time::{Now, Tick},
};
use std::time::Duration;

/// The settings that the rules depend on.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// How long a claim lasts without activity of its holder.
    pub lease: Duration,
    /// This many answered messages of one seat in one round escalate the review.
    pub max_exchanges: u32,
}

/// The result of a command. Without events the command repeats an earlier one and changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub next: Review,
    pub events: Vec<LoggedEvent>,
    pub reply: Reply,
}

/// The events of a command, none if it is a repeat, and its reply.
type Decided = Result<(Vec<Event>, Reply), Refusal>;

/// Decides what `command` does to `review`, which is `None` until it is proposed.
///
/// Every combination that is not allowed is refused. A refusal leaves the review unchanged.
pub fn transition(review: Option<&Review>, command: Command, now: Now, rules: &Rules) -> Result<Transition, Refusal> {
    let review = match (review, command) {
        (None, Command::Propose(proposal)) => return Ok(proposals::propose(*proposal, now)),
        (None, _) => return Err(Refusal::UnknownReview),
        (Some(review), command) => (review, command),
    };
    let (review, command) = review;
    let (decided, reply) = decide(review, command, now, rules)?;
    let mut next = review.clone();
    let mut events = Vec::with_capacity(decided.len());
    for event in decided {
        let logged = LoggedEvent { at: now.at, version: next.version + 1, event };
        next = apply(next, &logged);
        events.push(logged);
    }
    Ok(Transition { next, events, reply })
}

/// Returns what git must do before [`transition`] can decide `command`. Refuses what `transition` would refuse
/// whatever git says, so that git does not run in vain.
pub fn check_needed(review: &Review, command: &Command, now: Now) -> Result<Option<CheckNeeded>, Refusal> {
    match command {
        Command::Claim(claim) => claims::check_needed(review, claim, now.tick),
        Command::GiveVerdict(verdict) => verdicts::check_needed(review, verdict),
        Command::AcceptCounterPatch(accept) => counter_patches::check_needed(review, accept),
        Command::Propose(_)
        | Command::Revise(_)
        | Command::Release(_)
        | Command::Renew { .. }
        | Command::AddSeat(_)
        | Command::ReviewerGone { .. }
        | Command::Expire
        | Command::UpdateFinding(_)
        | Command::AddMessage(_)
        | Command::RejectCounterPatch { .. }
        | Command::Cancel { .. }
        | Command::Close { .. } => Ok(None),
    }
}

fn decide(review: &Review, command: Command, now: Now, rules: &Rules) -> Decided {
    let lease_ends = now.tick.plus(rules.lease);
    match command {
        Command::Propose(proposal) => proposals::repeat(review, &proposal),
        Command::Revise(revise) => proposals::revise(review, revise),
        Command::Claim(claim) => claims::claim(review, claim, now.tick, lease_ends),
        Command::Release(release) => claims::release(review, &release),
        Command::Renew { by } => Ok((claims::renew(review, &by, now.tick, rules.lease), Reply::Done)),
        Command::AddSeat(add) => seats::add(review, add, lease_ends),
        Command::ReviewerGone { reviewer, why, detail, keep_seat } => {
            let kept_until = keep_seat.map(|time| now.tick.plus(time));
            Ok((claims::reviewer_gone(review, &reviewer, why, detail.as_deref(), kept_until), Reply::Done))
        }
        Command::Expire => Ok((claims::expire(review, now.tick), Reply::Done)),
        Command::GiveVerdict(verdict) => verdicts::give(review, verdict, now.at, lease_ends, rules.max_exchanges),
        Command::UpdateFinding(update) => findings::update(review, update, lease_ends),
        Command::AddMessage(message) => discussion::add(review, message, lease_ends, rules.max_exchanges),
        Command::AcceptCounterPatch(accept) => counter_patches::accept(review, accept, lease_ends),
        Command::RejectCounterPatch { by, persona } => counter_patches::reject(review, by, persona.as_deref()),
        Command::Cancel { by, reason } => cancel(review, by, reason),
        Command::Close { by, identity, landed_as } => close(review, by, identity, landed_as),
    }
}

fn cancel(review: &Review, by: Option<String>, reason: String) -> Decided {
    match review.status {
        Status::Cancelled => Ok((Vec::new(), Reply::Done)),
        Status::Rejected | Status::Closed => Err(wrong_status(review, CommandKind::Cancel)),
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {
            let by = or_proposer(review, by);
            let detached = review.holders().map(Into::into).collect();
            let generation = review.claim_generation + 1;
            Ok((vec![Event::Cancelled { by, reason, detached, generation }], Reply::Done))
        }
    }
}

/// Only an approved content can have landed; for others `landed_as` is not recorded.
fn close(review: &Review, by: Role, identity: Option<String>, landed_as: Option<String>) -> Decided {
    if by != Role::Proposer {
        return Err(Refusal::NotTheProposer { command: CommandKind::Close });
    }
    match review.status {
        Status::Closed => Ok((Vec::new(), Reply::Done)),
        Status::Approved | Status::Rejected | Status::Cancelled => {
            let open = review.findings.iter().filter(|finding| finding.status == FindingStatus::Open);
            let settled = open.map(|finding| finding.number).collect();
            let landed_as = landed_as.filter(|_| review.status == Status::Approved);
            Ok((vec![Event::Closed { by, identity: or_proposer(review, identity), settled, landed_as }], Reply::Done))
        }
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested => {
            Err(wrong_status(review, CommandKind::Close))
        }
    }
}

/// Refuses an id that is not the proposer's. A review that was submitted without a proposer id accepts any.
fn proposer_only(review: &Review, id: Option<&str>, command: CommandKind) -> Result<(), Refusal> {
    match (&review.proposer.proposer_id, id) {
        (Some(owner), Some(id)) if !is_same_identity(owner, id) => Err(Refusal::NotTheProposer { command }),
        _ => Ok(()),
    }
}

/// The given identity, or else the proposer's.
fn or_proposer(review: &Review, by: Option<String>) -> String {
    by.unwrap_or_else(|| review.proposer.identity().into())
}

fn wrong_status(review: &Review, command: CommandKind) -> Refusal {
    let possible: Vec<_> =
        CommandKind::ALL.iter().filter(|kind| is_possible(review, **kind)).map(|kind| kind.as_str()).collect();
    let possible = if possible.is_empty() { "nothing, it is final".into() } else { possible.join(", ") };
    Refusal::WrongStatus { number: review.number, status: review.status, command, possible }
}

/// Whether some caller could use this command now. Releasing a claim is always possible and never suggested.
fn is_possible(review: &Review, command: CommandKind) -> bool {
    use Status::{Approved, Cancelled, ChangesRequested, Rejected};
    let any_seat = |test: fn(&Seat) -> bool| review.seats.iter().any(test);
    let has_patch = || any_seat(|seat| seat.pending_patch().is_some());
    match command {
        CommandKind::Revise => proposals::is_revisable(review),
        CommandKind::Claim => review.status.is_open() && any_seat(Seat::is_free),
        CommandKind::Release => false,
        CommandKind::AddSeat => !review.status.has_ended() && review.seats.len() < seats::MAX_SEATS,
        CommandKind::Verdict => is_discussed(review) && any_seat(|seat| seat.claim.is_some()),
        CommandKind::UpdateIssue => !review.status.has_ended() && !review.findings.is_empty(),
        CommandKind::Message => !review.status.has_ended(),
        CommandKind::AcceptCounterPatch => {
            (review.status.is_open() || review.status == ChangesRequested) && has_patch()
        }
        CommandKind::RejectCounterPatch => (review.status.is_open() || is_discussed(review)) && has_patch(),
        CommandKind::Cancel => !review.status.has_ended(),
        CommandKind::Close => matches!(review.status, Approved | Rejected | Cancelled),
    }
}

/// A reviewer that holds a seat can write and vote.
const fn is_discussed(review: &Review) -> bool {
    matches!(review.status, Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved)
}

/// Returns a seat to the queue, reserved for the reviewer that holds it.
fn requeue(seat: &Seat, until: Tick) -> RequeuedSeat {
    let holder = seat.claim.as_ref().map(|claim| Reservation { reviewer: claim.by.clone(), until });
    RequeuedSeat { persona: seat.persona.clone(), reservation: holder }
}

/// The requeued seats of one command. They share a generation, which ends their claims.
fn requeued(review: &Review, seats: Vec<RequeuedSeat>) -> Requeued {
    let generation = review.claim_generation + u32::from(!seats.is_empty());
    Requeued { seats, generation }
}

fn seat_names(review: &Review) -> String {
    review.personas().join(", ")
}

fn seat_of_persona<'a>(review: &'a Review, persona: &str) -> Result<(usize, &'a Seat), Refusal> {
    let mut seats = review.seats.iter().enumerate();
    seats.find(|(_, seat)| seat.persona == persona).ok_or_else(|| Refusal::NoSuchSeat {
        number: review.number,
        persona: persona.into(),
        seats: seat_names(review),
    })
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
