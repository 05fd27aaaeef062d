//! Rules for verdicts: who may give one, and which status the review gets from the votes.

use super::{
    CheckNeeded, CommandKind, Decided, DiffCheck, Event, Refusal, Reply, Review, Seat, Status, findings, is_discussed,
    wrong_status,
};
use crate::identity::is_same_identity;
use crate::{
    consensus::{Escalation, Outcome},
    review::{FindingRaised, FindingResolved, GiveVerdict, Superseded, VerdictGiven},
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};

pub(super) fn check_needed(review: &Review, verdict: &GiveVerdict) -> Result<Option<CheckNeeded>, Refusal> {
    let (_, seat, generation) = fenced_seat(review, verdict.by.as_deref(), verdict.generation, CommandKind::Verdict)?;
    if is_repeat(seat, generation, &verdict.digest) {
        return Ok(None);
    }
    admit(review, verdict)?;
    Ok(verdict.patch.is_some().then_some(CheckNeeded::OfferedPatch))
}

pub(super) fn give(
    review: &Review,
    verdict: GiveVerdict,
    at: Timestamp,
    lease_ends: Tick,
    max_exchanges: u32,
) -> Decided {
    let (index, seat, generation) =
        fenced_seat(review, verdict.by.as_deref(), verdict.generation, CommandKind::Verdict)?;
    let raised_before = review
        .findings
        .iter()
        .filter(|finding| finding.persona == seat.persona && finding.round == review.round.number);
    let mut reply_findings: Vec<_> = raised_before.map(|finding| finding.number).collect();
    if is_repeat(seat, generation, &verdict.digest) {
        return Ok((
            Vec::new(),
            Reply::VerdictTaken { seat: index, verdict: verdict.verdict, findings: reply_findings },
        ));
    }
    admit(review, &verdict)?;
    match verdict.patch.as_ref().map(|patch| &patch.check) {
        Some(Some(DiffCheck::Fails { message })) => {
            return Err(Refusal::CounterPatchFails { message: message.clone() });
        }
        Some(Some(DiffCheck::Applies { .. })) | None => {}
        // The proposer skipped the check of its own diff, and git could not check this one.
        Some(Some(DiffCheck::Skipped | DiffCheck::Unknown { .. })) if !review.checks_diffs() => {}
        Some(Some(DiffCheck::Skipped | DiffCheck::Unknown { .. }) | None) => return Err(Refusal::ContentMoved),
    }
    let raised = findings::raise(review, seat, verdict.findings.as_ref())?;
    reply_findings.extend(raised.iter().map(|raised| raised.number));
    let resolved = findings::resolved_by(review, seat, verdict.verdict, &raised);
    let status = status_after(review, seat, verdict.verdict, &raised, &resolved);
    let has_talked_enough = seat.exchanges >= max_exchanges;
    let escalation = escalation(review, status, verdict.metrics.as_ref(), &raised, at)
        .or_else(|| (has_talked_enough && !is_decided(status)).then_some(Escalation::Exchanges));
    let owes_vote = status.is_open() && !verdict.verdict.is_vote() && seat.vote.is_none();
    // A changed vote can undo a decision. Reviewers that owe a vote again get a new lease.
    let reopens = status.is_open() && !review.status.is_open();
    let by = seat.claim.as_ref().map(|claim| claim.by.clone()).unwrap_or_default();
    let given = VerdictGiven {
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
        patch_files: verdict.patch.map(|patch| patch.files).unwrap_or_default(),
        status,
        escalation,
        findings: raised,
        resolved,
        reopens,
        lease_ends: (owes_vote || reopens).then_some(lease_ends),
        signature: verdict.signature,
        digest: verdict.digest,
    };
    Ok((
        vec![Event::VerdictGiven(given)],
        Reply::VerdictTaken { seat: index, verdict: verdict.verdict, findings: reply_findings },
    ))
}

/// The claimed seat that the caller acts for, and its generation. Without a generation the caller must name itself.
pub(super) fn fenced_seat<'a>(
    review: &'a Review,
    by: Option<&str>,
    generation: Option<u32>,
    command: CommandKind,
) -> Result<(usize, &'a Seat, u32), Refusal> {
    if let Some((index, seat, claim)) = review.claimed_seat(by, generation) {
        return match by {
            Some(id) if !is_same_identity(&claim.by, id) => {
                Err(Refusal::NotYourSeat { reviewer: id.into(), holder: claim.by.clone() })
            }
            Some(_) | None => Ok((index, seat, claim.generation)),
        };
    }
    let number = review.number;
    let is_superseded = |old: &&Superseded| match (generation, by) {
        (Some(generation), _) => old.generation == generation,
        (None, Some(by)) => is_same_identity(&old.by, by),
        (None, None) => false,
    };
    let superseded = review.seats.iter().filter_map(|seat| seat.superseded.as_ref()).find(is_superseded);
    Err(match (generation, by) {
        _ if review.status.has_ended() => wrong_status(review, command),
        _ if let Some(old) = superseded => {
            Refusal::StaleContent { given: old.content_hash.0.clone(), current: review.round.content_hash.clone() }
        }
        (_, Some(id)) if review.is_proposed_by(id) => Refusal::OwnProposal { number, reviewer: id.into() },
        (Some(given), _) => {
            let own = review.claimed_seat(by, None);
            Refusal::StaleClaim {
                given,
                current: own.map_or(review.claim_generation, |(_, _, claim)| claim.generation),
            }
        }
        (None, Some(id)) => match review.holders().next() {
            Some(holder) => Refusal::NotYourSeat { reviewer: id.into(), holder: holder.into() },
            None => Refusal::NotClaimed { number },
        },
        (None, None) => Refusal::NoFence,
    })
}

