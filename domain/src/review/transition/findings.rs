//! Findings: raised with a verdict, followed from round to round, settled by those who raised them.

use super::{CommandKind, Refusal, Review, Seat, Status, or_proposer, verdicts, wrong_status};
use crate::{
    credential::Authority,
    finding::{
        AnchorState, Finding, FindingNumber, FindingStatus, Grounding, NewFinding, RequestedStatus, Severity,
        duplicate::{Told, is_same},
    },
    review::{
        Anchored, DuplicateLink, Event, FindingRaised, FindingResolved, FindingUpdated, GiveVerdict, OfferedFinding,
        UpdateFinding,
    },
    time::Tick,
    verdict::Verdict,
};

/// As many findings, duplicates included, a review can carry.
const MAX_FINDINGS: usize = 500;

/// What a verdict's findings come to: each new, late, or said before.
pub(super) fn raise(review: &Review, seat: &Seat, verdict: &GiveVerdict) -> Result<Vec<FindingRaised>, Refusal> {
    let offered = &verdict.findings;
    if offered.list.is_empty() {
        return Ok(Vec::new());
    }
    if offered.checked.as_ref() != Some(&review.round.content_hash) {
        return Err(Refusal::ContentMoved);
    }
    if review.findings.len() + offered.list.len() > MAX_FINDINGS {
        let (number, limit) = (review.number, MAX_FINDINGS);
        return Err(Refusal::TooManyFindings { number, has: review.findings.len(), limit });
    }
    let mut raised: Vec<FindingRaised> = Vec::with_capacity(offered.list.len());
    for (number, finding) in (offered.first..).map(FindingNumber).zip(&offered.list) {
        let double = double_of(review, &raised, finding);
        let looks_again = seat.reviewed.as_ref().is_some_and(|reviewed| reviewed.round < review.round.number);
        let late =
            looks_again && finding.found.severity != Severity::Critical && finding.on_changed_lines == Some(false);
        raised.push(FindingRaised {
            number,
            found: finding.found.clone(),
            grounding: finding.grounding.clone(),
            late,
            oscillating: undoes_another(review, &finding.found) || comes_back(review, double),
            double,
        });
    }
    Ok(raised)
}

/// The finding that says the same, whoever raised it.
fn double_of(review: &Review, raised: &[FindingRaised], finding: &OfferedFinding) -> Option<DuplicateLink> {
    let new = told(&finding.found, finding.found.place.as_ref());
    let before = review.findings.iter().filter(|other| other.duplicate_of.is_none());
    let earlier = before.clone().find(|other| is_same(&new, &told(&other.found, other.place())));
    if let Some(first) = earlier {
        let reopens = match first.status {
            FindingStatus::Open | FindingStatus::Duplicate => false,
            FindingStatus::Fixed => true,
            FindingStatus::WontFix => weighs_more(finding, first),
        };
        return Some(DuplicateLink { of: first.number, reopens });
    }
    let beside = raised.iter().filter(|other| other.double.is_none());
    let same = |other: &&FindingRaised| is_same(&new, &told(&other.found, other.found.place.as_ref()));
    beside.clone().find(same).map(|first| DuplicateLink { of: first.number, reopens: false })
}

/// What was settled as it is stays so, unless it turns out to be worse than was thought, or it was only advice, which
/// also the proposer may settle.
fn weighs_more(finding: &OfferedFinding, first: &Finding) -> bool {
    let is_worse = finding.found.severity > first.found.severity;
    let was_advice = !first.found.is_issue || first.late;
    let by_proposer = first.resolution.as_ref().is_some_and(|last| last.role == Authority::Proposer);
    is_worse || (finding.found.is_issue && (was_advice || by_proposer))
}

fn told<'a>(found: &'a NewFinding, place: Option<&'a crate::finding::Location>) -> Told<'a> {
    Told { place, title: &found.title, description: found.description.as_deref(), kind: found.kind }
}

/// It had been fixed.
fn comes_back(review: &Review, double: Option<DuplicateLink>) -> bool {
    let first = double.and_then(|double| review.finding(double.of));
    first.is_some_and(|first| first.status == FindingStatus::Fixed)
}

/// It complains of the very code that an earlier finding asked for.
fn undoes_another(review: &Review, found: &NewFinding) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(quote) = found.code_snippet.as_deref().map(words).filter(|quote| quote.len() >= MIN_QUOTE) else {
        return false;
    };
    let file = found.place.as_ref().map(|place| &place.file);
    let earlier = review.findings.iter().filter(|other| {
        other.round < review.round.number && other.found.place.as_ref().map(|place| &place.file) == file
    });
    earlier.map(|other| &other.found).any(|other| {
        let asked_for = || other.suggestion.as_deref().map(words).unwrap_or_default();
        let quoted = || other.code_snippet.as_deref().map(words).unwrap_or_default();
        asked_for().contains(&quote) && !quoted().contains(&quote)
    })
}

