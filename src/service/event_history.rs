//! Operations that read past events: the timeline of a review, the activity feed and the audit log.

use super::{
    Call,
    error::{CallError, error_body},
    pagination::{json_chars, rows_that_fit},
};
use crate::live_events::to_event;
use actors::BrokerError;
use api::{
    ErrorBody, ErrorCode,
    event_history::{
        ActivityEntry, ActivityRequest, ActivityResponse, AuditEntry, AuditRequest, AuditResponse, EventRequest,
        RaisedIssue, ResolvedIssue, TimelineEvent, TimelineRequest, TimelineResponse, TimelineRound,
    },
    events::EventData,
    truncation,
};
use domain::{
    finding::{FindingNumber, FindingStatus, Location},
    query_types::EventOrder,
    review::{Event, FindingRaised, FindingResolved, FindingUpdated, Review, Round},
    reviewer_pool::VerdictCounts,
    text::{ellipsize, escape, short_commit},
    time::Timestamp,
};
use jiff::{civil::Date, tz::TimeZone};
use serde::Serialize;
use store::{EventFilter, EventRecord, LogEntry, Page, TimelineRecord};

/// Maximum events of one page of a timeline.
const MAX_EVENTS: u32 = 200;

/// Most characters of a text in a timeline, and most findings of one verdict.
const TEXT_CHARS: usize = 2_000;
const MAX_FINDINGS: usize = 30;

const MAX_INTENT_CHARS: usize = 121;

/// Longer than any valid time.
const MAX_TIME_CHARS: usize = 64;

