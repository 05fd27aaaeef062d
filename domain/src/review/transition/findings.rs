//! Rules for findings: a verdict raises them, each new round locates their lines again, and the reviewers that raised
//! them resolve them.

use super::{CommandKind, Decided, Refusal, Reply, Review, Seat, Status, or_proposer, verdicts, wrong_status};
use crate::identity::is_same_identity;
use crate::{
    credential::Authority,
    finding::{
        AnchorState, Finding, FindingNumber, FindingStatus, NewFinding, RequestedStatus, Severity,
        duplicate_detection::{Comparable, is_same},
    },
    review::{
        Anchored, DuplicateLink, Event, FindingRaised, FindingResolved, FindingUpdated, OfferedFindings, UpdateFinding,
    },
    text::collapse_spaces,
    time::Tick,
    verdict::Verdict,
};

/// The most findings a review can have, duplicates included.
const MAX_FINDINGS: usize = 500;

/// Decides for each finding of a verdict whether it is late, oscillating or a duplicate.
pub(super) fn raise(
    review: &Review,
    seat: &Seat,
    offered: Option<&OfferedFindings>,
) -> Result<Vec<FindingRaised>, Refusal> {
    let Some(offered) = offered.filter(|offered| !offered.list.is_empty()) else { return Ok(Vec::new()) };
    if offered.content_hash != review.round.content_hash {
        return Err(Refusal::ContentMoved);
    }
    if review.findings.len() + offered.list.len() > MAX_FINDINGS {
        let (number, limit) = (review.number, MAX_FINDINGS);
        return Err(Refusal::TooManyIssues { number, has: review.findings.len(), limit });
    }
    let looks_again = seat.reviewed.as_ref().is_some_and(|reviewed| reviewed.round < review.round.number);
    let mut raised: Vec<FindingRaised> = Vec::with_capacity(offered.list.len());
    for finding in &offered.list {
        let duplicate = duplicate_of(review, &raised, finding);
        let is_critical = finding.found.severity == Severity::Critical;
        raised.push(FindingRaised {
            late: looks_again && !is_critical && finding.late,
            oscillating: undoes_another(review, &finding.found) || repeats_fixed(review, duplicate),
            duplicate,
            ..finding.clone()
        });
    }
    Ok(raised)
}

/// The earlier finding that says the same, from any seat.
fn duplicate_of(review: &Review, raised: &[FindingRaised], finding: &FindingRaised) -> Option<DuplicateLink> {
    let new = comparable(&finding.found, finding.found.location.as_ref());
    let before = review.findings.iter().filter(|other| other.duplicate_of.is_none());
    let earlier = before.clone().find(|other| is_same(&new, &comparable(&other.found, other.location())));
    if let Some(first) = earlier {
        let reopens = match first.status {
            FindingStatus::Open | FindingStatus::Duplicate => false,
            FindingStatus::Fixed => true,
            FindingStatus::WontFix => weighs_more(finding, first),
        };
        return Some(DuplicateLink { first: first.number, reopens });
    }
    let beside = raised.iter().filter(|other| other.duplicate.is_none());
    let same = |other: &&FindingRaised| is_same(&new, &comparable(&other.found, other.found.location.as_ref()));
    beside.clone().find(same).map(|first| DuplicateLink { first: first.number, reopens: false })
}

/// Whether a repeated finding reopens one that was resolved as wont_fix: if it is more severe, or if the first one was
/// only advice, which the proposer may resolve too.
fn weighs_more(finding: &FindingRaised, first: &Finding) -> bool {
    let is_worse = finding.found.severity > first.found.severity;
    let was_advice = !first.found.is_issue || first.late;
    let by_proposer = first.resolution.as_ref().is_some_and(|last| last.role == Authority::Proposer);
    is_worse || (finding.found.is_issue && (was_advice || by_proposer))
}

