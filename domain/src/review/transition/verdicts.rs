//! Votes and comments, and the fence in front of them.

use super::{
    Check, CheckNeeded, CommandKind, Event, Refusal, Review, Seat, Status, diff_is_checked, findings, wrong_status,
};
use crate::{
    consensus::{Escalation, Outcome},
    content::digest,
    review::{FindingRaised, FindingResolved, GiveVerdict},
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};

pub(super) fn check_needed(review: &Review, verdict: &GiveVerdict) -> Result<Option<CheckNeeded>, Refusal> {
    let (seat, generation) = fenced_seat(review, verdict.by.as_deref(), verdict.generation, CommandKind::Verdict)?;
    if is_repeat(seat, generation, &digest_of(verdict)) {
        return Ok(None);
    }
    admit(review, verdict)?;
    Ok((verdict.patch.is_some() && diff_is_checked(review)).then_some(CheckNeeded::OfferedPatch))
}

pub(super) fn decide(
    review: &Review,
    verdict: GiveVerdict,
    at: Timestamp,
    lease_ends: Tick,
) -> Result<Vec<Event>, Refusal> {
    let (seat, generation) = fenced_seat(review, verdict.by.as_deref(), verdict.generation, CommandKind::Verdict)?;
    let digest = digest_of(&verdict);
    if is_repeat(seat, generation, &digest) {
        return Ok(Vec::new());
    }
    admit(review, &verdict)?;
    match verdict.patch.as_ref().map(|patch| &patch.check) {
        Some(Check::Fails { words }) => return Err(Refusal::PatchFails { words: words.clone() }),
        Some(Check::NotNeeded) if diff_is_checked(review) => return Err(Refusal::ContentMoved),
        Some(Check::NotNeeded | Check::Applies { .. }) | None => {}
    }
    let raised = findings::raise(review, seat, &verdict)?;
    let settles = findings::settled_by(review, seat, verdict.verdict, &raised);
    let status = status_with(review, seat, verdict.verdict, &raised, &settles);
    let escalate_why = escalation(review, status, verdict.metrics.as_ref(), &raised, at);
    let owes_vote = status.is_open() && !verdict.verdict.is_vote() && seat.vote.is_none();
    // A change of mind can undo a decision; those who then owe a vote again get their time anew.
    let reopens = status.is_open() && !review.status.is_open();
    let by = seat.claim.as_ref().map(|claim| claim.by.clone()).unwrap_or_default();
    Ok(vec![Event::VerdictGiven {
        persona: seat.persona.clone(),
        by,
        generation,
        verdict: verdict.verdict,
        reason: verdict.reason,
        summary: verdict.summary,
        metrics: verdict.metrics,
        content_hash: review.round.content_hash.clone(),
        round: review.round.number,
        offers_patch: verdict.patch.is_some(),
        status,
        escalate: escalate_why.is_some(),
        escalate_why,
        findings: raised,
        settles,
        reopens,
        lease_ends: (owes_vote || reopens).then_some(lease_ends),
        digest,
    }])
}

/// The seat that is spoken for. A generation names the claim; without one, only the id that holds a
/// seat may speak.
pub(super) fn fenced_seat<'a>(
    review: &'a Review,
    by: Option<&str>,
    generation: Option<u32>,
    asked: CommandKind,
) -> Result<(&'a Seat, u32), Refusal> {
    let held = |matches: &dyn Fn(&str, u32) -> bool| {
        let seat = review.seats.iter().find(|s| s.claim.as_ref().is_some_and(|c| matches(&c.by, c.generation)))?;
        Some((seat, seat.claim.as_ref()?.generation))
    };
    let by_id = by.and_then(|id| held(&|by, _| by == id));
    let found = match generation {
        Some(given) => held(&|_, generation| generation == given),
        None => by_id,
    };
    if let Some((seat, generation)) = found {
        return match (by, &seat.claim) {
            (Some(id), Some(claim)) if claim.by != id => {
                Err(Refusal::NotYourSeat { reviewer: id.into(), holder: claim.by.clone() })
            }
            _ => Ok((seat, generation)),
        };
    }
    let number = review.number;
    Err(match (generation, by) {
        _ if matches!(review.status, Status::Rejected | Status::Cancelled | Status::Closed) => {
            wrong_status(review, asked)
        }
        (_, Some(id)) if id == review.proposer.identity() => Refusal::OwnProposal { number, reviewer: id.into() },
        (Some(given), _) => {
            let current = by_id.map_or(review.claim_generation, |(_, generation)| generation);
            Refusal::StaleClaim { given, current }
        }
        (None, Some(id)) => match review.holders().next() {
            Some(holder) => Refusal::NotYourSeat { reviewer: id.into(), holder: holder.into() },
            None => Refusal::NotClaimed { number },
        },
        (None, None) => Refusal::NoFence,
    })
}