fn admit(review: &Review, verdict: &GiveVerdict) -> Result<(), Refusal> {
    if !is_discussed(review) {
        return Err(wrong_status(review, CommandKind::Verdict));
    }
    if let Some(given) = verdict.content_hash.as_ref().filter(|given| **given != review.round.content_hash.0) {
        return Err(Refusal::StaleContent { given: given.clone(), current: review.round.content_hash.clone() });
    }
    let has_reason = verdict.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty());
    if verdict.verdict.needs_reason() && !has_reason {
        return Err(Refusal::ReasonNeeded { verdict: verdict.verdict });
    }
    if verdict.patch.is_some() && !verdict.verdict.may_offer_patch() {
        return Err(Refusal::CounterPatchNotAllowed { verdict: verdict.verdict });
    }
    // It could not be accepted: the approval is for the active content.
    if verdict.patch.is_some() && review.status == Status::Approved && verdict.verdict == Verdict::Comment {
        return Err(Refusal::CounterPatchOnApproved { number: review.number });
    }
    Ok(())
}

/// The status after `seat` gives `verdict` with its findings.
fn status_after(
    review: &Review,
    seat: &Seat,
    verdict: Verdict,
    raised: &[FindingRaised],
    resolved: &[FindingResolved],
) -> Status {
    let blocks = blocks(review, raised, resolved);
    let changes_nothing = review.status.is_open() || blocks == review.blocking().next().is_some();
    if !verdict.is_vote() && changes_nothing {
        return review.status;
    }
    let vote = verdict.is_vote().then_some(verdict);
    let voted = |other: &Seat| if other.persona == seat.persona { vote.or(other.vote) } else { other.vote };
    let votes: Vec<_> = review.seats.iter().map(voted).collect();
    status_by(review, &votes, blocks)
}

/// Whether a finding blocks after these are raised and resolved.
fn blocks(review: &Review, raised: &[FindingRaised], resolved: &[FindingResolved]) -> bool {
    if raised.is_empty() && resolved.is_empty() {
        return review.blocking().next().is_some();
    }
    let mut after = review.clone();
    super::apply::raise(&mut after, "", "", review.updated_at, raised);
    super::apply::resolve_own(&mut after, "", review.updated_at, resolved);
    after.blocking().next().is_some()
}

/// The status that the votes lead to.
pub(super) fn status_by(review: &Review, votes: &[Option<Verdict>], blocks: bool) -> Status {
    let is_missing = |persona: &String| {
        let votes = review.seats.iter().zip(votes).filter(|(seat, _)| seat.persona == *persona);
        !votes.into_iter().any(|(_, vote)| *vote == Some(Verdict::Approved))
    };
    let blocks = blocks || review.round.required.iter().any(is_missing);
    match review.policy.outcome(votes, blocks) {
        Outcome::Undecided => Status::InReview,
        Outcome::Approved => Status::Approved,
        Outcome::ChangesRequested => Status::ChangesRequested,
        Outcome::Rejected => Status::Rejected,
    }
}

/// Why a person should look at the review after this verdict. A review that is approved or rejected needs none.
fn escalation(
    review: &Review,
    status: Status,
    metrics: Option<&ReviewMetrics>,
    raised: &[FindingRaised],
    at: Timestamp,
) -> Option<Escalation> {
    let policy = &review.policy;
    let minutes = u32::try_from((at.0 - review.created_at.0) / 60_000).unwrap_or_default();
    let cost = review.cost_micro_usd.saturating_add(metrics.map_or(0, ReviewMetrics::cost_micro_usd));
    let exceeded = if status == Status::ChangesRequested && review.round.number >= policy.max_rounds {
        Some(Escalation::Rounds)
    } else if policy.max_minutes.is_some_and(|most| minutes >= most) {
        Some(Escalation::Minutes)
    } else if policy.max_cost_micro_usd.is_some_and(|most| cost >= most) {
        Some(Escalation::Cost)
    } else {
        raised.iter().any(|raised| raised.oscillating).then_some(Escalation::Oscillation)
    };
    exceeded.filter(|_| !is_decided(status))
}

const fn is_decided(status: Status) -> bool {
    matches!(status, Status::Approved | Status::Rejected)
}

fn is_repeat(seat: &Seat, generation: u32, digest: &str) -> bool {
    seat.last_verdict.as_ref().is_some_and(|last| last.generation == generation && last.digest == digest)
}