fn comparable<'a>(found: &'a NewFinding, location: Option<&'a crate::finding::Location>) -> Comparable<'a> {
    Comparable { location, title: &found.title, description: found.description.as_deref(), kind: found.kind }
}

/// Whether the finding repeats one that was fixed.
fn repeats_fixed(review: &Review, duplicate: Option<DuplicateLink>) -> bool {
    let first = duplicate.and_then(|duplicate| review.finding(duplicate.first));
    first.is_some_and(|first| first.status == FindingStatus::Fixed)
}

/// Whether the finding objects to code that an earlier finding suggested.
fn undoes_another(review: &Review, found: &NewFinding) -> bool {
    let Some(quote) = found.code_snippet.as_deref().map(collapse_spaces).filter(|quote| quote.len() >= MIN_QUOTE_CHARS)
    else {
        return false;
    };
    let text = found.location.as_ref().map(|location| &location.text);
    let earlier = review.findings.iter().filter(|other| {
        other.round < review.round.number && other.found.location.as_ref().map(|location| &location.text) == text
    });
    earlier.map(|other| &other.found).any(|other| {
        let suggested = || other.suggestion.as_deref().map(collapse_spaces).unwrap_or_default();
        let quoted = || other.code_snippet.as_deref().map(collapse_spaces).unwrap_or_default();
        suggested().contains(&quote) && !quoted().contains(&quote)
    })
}

/// Shorter quotes match by accident.
const MIN_QUOTE_CHARS: usize = 8;

/// The findings that an approval resolves: all open ones that its persona raised before and does not repeat. A finding
/// that several personas raised is resolved when the last of them approves. It is fixed if its lines changed or could
/// not be located, else wont_fix.
pub(super) fn resolved_by(
    review: &Review,
    seat: &Seat,
    verdict: Verdict,
    raised: &[FindingRaised],
) -> Vec<FindingResolved> {
    if verdict != Verdict::Approved {
        return Vec::new();
    }
    let agrees = |persona: &str| {
        let other = review.seats.iter().find(|other| other.persona == persona);
        persona == seat.persona || other.is_none_or(|other| other.vote == Some(Verdict::Approved))
    };
    let own = review.findings.iter().filter(|finding| {
        let repeats = |new: &FindingRaised| new.duplicate.is_some_and(|duplicate| duplicate.first == finding.number);
        let duplicates = review.findings.iter().filter(|other| other.duplicate_of == Some(finding.number));
        let mut raisers = duplicates.map(|duplicate| duplicate.persona.as_str()).chain([finding.persona.as_str()]);
        let is_own = raisers.clone().any(|persona| persona == seat.persona);
        is_own && finding.status == FindingStatus::Open && !raised.iter().any(repeats) && raisers.all(agrees)
    });
    let resolved = own.map(|finding| {
        let is_earlier = finding.last_round < review.round.number;
        let status = match finding.anchor.as_ref().map(|anchor| anchor.state) {
            Some(AnchorState::Modified | AnchorState::Gone) => FindingStatus::Fixed,
            // It names no lines, or lines that could not be located in a later round.
            None if is_earlier => FindingStatus::Fixed,
            Some(AnchorState::Exact | AnchorState::Moved) | None => FindingStatus::WontFix,
        };
        FindingResolved { number: finding.number, status }
    });
    resolved.collect()
}

/// The anchors of the findings in a new content; `None` for a finding that could not be located.
pub(super) fn reanchor(review: &Review, anchors: &[(FindingNumber, crate::finding::Anchor)]) -> Vec<Anchored> {
    let found = |number: FindingNumber| anchors.iter().find(|(of, _)| *of == number).map(|(_, anchor)| anchor.clone());
    let anchored = review.findings.iter().filter(|finding| finding.is_anchored());
    anchored.map(|finding| Anchored { number: finding.number, anchor: found(finding.number) }).collect()
}

