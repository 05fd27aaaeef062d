//! Operations that read the past: the timeline of a review, the activity feed and the audit log.

mod timeline;

use super::{
    Call,
    error::{CallError, error_body},
    pagination::{json_chars, rows_that_fit},
};
use crate::events::to_event;
use actors::BrokerError;
use api::{
    ErrorBody,
    history::{
        ActivityEntry, ActivityRequest, ActivityResponse, AuditEntry, AuditRequest, AuditResponse, TimelineRequest,
        TimelineResponse,
    },
};
use domain::{
    query::EventOrder,
    text::{ellipsize, escape},
    time::Timestamp,
};
use jiff::{civil::Date, tz::TimeZone};
use serde::Serialize;
use store::{EventFilter, EventRecord, Page};
use timeline::timeline_event;

/// Maximum events of one page of a timeline.
const MAX_EVENTS: u32 = 200;

const MAX_INTENT_CHARS: usize = 121;

/// Longer than any valid time.
const MAX_TIME_CHARS: usize = 64;

pub(super) async fn activity(call: &Call<'_>, request: ActivityRequest) -> Result<ActivityResponse, CallError> {
    let filter = EventFilter { activity: true, project: project(call, request.project)?, ..EventFilter::default() };
    fit(call, &filter, EventOrder::Newest, request.cursor.as_deref(), request.limit, |page| ActivityResponse {
        entries: page.items.iter().map(activity_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
}

pub(super) async fn audit(call: &Call<'_>, request: AuditRequest) -> Result<AuditResponse, CallError> {
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now())?;
    let project = project(call, request.project)?;
    let review = match &request.review_id {
        Some(given) => Some(call.broker.review(call.resolve(given).await?).await?.number),
        None => None,
    };
    let (actor, kind) = (request.actor, request.kind);
    let filter = EventFilter { review, actor, kind, activity: false, project, since, until };
    let order = request.order.unwrap_or(EventOrder::Newest);
    fit(call, &filter, order, request.cursor.as_deref(), request.limit, |page| AuditResponse {
        events: page.items.iter().map(audit_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
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
        kind: event.kind(),
        text: event.summary(),
        preview: event.preview(),
        actor: event.actor,
        review_id: event.review_id,
        number: event.number,
        intent: record.intent.as_deref().map(intent),
    }
}

fn audit_entry(record: &EventRecord) -> AuditEntry {
    let event = to_event(record);
    let summary = event.summary();
    AuditEntry {
        seq: event.seq,
        at: event.at,
        kind: event.kind(),
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
    }
}

pub(super) async fn timeline(call: &Call<'_>, request: TimelineRequest) -> Result<TimelineResponse, CallError> {
    let after = match request.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| ErrorBody::bad_cursor("timeline"))?,
        None => 0,
    };
    let id = call.resolve(&request.review_id).await?;
    let review = call.broker.review(id).await?;
    let _call = call.broker.admit()?;
    let records = call.broker.reader().list_timeline(review.number, after, MAX_EVENTS).await?;
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
    Ok(timeline::timeline(&review, events, is_last))
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