pub(super) async fn activity(call: &Call<'_>, request: ActivityRequest) -> Result<ActivityResponse, CallError> {
    let ActivityRequest { review_id, actor, kind, project, since, until, .. } = request;
    let filters = AuditRequest { review_id, actor, kind, project, since, until, ..AuditRequest::default() };
    let filter = EventFilter { activity: true, ..filter(call, filters).await? };
    fit(call, &filter, EventOrder::Newest, request.cursor.as_deref(), request.limit, |page| ActivityResponse {
        entries: page.items.iter().map(activity_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
}

pub(super) async fn audit(call: &Call<'_>, request: AuditRequest) -> Result<AuditResponse, CallError> {
    let (order, cursor, limit) = (request.order.unwrap_or(EventOrder::Newest), request.cursor.clone(), request.limit);
    let filter = filter(call, request).await?;
    fit(call, &filter, order, cursor.as_deref(), limit, |page| AuditResponse {
        events: page.items.iter().map(audit_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
}

/// The filters of a request.
pub(super) async fn filter(call: &Call<'_>, request: AuditRequest) -> Result<EventFilter, CallError> {
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now())?;
    let project = project(call, request.project)?;
    let review = match &request.review_id {
        Some(given) => Some(call.broker.review(call.resolve(given).await?).await?.number),
        None => None,
    };
    let kinds = request.kind.unwrap_or_default();
    Ok(EventFilter { review, actor: request.actor, kinds, activity: false, project, since, until })
}

/// One event, if it is in a project that the caller may see.
pub(super) async fn event(call: &Call<'_>, request: EventRequest) -> Result<api::events::Event, CallError> {
    let filter = EventFilter { project: project(call, None)?, ..EventFilter::default() };
    let behind = request.seq.saturating_add(1).to_string();
    let page = call.broker.history(&filter, EventOrder::Newest, Some(&behind), Some(1)).await?;
    let found = page.items.first().filter(|record| record.seq == request.seq);
    found.map(to_event).ok_or_else(|| {
        let error = format!("the log has no event {}; list the events with get_audit_log", request.seq);
        ErrorBody::new(ErrorCode::UnknownEvent, error).into()
    })
}

/// The response to a query, with fewer rows if they are too long for one response.
async fn fit<T: Serialize>(
    call: &Call<'_>,
    filter: &EventFilter,
    order: EventOrder,
    cursor: Option<&str>,
    mut limit: Option<u32>,
    response: impl Fn(&Page<EventRecord>) -> T,
) -> Result<T, CallError> {
    loop {
        let page = call.broker.history(filter, order, cursor, limit).await?;
        let response = response(&page);
        match rows_that_fit(page.items.len(), &response, call.service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => limit = u32::try_from(rows).ok(),
        }
    }
}

fn activity_entry(record: &EventRecord) -> ActivityEntry {
    let event = to_event(record);
    let intent = |intent: &str| ellipsize(&escape(intent.trim()), MAX_INTENT_CHARS).into_owned();
    ActivityEntry {
        seq: event.seq,
        at: event.at,
        kind: record.kind(),
        text: event.summary(),
        preview: event.preview(),
        actor: event.actor,
        review_id: event.review_id,
        number: event.number,
        intent: record.intent.as_deref().map(intent),
    }
}

/// What only some kinds of events have.
#[derive(Default)]
struct AuditFacts {
    claim_generation: Option<u32>,
    by: Option<String>,
    pid: Option<u32>,
    verdicts: Option<VerdictCounts>,
}

impl AuditFacts {
    fn of(data: &EventData) -> Self {
        match data {
            EventData::Claimed { claim_generation, .. }
            | EventData::ClaimEnded { claim_generation, .. }
            | EventData::VerdictGiven { claim_generation, .. } => {
                Self { claim_generation: Some(*claim_generation), ..Self::default() }
            }
            EventData::ReviewerSpawned { by, pid, .. } => Self { by: by.clone(), pid: *pid, ..Self::default() },
            EventData::ReviewerRetried { pid, .. } => Self { pid: *pid, ..Self::default() },
            EventData::ReviewerDraining { by, .. }
            | EventData::CrashLoopCleared { by }
            | EventData::PoolPaused { by }
            | EventData::PoolResumed { by }
            | EventData::PoolLimitChanged { by, .. } => Self { by: by.clone(), ..Self::default() },
            EventData::ReviewerTerminated { by, pid, verdicts, .. } => {
                Self { by: by.clone(), pid: *pid, verdicts: *verdicts, ..Self::default() }
            }
            EventData::Proposed { .. }
            | EventData::Revised { .. }
            | EventData::Rebased { .. }
            | EventData::AutoRejected { .. }
            | EventData::ReservationEnded { .. }
            | EventData::ClaimRenewed { .. }
            | EventData::SeatAdded { .. }
            | EventData::FindingUpdated { .. }
            | EventData::MessageAdded { .. }
            | EventData::CounterPatchAccepted { .. }
            | EventData::CounterPatchRejected { .. }
            | EventData::Cancelled { .. }
            | EventData::Closed { .. }
            | EventData::CrashLoop { .. } => Self::default(),
        }
    }
}

pub(super) fn audit_entry(record: &EventRecord) -> AuditEntry {
    let event = to_event(record);
    let summary = event.summary();
    let AuditFacts { claim_generation, by, pid, verdicts } = AuditFacts::of(&event.data);
    AuditEntry {
        seq: event.seq,
        at: event.at,
        kind: record.kind(),
        detail: match event.preview() {
            Some(preview) => format!("{summary} ({preview})"),
            None => summary,
        },
        actor: event.actor,
        review_id: event.review_id,
        number: event.number,
        version: event.version,
        status: event.status,
        round: event.round,
        claim_generation,
        by,
        pid,
        verdicts,
    }
}

pub(super) async fn timeline(call: &Call<'_>, request: TimelineRequest) -> Result<TimelineResponse, CallError> {
    let after = match request.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| ErrorBody::bad_cursor("timeline"))?,
        None => 0,
    };
    let name = call.authz.identity_for("caller_id", request.caller_id)?;
    let review = call.view(&request.review_id, request.at, name.as_deref()).await?;
    let _call = call.broker.admit()?;
    let mut records = call.broker.reader().list_timeline(review.number, after, MAX_EVENTS).await?;
    records.retain(|record| record.event.review().is_none_or(|(.., version)| version <= review.version));
    let (mut left, mut events) = (call.service.settings.page_chars, Vec::new());
    for record in &records {
        let Some((round, event)) = timeline_event(record) else { continue };
        let chars = json_chars(&event)?;
        // The first event is always returned, so that every page makes progress.
        if chars > left && !events.is_empty() {
            break;
        }
        left = left.saturating_sub(chars);
        events.push((round, event));
    }
    let is_last = events.len() == records.len()
        && records.last().and_then(|last| last.event.review()).is_none_or(|(.., version)| version >= review.version);
    Ok(timeline_page(&review, events, is_last))
}

/// The events of one page by round. `is_last`: no events follow.
fn timeline_page(review: &Review, events: Vec<(u32, TimelineEvent)>, is_last: bool) -> TimelineResponse {
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
fn timeline_event(record: &TimelineRecord) -> Option<(u32, TimelineEvent)> {
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
        Event::Rebased { from, to, content_hash, .. } => TimelineEvent {
            reason: Some(rebased_reason(from.as_deref(), to)),
            content_hash: Some(content_hash.0.clone()),
            ..base
        },
        Event::AutoRejected { message, .. } => TimelineEvent { reason: Some(shorten(message)), ..base },
        Event::ClaimEnded { persona, reason, detail, .. } => TimelineEvent {
            persona: Some(persona.clone()),
            ended: Some(*reason),
            reason: detail.as_deref().map(shorten),
            ..base
        },
        Event::ReservationEnded { persona, .. }
        | Event::ClaimRenewed { persona, .. }
        | Event::SeatAdded { persona, .. } => TimelineEvent { persona: Some(persona.clone()), ..base },
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
        Event::MessageAdded { persona, to, role, body, anchor, escalation, .. } => TimelineEvent {
            persona: persona.clone(),
            to: *to,
            sender_role: Some(*role),
            body: Some(shorten(body)),
            anchor: anchor.clone(),
            escalate: escalation.map(|_| true),
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
        Event::Closed { settled, landed_as, .. } => {
            let status = FindingStatus::WontFix;
            let closed = |number: &FindingNumber| resolved(&FindingResolved { number: *number, status });
            let settled = settled.iter().take(MAX_FINDINGS).map(closed).collect();
            TimelineEvent { settled, landed_as: landed_as.clone(), ..base }
        }
    }
}

fn rebased_reason(from: Option<&str>, to: &str) -> String {
    let from = from.map_or("the empty tree", short_commit);
    format!("the diff applies to HEAD ({}), not to its base {from}", short_commit(to))
}

fn submitted(base: TimelineEvent, round: &Round) -> TimelineEvent {
    TimelineEvent {
        intent: Some(shorten(&round.intent)),
        change_note: round.change_note.as_deref().map(shorten),
        content_hash: Some(round.content_hash.0.clone()),
        ..base
    }
}

fn raised(raised: &FindingRaised) -> RaisedIssue {
    let location = raised.found.location.as_ref();
    RaisedIssue {
        issue_id: raised.number.to_string(),
        severity: raised.found.severity,
        title: raised.found.title.clone(),
        file: location.and_then(Location::file).map(str::to_owned),
        side: location.and_then(Location::old_side),
        text: location.and_then(Location::other_text),
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
    truncation::shorten(text, TEXT_CHARS, "")
}

fn between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

pub(super) fn period(
    since: Option<&str>,
    until: Option<&str>,
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>), ErrorBody> {
    let since = since.map(|given| parse_time("since", given, now)).transpose()?;
    let until = until.map(|given| parse_time("until", given, now)).transpose()?;
    match (since, until) {
        (Some(since), Some(until)) if since >= until => {
            Err(ErrorBody::invalid("until", "is not after since, so the period is empty"))
        }
        period => Ok(period),
    }
}

/// The requested project, limited to the token's scope; `None`: all.
pub(super) fn project(call: &Call<'_>, given: Option<String>) -> Result<Option<Option<String>>, CallError> {
    if let Some(project) = &given {
        call.authz.check_readable_project(project)?;
        call.broker.known_project(project)?;
        return Ok(Some(given));
    }
    Ok(call.authz.only_project())
}

/// Parses a time argument: an instant, a date, or an age such as 24h.
fn parse_time(field: &'static str, given: &str, now: Timestamp) -> Result<Timestamp, ErrorBody> {
    let chars = given.chars().count();
    if chars > MAX_TIME_CHARS {
        let error = BrokerError::TooLong { field, actual: chars, limit: MAX_TIME_CHARS, unit: "characters" };
        return Err(error_body(&error));
    }
    let text = given.trim();
    instant(text).or_else(|| age(text, now)).ok_or_else(|| {
        let problem = format!(
            "{given:?} is not a time; expected RFC 3339 (2026-11-16T09:00:00Z), a date (2026-11-16), or an age: a \
             number with s, m, h, d or w (90s, 24h, 7d)"
        );
        ErrorBody::invalid(field, &problem)
    })
}

fn instant(text: &str) -> Option<Timestamp> {
    let at = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        (text.len() == "2026-11-16".len()).then(|| midnight.timestamp())
    })?;
    Some(Timestamp(at.as_millisecond()))
}

fn age(text: &str, now: Timestamp) -> Option<Timestamp> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let number: i64 = number.parse::<u32>().ok()?.into();
    Some(Timestamp(now.0.saturating_sub(number * seconds * 1_000)))
}

#[cfg(test)]
mod tests {
    use super::parse_time;
    use domain::time::Timestamp;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn a_time_is_an_instant_a_date_or_an_age() {
        let at = |text| parse_time("since", text, NOW).unwrap().0;
        assert_eq!(at("1970-01-01T00:00:01Z"), 1_000);
        assert_eq!(at("1970-01-01T01:00:01+01:00"), 1_000);
        assert_eq!(at("1970-01-02"), 86_400_000);
        assert_eq!(at("90s"), NOW.0 - 90_000);
        assert_eq!(at(" 7d "), NOW.0 - 7 * 86_400_000);
        assert_eq!(at("0h"), NOW.0);
    }

    #[test]
    fn anything_else_is_refused_with_the_allowed_formats() {
        for text in ["yesterday", "", "d", "-1d", "1.5h", "7", "7ü", "2026-13-01", "2026-11-16T09:00:00", "\u{202e}"] {
            let refused = parse_time("until", text, NOW).unwrap_err();
            assert_eq!(refused.code.as_str(), "invalid_argument", "{text}");
            assert!(refused.error.contains("until") && refused.error.contains("7d"), "{}", refused.error);
            assert!(!refused.error.contains('\u{202e}'));
        }
        assert_eq!(parse_time("since", &"9".repeat(300), NOW).unwrap_err().code.as_str(), "too_long");
    }
}
