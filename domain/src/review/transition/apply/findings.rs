//! Applies events to the findings of a review.

use super::enter_status;
use crate::{
    credential::Authority,
    finding::{
        Anchor, AnchorState, DisputeOutcome, Finding, FindingNumber, FindingStatus, Grounding, NewFinding,
        ProposerReply, ProposerResponse, RequestedStatus, Resolution,
    },
    review::{Anchored, Decision, FindingRaised, FindingResolved, FindingUpdated, Review, Role, Status},
    time::Timestamp,
    verdict::Verdict,
};
use std::sync::Arc;

use super::super::findings::status_of;

/// Adds the findings of a verdict and updates the earlier findings that they repeat.
pub(in super::super) fn raise(review: &mut Review, persona: &str, by: &str, at: Timestamp, raised: &[FindingRaised]) {
    for new in raised {
        if let Some(first) = repeated_finding(review, new) {
            put(review, first);
        }
        let finding = new_finding(review, persona, by, at, new);
        review.findings.push(Arc::new(finding));
    }
}

fn new_finding(review: &Review, persona: &str, by: &str, at: Timestamp, raised: &FindingRaised) -> Finding {
    Finding {
        number: raised.number,
        found: raised.found.clone(),
        persona: persona.into(),
        by: by.into(),
        // A verdict has the number of its event, which is the version after it.
        verdict_id: review.version,
        round: review.round.number,
        at,
        raised_on: review.round.content_hash.clone(),
        grounding: raised.grounding.clone(),
        status: if raised.duplicate.is_some() { FindingStatus::Duplicate } else { FindingStatus::Open },
        anchor: initial_anchor(raised),
        duplicate_of: raised.duplicate.map(|duplicate| duplicate.first),
        late: raised.late,
        repeated: 0,
        last_round: review.round.number,
        oscillating: raised.oscillating,
        reply: None,
        dispute: None,
        resolution: None,
    }
}

/// The earlier finding that `raised` repeats, with the changes that follow from it.
fn repeated_finding(review: &Review, raised: &FindingRaised) -> Option<Finding> {
    let duplicate = raised.duplicate?;
    let mut first = review.finding(duplicate.first)?.clone();
    first.repeated += 1;
    first.last_round = review.round.number;
    first.oscillating |= raised.oscillating;
    if duplicate.reopens {
        first.status = FindingStatus::Open;
        first.resolution = None;
    }
    if first.status == FindingStatus::Open {
        merge_weight(&mut first, &raised.found, raised.late);
    }
    // An ungrounded finding takes over the location of a grounded repeat.
    let is_ungrounded = |grounding: &Grounding| matches!(grounding, Grounding::Ungrounded { .. });
    if is_ungrounded(&first.grounding) && !is_ungrounded(&raised.grounding) {
        first.grounding = raised.grounding.clone();
        first.found.location.clone_from(&raised.found.location);
        first.raised_on = review.round.content_hash.clone();
        first.anchor = initial_anchor(raised);
    }
    Some(first)
}

/// Gives a finding the weight of its duplicate, if that is higher.
fn merge_weight(first: &mut Finding, other: &NewFinding, other_is_late: bool) {
    first.found.severity = first.found.severity.max(other.severity);
    first.found.is_issue |= other.is_issue;
    first.late &= other_is_late;
}

fn initial_anchor(raised: &FindingRaised) -> Option<Anchor> {
    let location = match raised.grounding {
        Grounding::Grounded { .. } => raised.found.location.clone()?,
        Grounding::Ungrounded { .. } | Grounding::Unchecked { .. } => return None,
    };
    Some(Anchor { state: AnchorState::Exact, location: Some(location), likely_fixed: false })
}

/// Resolves the findings that an approval closes.
pub(in super::super) fn resolve_own(review: &mut Review, by: &str, at: Timestamp, resolved: &[FindingResolved]) {
    let round = review.round.number;
    for FindingResolved { number, status } in resolved {
        let Some(mut finding) = review.finding(*number).cloned() else { continue };
        finding.status = *status;
        decide_dispute(&mut finding);
        finding.reply = None;
        let note = Some("approved".into());
        finding.resolution = Some(Resolution { by: by.into(), role: Authority::Reviewer, note, at: at.into(), round });
        put(review, finding);
    }
}

/// Closes the findings that are still open when the review is closed.
pub(super) fn settle_at_close(review: &mut Review, by: Role, name: &str, settled: &[FindingNumber], at: Timestamp) {
    let round = review.round.number;
    let role = if by == Role::Proposer { Authority::Proposer } else { Authority::Reviewer };
    for number in settled {
        let Some(mut finding) = review.finding(*number).cloned() else { continue };
        finding.status = FindingStatus::WontFix;
        finding.reply = None;
        let note = Some("the review was closed".into());
        finding.resolution = Some(Resolution { by: name.into(), role, note, at: at.into(), round });
        put(review, finding);
    }
}