/// Shorter quotes stand in too many places to mean anything.
const MIN_QUOTE: usize = 8;

/// What an approval says of the findings that its persona raised in earlier rounds: where the lines were changed they
/// are fixed, where they were not it takes them as they are. A critical one on unchanged lines stays: that takes a word
/// on the finding itself.
/// Nothing that was said once more in this round, by whomever, is settled by it.
pub(super) fn settled_by(
    review: &Review,
    seat: &Seat,
    verdict: Verdict,
    raised: &[FindingRaised],
) -> Vec<FindingResolved> {
    if verdict != Verdict::Approved {
        return Vec::new();
    }
    let own = review.findings.iter().filter(|finding| {
        let repeats = |new: &FindingRaised| new.double.is_some_and(|double| double.of == finding.number);
        let earlier = finding.last_round < review.round.number && !raised.iter().any(repeats);
        earlier && finding.persona == seat.persona && finding.status == FindingStatus::Open
    });
    own.filter_map(|finding| {
        let (status, is_plain) = match finding.anchor.as_ref().map(|anchor| anchor.state) {
            Some(AnchorState::Modified | AnchorState::Gone) => (FindingStatus::Fixed, true),
            Some(AnchorState::Exact | AnchorState::Moved) => (FindingStatus::WontFix, false),
            // It is about no lines, or about lines that nobody can find.
            None => (FindingStatus::Fixed, false),
        };
        let is_critical = finding.is_open_issue() && finding.found.severity == Severity::Critical;
        (is_plain || !is_critical).then_some(FindingResolved { number: finding.number, status })
    })
    .collect()
}

/// Where the open findings stand in a new content: as it was found out, or nowhere that is known.
pub(super) fn follow(review: &Review, anchors: &[(FindingNumber, crate::finding::Anchor)]) -> Vec<Anchored> {
    let found = |number: FindingNumber| anchors.iter().find(|(of, _)| *of == number).map(|(_, anchor)| anchor.clone());
    let placed = review.findings.iter().filter(|finding| followed(finding));
    placed.map(|finding| Anchored { number: finding.number, anchor: found(finding.number) }).collect()
}

/// Whether it is carried over to a new content: it is about lines that are there.
pub fn followed(finding: &Finding) -> bool {
    let settled = finding.status == FindingStatus::Duplicate;
    !settled && finding.found.place.is_some() && !matches!(finding.grounding, Grounding::Ungrounded { .. })
}

pub(super) fn update(review: &Review, update: UpdateFinding, lease_ends: Tick) -> Result<Vec<Event>, Refusal> {
    let UpdateFinding { number, role, by, wish, duplicate_of, note } = update;
    if matches!(review.status, Status::Rejected | Status::Cancelled | Status::Closed) {
        return Err(wrong_status(review, CommandKind::UpdateIssue));
    }
    let unknown = || Refusal::UnknownFinding { number: review.number, issue: number };
    let finding = review.finding(number).ok_or_else(unknown)?;
    let note = note.filter(|note| !note.trim().is_empty());
    let is_advice = !finding.found.is_issue || finding.late;
    let (by, settles) = match role {
        Authority::Proposer => (proposer_says(review, finding, by, wish, note.as_deref())?, is_advice),
        Authority::Reviewer => (reviewer_says(review, finding, by, wish)?, true),
        Authority::Operator => (operator_says(review, by, wish)?, true),
    };
    let duplicate_of = match (wish, duplicate_of) {
        (RequestedStatus::Duplicate, Some(first)) => Some(first_of(review, number, first)?),
        (RequestedStatus::Duplicate, None) => return Err(Refusal::DuplicateOfWhat { issue: number }),
        (RequestedStatus::Open | RequestedStatus::Fixed | RequestedStatus::WontFix | RequestedStatus::Disputed, _) => {
            None
        }
    };
    if is_said_already(finding, &by, wish, settles, note.as_deref(), duplicate_of) {
        return Ok(Vec::new());
    }
    let mut updated = FindingUpdated {
        number,
        role,
        by,
        wish,
        duplicate_of,
        note,
        round: review.round.number,
        settles: settles && wish != RequestedStatus::Disputed,
        status: review.status,
        lease_ends: None,
    };
    updated.status = status_with(review, &updated);
    let reopens = updated.status.is_open() && !review.status.is_open();
    updated.lease_ends = reopens.then_some(lease_ends);
    Ok(vec![Event::FindingUpdated(updated)])
}

