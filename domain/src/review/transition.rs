//! Decides what a command does to a review. [`transition`] is the only way a review changes: it
//! says what happened, [`apply`] says what that means.

mod apply;
mod claims;
mod counter_patches;
mod discussion;
mod findings;
mod verdicts;

pub use apply::{apply, replay};
pub use findings::followed;

use super::{
    AddMessage, Check, CheckNeeded, Command, CommandKind, DiffCheck, DiffFacts, Event, GiveVerdict, LoggedEvent,
    Proposal, Proposed, Refusal, ReleaseSeat, Review, Revise, Role, Round, Seat, Status,
};
use crate::{ids::DEFAULT_PERSONA, time::Now};
use std::time::Duration;

/// The settings a rule depends on.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// How long a claim lasts without a word from its holder.
    pub lease: Duration,
}

/// What a command did. No events: it had been done before, and repeating it is no mistake.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub next: Review,
    pub events: Vec<LoggedEvent>,
}

/// A first submission.
pub fn propose(proposal: Proposal, now: Now) -> Transition {
    let priority = proposal.priority();
    let Proposal { id, number, proposer, category, intent, content_hash, .. } = proposal;
    let Proposal { diff, personas, policy, request_key, target, .. } = proposal;
    let proposed = Proposed {
        id,
        number,
        proposer,
        category,
        priority,
        round: Round { number: 1, content_hash, intent, diff, request_key, target },
        personas: seats_for(personas),
        policy,
    };
    let next = apply::begin(&proposed, now.at, 1);
    Transition { next, events: vec![LoggedEvent { at: now.at, version: 1, event: Event::Proposed(proposed) }] }
}

/// The seats that these personas ask for: one each, whatever was asked for twice, and at least one: a seat is known by its
/// persona, and a review without any could never be claimed.
pub fn seats_for(personas: Vec<String>) -> Vec<String> {
    let mut seats: Vec<String> = Vec::with_capacity(personas.len().max(1));
    for persona in personas {
        if !seats.contains(&persona) {
            seats.push(persona);
        }
    }
    if seats.is_empty() {
        seats.push(DEFAULT_PERSONA.into());
    }
    seats
}

/// Decides what `command` does to `review`.
///
/// Every pair not allowed is refused, and a refusal leaves the review untouched.
pub fn transition(review: &Review, command: Command, now: Now, rules: &Rules) -> Result<Transition, Refusal> {
    let happened = decide(review, command, now, rules)?;
    let mut next = review.clone();
    let mut events = Vec::with_capacity(happened.len());
    for event in happened {
        let recorded = LoggedEvent { at: now.at, version: next.version + 1, event };
        next = apply(next, &recorded);
        events.push(recorded);
    }
    Ok(Transition { next, events })
}

/// What git must be asked before [`transition`] can decide `command`; refuses early what would be
/// refused anyway, so that git never runs for nothing.
pub fn check_needed(review: &Review, command: &Command, now: Now) -> Result<Option<CheckNeeded>, Refusal> {
    match command {
        Command::Claim(claim) => claims::check_needed(review, claim, now.tick),
        Command::GiveVerdict(verdict) => verdicts::check_needed(review, verdict),
        Command::AcceptCounterPatch(accept) => counter_patches::check_needed(review, accept),
        Command::Revise(_)
        | Command::Release(_)
        | Command::ReviewerGone { .. }
        | Command::Expire
        | Command::UpdateFinding(_)
        | Command::AddMessage(_)
        | Command::RejectCounterPatch { .. }
        | Command::Cancel { .. }
        | Command::Close { .. } => Ok(None),
    }
}