fn admit(review: &Review, verdict: &GiveVerdict) -> Result<(), Refusal> {
    match review.status {
        Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {}
        Status::Pending | Status::Rejected | Status::Cancelled | Status::Closed => {
            return Err(wrong_status(review, CommandKind::Verdict));
        }
    }
    if let Some(given) = verdict.content_hash.as_ref().filter(|given| **given != review.round.content_hash.0) {
        return Err(Refusal::StaleContent { given: given.clone(), current: review.round.content_hash.clone() });
    }
    let has_reason = verdict.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
    if verdict.verdict.needs_reason() && !has_reason {
        return Err(Refusal::ReasonNeeded { verdict: verdict.verdict });
    }
    if verdict.patch.is_some() && !verdict.verdict.may_offer_patch() {
        return Err(Refusal::PatchNotAllowed { verdict: verdict.verdict });
    }
    Ok(())
}

/// The status once `seat` has said `verdict` and raised what it found.
fn status_with(
    review: &Review,
    seat: &Seat,
    verdict: Verdict,
    raised: &[FindingRaised],
    settles: &[FindingResolved],
) -> Status {
    let blocks = blocks(review, raised, settles);
    let changes_nothing = review.status.is_open() || blocks == review.blocking().next().is_some();
    if !verdict.is_vote() && changes_nothing {
        return review.status;
    }
    let vote = verdict.is_vote().then_some(verdict);
    let voted = |other: &Seat| if other.persona == seat.persona { vote.or(other.vote) } else { other.vote };
    let votes: Vec<_> = review.seats.iter().map(voted).collect();
    status_by(review, &votes, blocks)
}

/// Whether anything blocks once these are raised and those settled.
fn blocks(review: &Review, raised: &[FindingRaised], settles: &[FindingResolved]) -> bool {
    if raised.is_empty() && settles.is_empty() {
        return review.blocking().next().is_some();
    }
    let mut after = review.clone();
    super::apply::raise(&mut after, "", "", review.updated_at, raised);
    super::apply::settle_own(&mut after, "", review.updated_at, settles);
    after.blocking().next().is_some()
}

/// The status that votes give where they decide.
pub(super) fn status_by(review: &Review, votes: &[Option<Verdict>], blocks: bool) -> Status {
    match review.policy.outcome(votes, blocks) {
        Outcome::Undecided => Status::InReview,
        Outcome::Approved => Status::Approved,
        Outcome::ChangesRequested => Status::ChangesRequested,
        Outcome::Rejected => Status::Rejected,
    }
}

/// Why a person is to look at it from here on: the limits are there to end a circle, so nobody is asked about a review
/// that has just been approved or turned down.
fn escalation(
    review: &Review,
    status: Status,
    metrics: Option<&ReviewMetrics>,
    raised: &[FindingRaised],
    at: Timestamp,
) -> Option<Escalation> {
    let policy = &review.policy;
    let minutes = u32::try_from((at.0 - review.created_at.0) / 60_000).unwrap_or_default();
    let cost = review.cost.saturating_add(metrics.map_or(0, ReviewMetrics::cost_millionths));
    let too_much = if status == Status::ChangesRequested && review.round.number >= policy.max_rounds {
        Some(Escalation::Rounds)
    } else if policy.max_minutes.is_some_and(|most| minutes >= most) {
        Some(Escalation::Minutes)
    } else if policy.max_cost.is_some_and(|most| cost >= most) {
        Some(Escalation::Cost)
    } else {
        raised.iter().any(|raised| raised.oscillating).then_some(Escalation::Oscillation)
    };
    too_much.filter(|_| !matches!(status, Status::Approved | Status::Rejected))
}

fn is_repeat(seat: &Seat, generation: u32, digest: &str) -> bool {
    seat.last_verdict.as_ref().is_some_and(|last| last.generation == generation && last.digest == digest)
}

fn digest_of(verdict: &GiveVerdict) -> String {
    let mut parts = vec![
        verdict.verdict.as_str(),
        verdict.reason.as_deref().unwrap_or_default(),
        verdict.summary.as_deref().unwrap_or_default(),
        verdict.patch.as_ref().map_or("", |patch| &patch.digest),
        verdict.content_hash.as_deref().unwrap_or_default(),
    ];
    parts.extend(verdict.findings.digest.as_deref());
    digest(&parts)
}