/// A proposer answers; it does not settle what a reviewer has raised.
fn proposer_says(
    review: &Review,
    finding: &Finding,
    by: Option<String>,
    wish: RequestedStatus,
    note: Option<&str>,
) -> Result<String, Refusal> {
    super::proposer_only(review, by.as_deref(), CommandKind::UpdateIssue)?;
    let issue = finding.number;
    match wish {
        RequestedStatus::Open | RequestedStatus::Duplicate => return Err(Refusal::NotForProposers { issue, wish }),
        RequestedStatus::Disputed | RequestedStatus::WontFix if note.is_none() => {
            return Err(Refusal::NoteNeeded { issue, wish });
        }
        RequestedStatus::Disputed | RequestedStatus::WontFix | RequestedStatus::Fixed => {}
    }
    if finding.status != FindingStatus::Open {
        return Err(Refusal::FindingSettled { issue, status: finding.status });
    }
    Ok(or_proposer(review, by).unwrap_or_default())
}

/// Only who holds the seat that raised it: whoever that is by now.
fn reviewer_says(
    review: &Review,
    finding: &Finding,
    by: Option<String>,
    wish: RequestedStatus,
) -> Result<String, Refusal> {
    let issue = finding.number;
    if wish == RequestedStatus::Disputed {
        return Err(Refusal::NotForReviewers { issue, wish });
    }
    let seat = review.seats.iter().find(|seat| seat.persona == finding.persona);
    let holder = seat.and_then(|seat| seat.claim.as_ref()).map(|claim| claim.by.as_str());
    match (by, holder) {
        (None, _) => Err(Refusal::NoFence),
        (Some(by), Some(holder)) if by == holder => Ok(by),
        (Some(reviewer), Some(holder)) => Err(Refusal::NotYourSeat { reviewer, holder: holder.into() }),
        (Some(_), None) => Err(Refusal::NotClaimed { number: review.number }),
    }
}

/// Nobody overrules what was found in a proposal of its own.
fn operator_says(review: &Review, by: Option<String>, wish: RequestedStatus) -> Result<String, Refusal> {
    let by = by.unwrap_or_else(|| Authority::Operator.as_str().into());
    if by == review.proposer.identity() {
        return Err(Refusal::OwnProposal { number: review.number, reviewer: by });
    }
    match wish {
        RequestedStatus::Open | RequestedStatus::Fixed | RequestedStatus::WontFix | RequestedStatus::Duplicate => {
            Ok(by)
        }
        RequestedStatus::Disputed => Err(Refusal::NotTheProposer { asked: CommandKind::UpdateIssue }),
    }
}

/// The finding that a duplicate is one of. It is open, else marking one would settle it; and never itself a duplicate,
/// so that there are no chains.
fn first_of(review: &Review, number: FindingNumber, given: FindingNumber) -> Result<FindingNumber, Refusal> {
    let unknown = || Refusal::UnknownFinding { number: review.number, issue: given };
    let named = review.finding(given).ok_or_else(unknown)?;
    let first = named.duplicate_of.and_then(|first| review.finding(first)).unwrap_or(named);
    if first.number == number || first.status != FindingStatus::Open {
        return Err(Refusal::DuplicateOfWhat { issue: number });
    }
    Ok(first.number)
}

fn is_said_already(
    finding: &Finding,
    by: &str,
    wish: RequestedStatus,
    settles: bool,
    note: Option<&str>,
    duplicate_of: Option<FindingNumber>,
) -> bool {
    if settles && wish != RequestedStatus::Disputed {
        let last = finding.resolution.as_ref();
        let same = last.is_some_and(|last| last.by == by && last.note.as_deref() == note);
        same && finding.status == status_of(wish) && finding.duplicate_of == duplicate_of && finding.reply.is_none()
    } else {
        let last = finding.reply.as_ref();
        last.is_some_and(|last| last.by == by && last.says.as_str() == wish.as_str() && last.note.as_deref() == note)
    }
}

/// The status a finding gets when this is said by somebody whose word settles it.
pub(super) const fn status_of(wish: RequestedStatus) -> FindingStatus {
    match wish {
        RequestedStatus::Open | RequestedStatus::Disputed => FindingStatus::Open,
        RequestedStatus::Fixed => FindingStatus::Fixed,
        RequestedStatus::WontFix => FindingStatus::WontFix,
        RequestedStatus::Duplicate => FindingStatus::Duplicate,
    }
}

/// The review's status once this is so. The votes are what they were; what blocks them may not be.
fn status_with(review: &Review, updated: &FindingUpdated) -> Status {
    if !updated.settles || review.auto_rejected() || review.seats.iter().all(|seat| seat.vote.is_none()) {
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
    // A question of the proposer's, say, has put it back into the queue: the votes are no longer all in.
    if decided == Status::InReview && review.status.is_open() { review.status } else { decided }
}
