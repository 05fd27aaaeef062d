//! The log as answers show it: for people, and for whoever has to account for it.

use super::{
    moment,
    told::{Told, clipped},
};
use crate::mcp::schema;
use domain::{event_kind::EventKind, ids::ReviewId, review::Status};
use schemars::JsonSchema;
use serde::Serialize;
use store::{EventRecord, LogEntry};

const INTENT_CHARS: usize = 120;

/// The answer of get_activity_feed.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Activity<'a> {
    /// Newest first.
    pub entries: Vec<ActivityRow<'a>>,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ActivityRow<'a> {
    /// Its place in the log.
    pub seq: u64,
    pub at: String,
    #[schemars(schema_with = "schema::log_kind")]
    pub kind: EventKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub review_id: Option<ReviewId>,
    /// The short number, R-12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// What the review is for, as it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// What happened, in one line.
    pub text: String,
    /// The beginning of the intent, message or reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

impl<'a> ActivityRow<'a> {
    pub(in crate::mcp) fn of(row: &'a EventRecord) -> Self {
        let (review_id, number, kind) = head(row);
        let Told { text, preview } = Told::of(row);
        Self {
            seq: row.seq,
            at: moment(row.at),
            kind,
            actor: row.actor.as_deref(),
            review_id,
            number,
            intent: row.intent.as_deref().map(|intent| clipped(intent, INTENT_CHARS)),
            text,
            preview,
        }
    }
}

/// The answer of get_audit_log.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Audit<'a> {
    pub events: Vec<AuditRow<'a>>,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct AuditRow<'a> {
    /// Its place in the log.
    pub seq: u64,
    pub at: String,
    #[schemars(schema_with = "schema::log_kind")]
    pub kind: EventKind,
    /// Who made it happen; absent where the broker did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub review_id: Option<ReviewId>,
    /// The short number, R-12; absent where it is about the broker's own reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// The review's version after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The review's status after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::status")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// What happened, in short.
    pub detail: String,
}

impl<'a> AuditRow<'a> {
    pub(in crate::mcp) fn of(row: &'a EventRecord) -> Self {
        let (review_id, number, kind) = head(row);
        let version = match &row.entry {
            LogEntry::Review { recorded, .. } => Some(recorded.version),
            LogEntry::Pool(_) => None,
        };
        let Told { text, preview } = Told::of(row);
        Self {
            seq: row.seq,
            at: moment(row.at),
            kind,
            actor: row.actor.as_deref(),
            review_id,
            number,
            version,
            status: row.status,
            round: row.round,
            detail: preview.map_or_else(|| text.clone(), |preview| format!("{text} ({preview})")),
        }
    }
}

fn head(row: &EventRecord) -> (Option<ReviewId>, Option<String>, EventKind) {
    match &row.entry {
        LogEntry::Review { id, number, recorded } => (Some(*id), Some(number.to_string()), recorded.event.kind()),
        LogEntry::Pool(event) => (None, None, event.kind()),
    }
}