/// Sets the anchors of findings in a new content.
pub(super) fn anchor(review: &mut Review, anchors: &[Anchored]) {
    for Anchored { number, anchor } in anchors {
        let Some(mut finding) = review.finding(*number).cloned() else { continue };
        finding.anchor.clone_from(anchor);
        put(review, finding);
    }
}

pub(in super::super) fn update_finding(review: &mut Review, updated: &FindingUpdated, at: Timestamp) {
    let FindingUpdated { number, role, by, requested, duplicate_of, note, round, settles, status, lease_ends, .. } =
        updated;
    let Some(mut finding) = review.finding(*number).cloned() else { return };
    let (by, note, round) = (by.clone(), note.clone(), *round);
    if *settles {
        let confirmed = *requested == RequestedStatus::Open && finding.status == FindingStatus::Open;
        finding.status = status_of(*requested);
        finding.duplicate_of = *duplicate_of;
        decide_dispute(&mut finding);
        finding.reply = None;
        if let (true, Some(location)) = (confirmed, finding.location().cloned()) {
            // Confirmed in the active content, so it is re-anchored from here on.
            finding.found.location = Some(location.clone());
            finding.raised_on = review.round.content_hash.clone();
            finding.anchor = Some(Anchor { state: AnchorState::Exact, location: Some(location), likely_fixed: false });
        }
        finding.resolution = Some(Resolution { by: by.clone(), role: *role, note: note.clone(), at: at.into(), round });
        if let Some(first) = duplicate_of {
            merge(review, &finding, *first);
        }
    } else if let Some(response) = proposer_response(*requested) {
        if response == ProposerResponse::Disputed {
            finding.dispute = Some(DisputeOutcome::Undecided);
        }
        finding.reply = Some(ProposerReply { response, note: note.clone(), by: by.clone(), at: at.into(), round });
    }
    put(review, finding);
    if *status != review.status {
        if let Some(verdict) = verdict_of(*status) {
            let reason = Some(update_reason(*number, *requested, note.as_deref()));
            review.decision = Some(Decision { verdict, reason, by });
        }
        let content_hash = review.round.content_hash.clone();
        enter_status(review, *status, &content_hash, *lease_ends);
    }
}

/// Records how an open dispute ended, from the finding's new status. Closing a review decides nothing.
fn decide_dispute(finding: &mut Finding) {
    if finding.dispute() == Some(DisputeOutcome::Undecided) {
        let is_upheld = finding.status == FindingStatus::WontFix;
        finding.dispute = Some(if is_upheld { DisputeOutcome::Upheld } else { DisputeOutcome::Rejected });
    }
}

/// Marks `finding` and its duplicates as duplicates of `first`.
fn merge(review: &mut Review, finding: &Finding, first: FindingNumber) {
    if let Some(mut first) = review.finding(first).cloned() {
        first.repeated += 1;
        merge_weight(&mut first, &finding.found, finding.late);
        put(review, first);
    }
    let duplicates = review.findings.iter().filter(|other| other.duplicate_of == Some(finding.number));
    for mut duplicate in duplicates.map(|duplicate| Finding::clone(duplicate)).collect::<Vec<_>>() {
        duplicate.duplicate_of = Some(first);
        put(review, duplicate);
    }
}

/// The verdict that corresponds to a status.
pub(super) const fn verdict_of(status: Status) -> Option<Verdict> {
    match status {
        Status::Approved => Some(Verdict::Approved),
        Status::ChangesRequested => Some(Verdict::ChangesRequested),
        Status::Rejected => Some(Verdict::Rejected),
        Status::Pending | Status::Claimed | Status::InReview | Status::Cancelled | Status::Closed => None,
    }
}

fn update_reason(number: FindingNumber, requested: RequestedStatus, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("{number} is {requested}: {note}"),
        None => format!("{number} is {requested}"),
    }
}

const fn proposer_response(requested: RequestedStatus) -> Option<ProposerResponse> {
    match requested {
        RequestedStatus::Fixed => Some(ProposerResponse::Fixed),
        RequestedStatus::WontFix => Some(ProposerResponse::WontFix),
        RequestedStatus::Disputed => Some(ProposerResponse::Disputed),
        RequestedStatus::Open | RequestedStatus::Duplicate => None,
    }
}

fn put(review: &mut Review, finding: Finding) {
    if let Some(slot) = review.findings.iter_mut().find(|other| other.number == finding.number) {
        *slot = Arc::new(finding);
    }
}