/// Whose seat `command` would speak for without giving a name. To the rules that is the holder speaking;
/// whether anybody else may is not theirs to say.
pub fn spoken_for<'a>(review: &'a Review, command: &Command) -> Option<&'a str> {
    let seat = match command {
        Command::GiveVerdict(GiveVerdict { by: None, generation, .. }) => {
            verdicts::fenced_seat(review, None, *generation, CommandKind::Verdict).ok()?.0
        }
        Command::Release(ReleaseSeat { by: None, generation, .. }) => {
            verdicts::fenced_seat(review, None, *generation, CommandKind::Release).ok()?.0
        }
        Command::AddMessage(message @ AddMessage { by: None, role: Role::Reviewer, .. }) => {
            discussion::addressed_seat(review, message).ok()?
        }
        Command::GiveVerdict(_)
        | Command::Release(_)
        | Command::UpdateFinding(_)
        | Command::AddMessage(_)
        | Command::Revise(_)
        | Command::Claim(_)
        | Command::ReviewerGone { .. }
        | Command::Expire
        | Command::AcceptCounterPatch(_)
        | Command::RejectCounterPatch { .. }
        | Command::Cancel { .. }
        | Command::Close { .. } => return None,
    };
    seat.claim.as_ref().map(|claim| claim.by.as_str())
}

fn decide(review: &Review, command: Command, now: Now, rules: &Rules) -> Result<Vec<Event>, Refusal> {
    let lease_ends = now.tick.plus(rules.lease);
    match command {
        Command::Revise(revise) => decide_revise(review, revise),
        Command::Claim(claim) => claims::decide(review, claim, now.tick, lease_ends),
        Command::Release(release) => claims::release(review, release),
        Command::ReviewerGone { reviewer, why, detail } => Ok(claims::gone(review, &reviewer, why, detail.as_deref())),
        Command::Expire => Ok(claims::expire(review, now.tick)),
        Command::GiveVerdict(verdict) => verdicts::decide(review, verdict, now.at, lease_ends),
        Command::UpdateFinding(update) => findings::update(review, update, lease_ends),
        Command::AddMessage(message) => discussion::decide(review, message, lease_ends),
        Command::AcceptCounterPatch(accept) => counter_patches::accept(review, accept),
        Command::RejectCounterPatch { by, persona } => counter_patches::reject(review, by, persona.as_deref()),
        Command::Cancel { by, reason } => decide_cancel(review, by, reason),
        Command::Close { by, identity } => decide_close(review, by, identity),
    }
}

fn decide_revise(review: &Review, revise: Revise) -> Result<Vec<Event>, Refusal> {
    if revise.request_key.is_some() && revise.request_key == review.round.request_key {
        let same = revise.content_hash == review.round.content_hash;
        return if same { Ok(Vec::new()) } else { Err(Refusal::KeyReused { number: review.number }) };
    }
    if !is_revisable(review) {
        return Err(wrong_status(review, CommandKind::Revise));
    }
    // The same content once more, without a key to tell by: a repeat after a lost answer.
    let skips = |diff: Option<&DiffFacts>| diff.map(|diff| diff.check == DiffCheck::Skipped);
    let same_check = skips(revise.diff.as_ref()) == skips(review.round.diff.as_ref());
    if review.status == Status::Pending && revise.content_hash == review.round.content_hash && same_check {
        return Ok(Vec::new());
    }
    proposer_only(review, revise.proposer_id.as_deref(), CommandKind::Revise)?;
    let by = or_proposer(review, revise.proposer_id);
    if revise.completes != review.round.content_hash {
        return Err(Refusal::ContentMoved);
    }
    let round = Round {
        number: review.round.number + 1,
        content_hash: revise.content_hash,
        intent: revise.intent,
        diff: revise.diff,
        request_key: revise.request_key,
        target: revise.target,
    };
    let anchors = findings::follow(review, &revise.anchors);
    Ok(vec![Event::Revised { by, round, generation: review.claim_generation + 1, anchors }])
}

fn decide_cancel(review: &Review, by: Option<String>, reason: String) -> Result<Vec<Event>, Refusal> {
    match review.status {
        Status::Cancelled => Ok(Vec::new()),
        Status::Rejected | Status::Closed => Err(wrong_status(review, CommandKind::Cancel)),
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {
            let by = or_proposer(review, by);
            let detached = review.holders().map(Into::into).collect();
            Ok(vec![Event::Cancelled { by, reason, detached, generation: review.claim_generation + 1 }])
        }
    }
}