pub(super) fn update(review: &Review, update: UpdateFinding, lease_ends: Tick) -> Decided {
    let UpdateFinding { number, role, by, requested, duplicate_of, note } = update;
    // The record of an ended review can only be corrected.
    if review.status.has_ended() && (role != Authority::Operator || requested == RequestedStatus::Open) {
        return Err(wrong_status(review, CommandKind::UpdateIssue));
    }
    let unknown = || Refusal::UnknownIssue { number: review.number, issue: number };
    let finding = review.finding(number).ok_or_else(unknown)?;
    let note = note.filter(|note| !note.trim().is_empty());
    let is_advice = !finding.found.is_issue || finding.late;
    let (by, settles) = match role {
        Authority::Proposer => (check_proposer(review, finding, by, requested, note.as_deref())?, is_advice),
        Authority::Reviewer => (check_reviewer(review, finding, by, requested)?, true),
        Authority::Operator => (check_operator(review, by, requested)?, true),
    };
    let duplicate_of = match (requested, duplicate_of) {
        (RequestedStatus::Duplicate, Some(first)) => Some(first_of(review, number, first)?),
        (RequestedStatus::Duplicate, None) => return Err(Refusal::DuplicateOfNeeded { issue: number }),
        (RequestedStatus::Open | RequestedStatus::Fixed | RequestedStatus::WontFix | RequestedStatus::Disputed, _) => {
            None
        }
    };
    if is_repeat(finding, &by, requested, settles, note.as_deref(), duplicate_of) {
        return Ok((Vec::new(), Reply::Done));
    }
    let mut updated = FindingUpdated {
        number,
        role,
        by,
        requested,
        duplicate_of,
        note,
        round: review.round.number,
        settles: settles && requested != RequestedStatus::Disputed,
        status: review.status,
        lease_ends: None,
        requeued: None,
    };
    updated.status = status_after(review, &updated);
    // The reviewer of the finding has to decide, so its seat returns to the queue.
    let seat = review.seats.iter().find(|seat| seat.persona == finding.persona);
    let asks_back = role == Authority::Proposer && !updated.settles && review.status == Status::ChangesRequested;
    updated.requeued =
        seat.filter(|_| asks_back).map(|seat| super::requeued(review, vec![super::requeue(seat, lease_ends)]));
    let reopens = updated.status.is_open() && !review.status.is_open();
    updated.lease_ends = reopens.then_some(lease_ends);
    Ok((vec![Event::FindingUpdated(updated)], Reply::Done))
}

/// A proposer answers an issue; it cannot resolve it.
fn check_proposer(
    review: &Review,
    finding: &Finding,
    by: Option<String>,
    requested: RequestedStatus,
    note: Option<&str>,
) -> Result<String, Refusal> {
    super::proposer_only(review, by.as_deref(), CommandKind::UpdateIssue)?;
    let issue = finding.number;
    match requested {
        RequestedStatus::Open | RequestedStatus::Duplicate => {
            return Err(Refusal::NotForProposers { issue, requested });
        }
        RequestedStatus::Disputed | RequestedStatus::WontFix if note.is_none() => {
            return Err(Refusal::NoteNeeded { issue, requested });
        }
        RequestedStatus::Disputed | RequestedStatus::WontFix | RequestedStatus::Fixed => {}
    }
    if finding.status != FindingStatus::Open {
        return Err(Refusal::IssueSettled { issue, status: finding.status });
    }
    Ok(or_proposer(review, by))
}

/// A reviewer may resolve the findings of the seat that it holds now.
fn check_reviewer(
    review: &Review,
    finding: &Finding,
    by: Option<String>,
    requested: RequestedStatus,
) -> Result<String, Refusal> {
    let issue = finding.number;
    if requested == RequestedStatus::Disputed {
        return Err(Refusal::NotForReviewers { issue, requested });
    }
    let seat = review.seats.iter().find(|seat| seat.persona == finding.persona);
    let holder = seat.and_then(|seat| seat.claim.as_ref()).map(|claim| claim.by.as_str());
    match (by, holder) {
        (None, _) => Err(Refusal::NoFence),
        (Some(by), Some(holder)) if is_same_identity(&by, holder) => Ok(holder.into()),
        (Some(reviewer), Some(holder)) => Err(Refusal::NotYourSeat { reviewer, holder: holder.into() }),
        (Some(_), None) => Err(Refusal::NotClaimed { number: review.number }),
    }
}

