//! Request and response types for reading past events: the timeline of a review, the activity feed and the audit log.

use domain::{
    credential::Authority,
    event_kind::EventKind,
    finding::{FindingStatus, RequestedStatus, Severity},
    ids::{ReviewId, ReviewNumber},
    query_types::EventOrder,
    review::{AnchoredText, ClaimEndReason, DiffSide, MessageAnchor, Recipient, Status},
    reviewer_pool::VerdictCounts,
    verdict::{ReviewMetrics, Verdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimelineRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
    /// Your own id. It renews your claim of the review.
    pub caller_id: Option<String>,
    /// Only events up to this version. Default: all.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ActivityRequest {
    /// Only this review: its id, its number, or a unique prefix of the id.
    pub review_id: Option<String>,
    /// Only events caused by this actor, spelled as in the log.
    pub actor: Option<String>,
    /// Only events of these kinds.
    pub kind: Option<Vec<EventKind>>,
    /// Only this project.
    pub project: Option<String>,
    /// The start of the period: a time (RFC 3339, or a date, in UTC) or an age (30m, 24h, 7d).
    pub since: Option<String>,
    /// The end of the period, in the format of since. Exclusive.
    pub until: Option<String>,
    /// Rows per page, 1 to 200. Default 50.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditRequest {
    /// Only this review: its id, its number, or a unique prefix of the id.
    pub review_id: Option<String>,
    /// Only events caused by this actor, spelled as in the log.
    pub actor: Option<String>,
    /// Only events of these kinds.
    pub kind: Option<Vec<EventKind>>,
    /// Only this project.
    pub project: Option<String>,
    /// The start of the period: a time (RFC 3339, or a date, in UTC) or an age (30m, 24h, 7d).
    pub since: Option<String>,
    /// The end of the period, in the format of since. Exclusive.
    pub until: Option<String>,
    /// Which events come first. Default "newest".
    pub order: Option<EventOrder>,
    /// Rows per page, 1 to 200. Default 50.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page, with unchanged filters.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct EventRequest {
    /// The sequence number in the log.
    pub seq: u64,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ActivityResponse {
    /// Newest first.
    pub entries: Vec<ActivityEntry>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ActivityEntry {
    /// The sequence number in the log.
    pub seq: u64,
    pub at: jiff::Timestamp,
    pub kind: EventKind,
    pub actor: Option<String>,
    pub review_id: Option<ReviewId>,
    pub number: Option<ReviewNumber>,
    /// The review's current intent.
    pub intent: Option<String>,
    /// What happened, in one line.
    pub text: String,
    /// The start of the intent, message or reason.
    pub preview: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditResponse {
    pub events: Vec<AuditEntry>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// The sequence number in the log.
    pub seq: u64,
    pub at: jiff::Timestamp,
    pub kind: EventKind,
    /// Who caused the event. Absent: the broker.
    pub actor: Option<String>,
    pub review_id: Option<ReviewId>,
    /// Absent for events of the pool.
    pub number: Option<ReviewNumber>,
    /// The review's version after the event.
    pub version: Option<u64>,
    /// The review's status after the event.
    pub status: Option<Status>,
    pub round: Option<u32>,
    /// The claim of a claim, its end or a verdict.
    pub claim_generation: Option<u32>,
    /// The operator who started or stopped a reviewer, by the name of the token.
    pub by: Option<String>,
    /// Of a reviewer process.
    pub pid: Option<u32>,
    /// How many verdicts a reviewer gave that ended.
    pub verdicts: Option<VerdictCounts>,
    /// What happened, in short.
    pub detail: String,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TimelineResponse {
    pub review_id: ReviewId,
    pub number: ReviewNumber,
    pub status: Status,
    pub current_round: u32,
    pub created_at: jiff::Timestamp,
    pub updated_at: jiff::Timestamp,
    /// Time from submission to the last event.
    pub took_ms: u64,
    /// Oldest first. A round that started on the previous page continues here.
    pub rounds: Vec<TimelineRound>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TimelineRound {
    pub round: u32,
    /// Oldest first.
    pub events: Vec<TimelineEvent>,
}

/// One event of a review. Fields that do not concern it are absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEvent {
    /// The review's version after the event.
    pub version: u64,
    pub at: jiff::Timestamp,
    /// Milliseconds since the previous event.
    pub after_ms: Option<u64>,
    pub kind: EventKind,
    /// Who caused the event. Absent: the broker.
    pub actor: Option<String>,
    /// The review's status after the event.
    pub status: Status,
    /// The seat's persona.
    pub persona: Option<String>,
    pub intent: Option<String>,
    /// What a revision changed.
    pub change_note: Option<String>,
    pub content_hash: Option<String>,
    pub claim_generation: Option<u32>,
    /// Milliseconds from the claim to this verdict, or to its end without one.
    pub held_ms: Option<u64>,
    /// Why a claim ended without a vote.
    pub ended: Option<ClaimEndReason>,
    pub verdict: Option<Verdict>,
    /// Reason of a verdict, a cancellation or the end of a claim; git's message if the diff did not apply.
    pub reason: Option<String>,
    /// The commit in which the approved change landed.
    pub landed_as: Option<String>,
    pub summary: Option<String>,
    /// Effort, as far as the reviewer reports it.
    pub metrics: Option<ReviewMetrics>,
    /// offered, accepted or rejected.
    pub counter_patch: Option<Cow<'static, str>>,
    /// The review escalated to a person.
    pub escalate: Option<bool>,
    pub sender_role: Option<Authority>,
    /// Whom a message addresses, if it does not belong to one seat.
    pub to: Option<Recipient>,
    /// The text of a message.
    pub body: Option<String>,
    /// What a message refers to.
    pub anchor: Option<MessageAnchor>,
    /// Issues and suggestions raised by a verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedIssue>,
    /// Issues that this event resolved or reopened, and what was requested for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<ResolvedIssue>,
    /// The note to an issue.
    pub note: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RaisedIssue {
    /// For example I-41.
    pub issue_id: String,
    pub severity: Severity,
    pub title: String,
    pub file: Option<String>,
    /// "old" if the lines are counted in the file before the change. Absent for the file after it.
    pub side: Option<DiffSide>,
    /// "description" if the lines are counted in the description. Absent for a file.
    #[serde(rename = "in")]
    pub text: Option<AnchoredText>,
    pub line_start: Option<u32>,
    pub is_suggestion: Option<bool>,
    /// The issue that it repeats.
    pub duplicate_of: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedIssue {
    pub issue_id: String,
    /// The new status. Absent while its reviewer has not agreed.
    pub status: Option<FindingStatus>,
    /// The requested status.
    pub said: Option<RequestedStatus>,
}