fn decide_close(review: &Review, by: Role, identity: Option<String>) -> Result<Vec<Event>, Refusal> {
    if by != Role::Proposer {
        return Err(Refusal::NotTheProposer { asked: CommandKind::Close });
    }
    match review.status {
        Status::Closed => Ok(Vec::new()),
        Status::Approved | Status::Rejected | Status::Cancelled => {
            Ok(vec![Event::Closed { by, identity: or_proposer(review, identity) }])
        }
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested => {
            Err(wrong_status(review, CommandKind::Close))
        }
    }
}

/// Refuses an id that is not the proposer's. Where none was given at submission, any caller is
/// taken at its word.
fn proposer_only(review: &Review, id: Option<&str>, asked: CommandKind) -> Result<(), Refusal> {
    match (&review.proposer.proposer_id, id) {
        (Some(owner), Some(id)) if owner != id => Err(Refusal::NotTheProposer { asked }),
        _ => Ok(()),
    }
}

/// Who does what only the proposer does: whoever the caller says it is, or else the proposer.
fn or_proposer(review: &Review, by: Option<String>) -> Option<String> {
    by.or_else(|| Some(review.proposer.identity().into()))
}

fn wrong_status(review: &Review, asked: CommandKind) -> Refusal {
    let possible = possible_now(review);
    let possible = if possible.is_empty() { "nothing, it is final".into() } else { possible.join(", ") };
    Refusal::WrongStatus { number: review.number, status: review.status, asked, possible }
}

/// What would be taken now, in the words of [`CommandKind`].
fn possible_now(review: &Review) -> Vec<&'static str> {
    CommandKind::ALL.iter().filter(|asked| is_possible(review, **asked)).map(|asked| asked.as_str()).collect()
}

/// Whether somebody could ask for this with success. Giving up is always possible, so it is never advice.
fn is_possible(review: &Review, asked: CommandKind) -> bool {
    use Status::{Approved, Cancelled, ChangesRequested, Claimed, InReview, Pending, Rejected};
    let any_seat = |test: fn(&Seat) -> bool| review.seats.iter().any(test);
    let offered = || any_seat(|seat| seat.patch.is_some());
    match asked {
        CommandKind::Revise => is_revisable(review),
        CommandKind::Claim => review.status.is_open() && any_seat(Seat::is_free),
        CommandKind::Release => false,
        CommandKind::Verdict => is_discussed(review) && any_seat(|seat| seat.claim.is_some()),
        CommandKind::UpdateIssue => {
            !matches!(review.status, Rejected | Cancelled | Status::Closed) && has_findings(review)
        }
        CommandKind::Message => is_discussed(review),
        CommandKind::AcceptCounterPatch => (review.status.is_open() || review.status == ChangesRequested) && offered(),
        CommandKind::RejectCounterPatch => (review.status.is_open() || is_discussed(review)) && offered(),
        CommandKind::Cancel => matches!(review.status, Pending | Claimed | InReview | ChangesRequested | Approved),
        CommandKind::Close => matches!(review.status, Approved | Rejected | Cancelled),
    }
}

fn has_findings(review: &Review) -> bool {
    !review.findings.is_empty()
}

/// Changes were asked for, and nobody is reading what they were asked for.
fn is_revisable(review: &Review) -> bool {
    review.status == Status::ChangesRequested || (review.status == Status::Pending && review.returned)
}

/// Both sides can speak, and a reviewer that holds a seat can vote.
const fn is_discussed(review: &Review) -> bool {
    matches!(review.status, Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved)
}

fn seat_names(review: &Review) -> String {
    review.personas().join(", ")
}

fn seat_of<'a>(review: &'a Review, persona: &str) -> Result<&'a Seat, Refusal> {
    review.seats.iter().find(|seat| seat.persona == persona).ok_or_else(|| Refusal::NoSuchSeat {
        number: review.number,
        persona: persona.into(),
        seats: seat_names(review),
    })
}

/// Whether diffs of this review are looked at by git at all.
fn diff_is_checked(review: &Review) -> bool {
    !matches!(review.round.diff.as_ref().map(|diff| &diff.check), Some(DiffCheck::Skipped))
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
