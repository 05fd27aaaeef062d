//! The past: a review's timeline, the activity feed and the audit log.

mod event_text;
mod timeline;

use super::{
    Call,
    error::CallError,
    pagination::{json_chars, rows_that_fit},
    time_argument,
};
use actors::requests::HistoryQuery;
use api::{
    ErrorBody,
    history::{
        ActivityEntry, ActivityRequest, ActivityResponse, AuditEntry, AuditRequest, AuditResponse, TimelineRequest,
        TimelineResponse,
    },
    timestamp,
};
use domain::{query::EventOrder, time::Timestamp};
use event_text::{EventText, clipped};
use serde::Serialize;
use store::{EventFilter, EventRecord, Page};
use timeline::timeline_event;

/// Maximum events of one page of a timeline.
const MAX_EVENTS: u32 = 200;

const INTENT_CHARS: usize = 120;

pub(super) async fn activity(call: &Call<'_>, request: ActivityRequest) -> Result<ActivityResponse, CallError> {
    let filter = EventFilter { activity: true, project: project(call, request.project)?, ..EventFilter::default() };
    let (limit, cursor) = (request.limit, request.cursor);
    let query = HistoryQuery { review: None, filter, order: EventOrder::Newest, limit, cursor };
    fit(call, query, |page| ActivityResponse {
        entries: page.items.iter().map(activity_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
}

pub(super) async fn audit(call: &Call<'_>, request: AuditRequest) -> Result<AuditResponse, CallError> {
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now())?;
    let project = project(call, request.project)?;
    let review = match &request.review_id {
        Some(given) => Some(call.resolve(given).await?),
        None => None,
    };
    let (actor, kind) = (request.actor, request.kind);
    let filter = EventFilter { review: None, actor, kind, activity: false, project, since, until };
    let order = request.order.unwrap_or(EventOrder::Newest);
    let query = HistoryQuery { review, filter, order, limit: request.limit, cursor: request.cursor };
    fit(call, query, |page| AuditResponse {
        events: page.items.iter().map(audit_entry).collect(),
        next_cursor: page.next_cursor.clone(),
    })
    .await
}

/// The response to a query, with fewer rows if they are too long for one response.
async fn fit<T: Serialize>(
    call: &Call<'_>,
    mut query: HistoryQuery,
    response: impl Fn(&Page<EventRecord>) -> T,
) -> Result<T, CallError> {
    loop {
        let page = call.broker.history(query.clone()).await?;
        let response = response(&page);
        match rows_that_fit(page.items.len(), &response, call.service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => query.limit = u32::try_from(rows).ok(),
        }
    }
}

fn activity_entry(row: &EventRecord) -> ActivityEntry {
    let review = row.review();
    let EventText { text, preview } = EventText::new(row);
    ActivityEntry {
        seq: row.seq,
        at: timestamp(row.at),
        kind: row.kind(),
        actor: row.actor.clone(),
        review_id: review.map(|(id, ..)| id),
        number: review.map(|(_, number, _)| number.to_string()),
        intent: row.intent.as_deref().map(|intent| clipped(intent, INTENT_CHARS)),
        text,
        preview,
    }
}

fn audit_entry(row: &EventRecord) -> AuditEntry {
    let review = row.review();
    let EventText { text, preview } = EventText::new(row);
    AuditEntry {
        seq: row.seq,
        at: timestamp(row.at),
        kind: row.kind(),
        actor: row.actor.clone(),
        review_id: review.map(|(id, ..)| id),
        number: review.map(|(_, number, _)| number.to_string()),
        version: review.map(|(.., version)| version),
        status: row.status,
        round: row.round,
        detail: match preview {
            Some(preview) => format!("{text} ({preview})"),
            None => text,
        },
    }
}

pub(super) async fn timeline(call: &Call<'_>, request: TimelineRequest) -> Result<TimelineResponse, CallError> {
    let after = match request.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| ErrorBody::bad_cursor("timeline"))?,
        None => 0,
    };
    let id = call.resolve(&request.review_id).await?;
    let review = call.broker.review(id).await?;
    let steps = call.broker.steps(id, after, MAX_EVENTS).await?;
    let (mut left, mut events) = (call.service.settings.page_chars, Vec::new());
    for step in &steps {
        let Some((round, event)) = timeline_event(step) else { continue };
        let chars = json_chars(&event)?;
        // The first event is always returned, so that every page makes progress.
        if chars > left && !events.is_empty() {
            break;
        }
        left = left.saturating_sub(chars);
        events.push((round, event));
    }
    let is_last = events.len() == steps.len()
        && steps.last().is_none_or(|last| last.event.review().is_none_or(|(.., version)| version >= review.version));
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
    let since = since.map(|given| time_argument::parse("since", given, now)).transpose()?;
    let until = until.map(|given| time_argument::parse("until", given, now)).transpose()?;
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