/// An operator cannot overrule findings on its own proposal.
fn check_operator(review: &Review, by: Option<String>, requested: RequestedStatus) -> Result<String, Refusal> {
    let by = by.unwrap_or_else(|| Authority::Operator.as_str().into());
    if review.is_proposed_by(&by) {
        return Err(Refusal::OwnProposal { number: review.number, reviewer: by });
    }
    match requested {
        RequestedStatus::Open | RequestedStatus::Fixed | RequestedStatus::WontFix | RequestedStatus::Duplicate => {
            Ok(by)
        }
        RequestedStatus::Disputed => Err(Refusal::NotTheProposer { command: CommandKind::UpdateIssue }),
    }
}

/// The finding that a duplicate repeats. It must be open, and it is never a duplicate itself, so that there are no
/// chains.
fn first_of(review: &Review, number: FindingNumber, given: FindingNumber) -> Result<FindingNumber, Refusal> {
    let unknown = || Refusal::UnknownIssue { number: review.number, issue: given };
    let named = review.finding(given).ok_or_else(unknown)?;
    let first = named.duplicate_of.and_then(|first| review.finding(first)).unwrap_or(named);
    if first.number == number || first.status != FindingStatus::Open {
        return Err(Refusal::DuplicateOfNeeded { issue: number });
    }
    Ok(first.number)
}

fn is_repeat(
    finding: &Finding,
    by: &str,
    requested: RequestedStatus,
    settles: bool,
    note: Option<&str>,
    duplicate_of: Option<FindingNumber>,
) -> bool {
    if settles && requested != RequestedStatus::Disputed {
        let last = finding.resolution.as_ref();
        let same = last.is_some_and(|last| is_same_identity(&last.by, by) && last.note.as_deref() == note);
        same && finding.status == status_of(requested)
            && finding.duplicate_of == duplicate_of
            && finding.reply.is_none()
    } else {
        let last = finding.reply.as_ref();
        last.is_some_and(|last| {
            is_same_identity(&last.by, by)
                && last.response.as_str() == requested.as_str()
                && last.note.as_deref() == note
        })
    }
}

/// The status of a finding after a statement that resolves it.
pub(super) const fn status_of(requested: RequestedStatus) -> FindingStatus {
    match requested {
        RequestedStatus::Open | RequestedStatus::Disputed => FindingStatus::Open,
        RequestedStatus::Fixed => FindingStatus::Fixed,
        RequestedStatus::WontFix => FindingStatus::WontFix,
        RequestedStatus::Duplicate => FindingStatus::Duplicate,
    }
}

/// The status of the review after the update. The votes stay; the findings that block an approval may change.
fn status_after(review: &Review, updated: &FindingUpdated) -> Status {
    if !updated.settles
        || review.status.has_ended()
        || review.auto_rejected()
        || review.seats.iter().all(|seat| seat.vote.is_none())
    {
        return review.status;
    }
    let mut after = review.clone();
    super::apply::update_finding(&mut after, updated, review.updated_at);
    let blocks = after.blocking().next().is_some();
    if blocks == review.blocking().next().is_some() {
        return review.status;
    }
    let votes: Vec<_> = review.seats.iter().map(|seat| seat.vote).collect();
    let decided = verdicts::status_by(review, &votes, blocks);
    // The review may be back in the queue, because of a question of the proposer; then some votes are missing.
    if decided == Status::InReview && review.status.is_open() { review.status } else { decided }
}
