//! Builds the timeline of a review from its events.

use api::{
    excerpt,
    history::{RaisedIssue, ResolvedIssue, TimelineEvent, TimelineResponse, TimelineRound},
};
use domain::{
    finding::FindingStatus,
    review::{Event, FindingRaised, FindingResolved, FindingUpdated, Review, Round},
};
use store::{LogEntry, TimelineRecord};

const TEXT_CHARS: usize = 2_000;
const MAX_FINDINGS: usize = 30;

/// The events of one page by round. `is_last`: no events follow.
pub(super) fn timeline(review: &Review, events: Vec<(u32, TimelineEvent)>, is_last: bool) -> TimelineResponse {
    let last = events.last().map(|(_, event)| event.version);
    let mut rounds = Vec::<TimelineRound>::new();
    for (number, event) in events {
        match rounds.last_mut() {
            Some(round) if round.round == number => round.events.push(event),
            Some(_) | None => rounds.push(TimelineRound { round: number, events: vec![event] }),
        }
    }
    TimelineResponse {
        review_id: review.id,
        number: review.number,
        status: review.status,
        current_round: review.round.number,
        created_at: review.created_at.into(),
        updated_at: review.updated_at.into(),
        took_ms: between(review.created_at.0, review.updated_at.0),
        rounds,
        next_cursor: last.filter(|_| !is_last).map(|version| version.to_string()),
    }
}

/// The event of a review and its round; `None` for an event of the pool.
pub(super) fn timeline_event(record: &TimelineRecord) -> Option<(u32, TimelineEvent)> {
    let LogEntry::Review { recorded, .. } = &record.event.entry else { return None };
    let at = record.event.at;
    let base = TimelineEvent {
        version: recorded.version,
        at: at.into(),
        after_ms: record.previous_at.map(|previous| between(previous.0, at.0)),
        kind: recorded.event.kind(),
        actor: record.event.actor.clone(),
        status: record.event.status?,
        held_ms: record.claimed_at.map(|claimed| between(claimed.0, at.0)),
        ..TimelineEvent::default()
    };
    Some((record.event.round?, with_data(base, &recorded.event)))
}

fn with_data(base: TimelineEvent, event: &Event) -> TimelineEvent {
    match event {
        Event::Proposed(proposed) => submitted(base, &proposed.round),
        Event::Revised { round, .. } => submitted(base, round),
        Event::Claimed { persona, generation, .. } => {
            TimelineEvent { persona: Some(persona.clone()), claim_generation: Some(*generation), ..base }
        }
        Event::AutoRejected { message, .. } => TimelineEvent { reason: Some(shorten(message)), ..base },
        Event::ClaimEnded { persona, reason, detail, .. } => TimelineEvent {
            persona: Some(persona.clone()),
            ended: Some(*reason),
            reason: detail.as_deref().map(shorten),
            ..base
        },
        Event::ReservationEnded { persona, .. } => TimelineEvent { persona: Some(persona.clone()), ..base },
        Event::VerdictGiven(given) => TimelineEvent {
            persona: Some(given.persona.clone()),
            claim_generation: Some(given.generation),
            verdict: Some(given.verdict),
            reason: given.reason.as_deref().map(shorten),
            summary: given.summary.as_deref().map(shorten),
            metrics: given.metrics.clone(),
            counter_patch: given.offers_patch.then_some("offered".into()),
            escalate: given.escalation.map(|_| true),
            raised: given.findings.iter().take(MAX_FINDINGS).map(raised).collect(),
            settled: given.resolved.iter().map(resolved).collect(),
            ..base
        },
        Event::FindingUpdated(updated) => {
            TimelineEvent { settled: vec![requested(updated)], note: updated.note.as_deref().map(shorten), ..base }
        }
        Event::MessageAdded { persona, role, body, .. } => TimelineEvent {
            persona: Some(persona.clone()),
            sender_role: Some(*role),
            body: Some(shorten(body)),
            ..base
        },
        Event::CounterPatchAccepted { persona, content_hash, .. } => TimelineEvent {
            persona: Some(persona.clone()),
            counter_patch: Some("accepted".into()),
            content_hash: Some(content_hash.0.clone()),
            ..base
        },
        Event::CounterPatchRejected { persona, .. } => {
            TimelineEvent { persona: Some(persona.clone()), counter_patch: Some("rejected".into()), ..base }
        }
        Event::Cancelled { reason, .. } => TimelineEvent { reason: Some(shorten(reason)), ..base },
        Event::Closed { .. } => base,
    }
}

fn submitted(base: TimelineEvent, round: &Round) -> TimelineEvent {
    TimelineEvent { intent: Some(shorten(&round.intent)), content_hash: Some(round.content_hash.0.clone()), ..base }
}

fn raised(raised: &FindingRaised) -> RaisedIssue {
    let location = raised.found.location.as_ref();
    RaisedIssue {
        issue_id: raised.number.to_string(),
        severity: raised.found.severity,
        title: raised.found.title.clone(),
        file: location.map(|location| location.file.clone()),
        line_start: location.and_then(|location| location.lines).map(|lines| lines.start),
        is_suggestion: (!raised.found.is_issue).then_some(true),
        duplicate_of: raised.duplicate.map(|duplicate| duplicate.first.to_string()),
    }
}

fn resolved(resolved: &FindingResolved) -> ResolvedIssue {
    ResolvedIssue { issue_id: resolved.number.to_string(), status: Some(resolved.status), said: None }
}

fn requested(updated: &FindingUpdated) -> ResolvedIssue {
    let status = FindingStatus::parse(updated.requested.as_str()).filter(|_| updated.settles);
    ResolvedIssue { issue_id: updated.number.to_string(), status, said: Some(updated.requested) }
}

fn shorten(text: &str) -> String {
    excerpt::shorten(text, TEXT_CHARS, "")
}

fn between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
