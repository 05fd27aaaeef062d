//! What an event means for the findings of a review.

use super::settle;
use crate::{
    credential::Authority,
    finding::{
        Anchor, AnchorState, Finding, FindingNumber, FindingStatus, Grounding, NewFinding, ProposerResponse, Reply,
        RequestedStatus, Resolution,
    },
    review::{Anchored, Decision, FindingRaised, FindingResolved, FindingUpdated, Review, Status},
    time::Timestamp,
    verdict::Verdict,
};
use std::sync::Arc;

use super::super::findings::status_of;

/// The findings that came with a verdict, and what they change in those before them.
pub(in super::super) fn raise(review: &mut Review, persona: &str, by: &str, at: Timestamp, raised: &[FindingRaised]) {
    for new in raised {
        if let Some(first) = first_of_double(review, new) {
            put(review, first);
        }
        let finding = finding_of(review, persona, by, at, new);
        review.findings.push(Arc::new(finding));
    }
}

/// A finding as a verdict makes it.
fn finding_of(review: &Review, persona: &str, by: &str, at: Timestamp, raised: &FindingRaised) -> Finding {
    Finding {
        number: raised.number,
        found: raised.found.clone(),
        persona: persona.into(),
        by: by.into(),
        round: review.round.number,
        at,
        raised_on: review.round.content_hash.clone(),
        grounding: raised.grounding.clone(),
        status: if raised.double.is_some() { FindingStatus::Duplicate } else { FindingStatus::Open },
        anchor: anchor_of(raised),
        duplicate_of: raised.double.map(|double| double.of),
        late: raised.late,
        repeated: 0,
        last_round: review.round.number,
        oscillating: raised.oscillating,
        reply: None,
        resolution: None,
    }
}

/// The finding that a new one says again, as that leaves it.
fn first_of_double(review: &Review, raised: &FindingRaised) -> Option<Finding> {
    let double = raised.double?;
    let mut first = review.finding(double.of)?.clone();
    first.repeated += 1;
    first.last_round = review.round.number;
    first.oscillating |= raised.oscillating;
    if double.reopens {
        first.status = FindingStatus::Open;
        first.resolution = None;
    }
    // Settled as it is, it does not grow.
    if first.status == FindingStatus::Open {
        grow(&mut first, &raised.found, raised.late);
    }
    // One that spoke of what is not there is true after all, where the other one says.
    let is_ungrounded = |grounding: &Grounding| matches!(grounding, Grounding::Ungrounded { .. });
    if is_ungrounded(&first.grounding) && !is_ungrounded(&raised.grounding) {
        first.grounding = raised.grounding.clone();
        first.found.place.clone_from(&raised.found.place);
        first.raised_on = review.round.content_hash.clone();
        first.anchor = anchor_of(raised);
    }
    Some(first)
}

/// What two findings that are one weigh together.
fn grow(first: &mut Finding, other: &NewFinding, other_is_late: bool) {
    first.found.severity = first.found.severity.max(other.severity);
    first.found.is_issue |= other.is_issue;
    first.late &= other_is_late;
}

/// As it is raised, where that is known to be.
fn anchor_of(raised: &FindingRaised) -> Option<Anchor> {
    let place = match raised.grounding {
        Grounding::Grounded { .. } => raised.found.place.clone()?,
        Grounding::Ungrounded { .. } | Grounding::Unchecked { .. } => return None,
    };
    Some(Anchor { state: AnchorState::Exact, place: Some(place), likely_fixed: false })
}

/// What an approval made of its persona's own findings.
pub(in super::super) fn settle_own(review: &mut Review, by: &str, at: Timestamp, settles: &[FindingResolved]) {
    let round = review.round.number;
    for FindingResolved { number, status } in settles {
        let Some(mut finding) = review.finding(*number).cloned() else { continue };
        finding.status = *status;
        finding.reply = None;
        let note = Some("approved".into());
        finding.resolution = Some(Resolution { by: by.into(), role: Authority::Reviewer, note, at, round });
        put(review, finding);
    }
}

/// Where findings stand in a new content.
pub(super) fn anchor(review: &mut Review, anchors: &[Anchored]) {
    for Anchored { number, anchor } in anchors {
        let Some(mut finding) = review.finding(*number).cloned() else { continue };
        finding.anchor.clone_from(anchor);
        put(review, finding);
    }
}

pub(in super::super) fn update_finding(review: &mut Review, updated: &FindingUpdated, at: Timestamp) {
    let FindingUpdated { number, role, by, wish, duplicate_of, note, round, settles, status, lease_ends } = updated;
    let Some(mut finding) = review.finding(*number).cloned() else { return };
    let (by, note, round) = (by.clone(), note.clone(), *round);
    if *settles {
        let confirmed = *wish == RequestedStatus::Open && finding.status == FindingStatus::Open;
        finding.status = status_of(*wish);
        finding.duplicate_of = *duplicate_of;
        finding.reply = None;
        if let (true, Some(place)) = (confirmed, finding.place().cloned()) {
            // It is true of the content of today, so that is what it is followed from.
            finding.found.place = Some(place.clone());
            finding.raised_on = review.round.content_hash.clone();
            finding.anchor = Some(Anchor { state: AnchorState::Exact, place: Some(place), likely_fixed: false });
        }
        finding.resolution = Some(Resolution { by: by.clone(), role: *role, note: note.clone(), at, round });
        if let Some(first) = duplicate_of {
            merge(review, &finding, *first);
        }
    } else if let Some(says) = says(*wish) {
        finding.reply = Some(Reply { says, note: note.clone(), by: by.clone(), at, round });
    }
    put(review, finding);
    if *status != review.status {
        if let Some(verdict) = verdict_of(*status) {
            let reason = Some(reason_of(*number, *wish, note.as_deref()));
            review.decision = Some(Decision { verdict, reason, by });
        }
        let content_hash = review.round.content_hash.clone();
        settle(review, *status, &content_hash, *lease_ends);
    }
}

/// Makes `finding` one with `first`, and with it those that were one with it.
fn merge(review: &mut Review, finding: &Finding, first: FindingNumber) {
    if let Some(mut first) = review.finding(first).cloned() {
        first.repeated += 1;
        grow(&mut first, &finding.found, finding.late);
        put(review, first);
    }
    let doubles = review.findings.iter().filter(|other| other.duplicate_of == Some(finding.number));
    for mut double in doubles.map(|double| Finding::clone(double)).collect::<Vec<_>>() {
        double.duplicate_of = Some(first);
        put(review, double);
    }
}

/// The word on the content that goes with a status.
pub(super) const fn verdict_of(status: Status) -> Option<Verdict> {
    match status {
        Status::Approved => Some(Verdict::Approved),
        Status::ChangesRequested => Some(Verdict::ChangesRequested),
        Status::Rejected => Some(Verdict::Rejected),
        Status::Pending | Status::Claimed | Status::InReview | Status::Cancelled | Status::Closed => None,
    }
}

fn reason_of(number: FindingNumber, wish: RequestedStatus, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("{number} is {wish}: {note}"),
        None => format!("{number} is {wish}"),
    }
}

const fn says(wish: RequestedStatus) -> Option<ProposerResponse> {
    match wish {
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
