//! Lines of lists.

use super::moment;
use crate::mcp::{page::cut, schema};
use domain::{
    ids::ReviewId,
    priority::Priority,
    review::{Category, Role, Status},
    verdict::{ReviewMetrics, Verdict},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::{MessageRow as StoredMessage, ReviewListRow, VerdictRow};

const INTENT_CHARS: usize = 160;
const REASON_CHARS: usize = 1_000;

/// One line of list_reviews.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ReviewRow<'a> {
    /// The same as review_id.
    #[schemars(with = "String")]
    pub id: ReviewId,
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    /// Its beginning.
    pub intent: &'a str,
    pub agent_type: &'a str,
    pub agent_role: &'a str,
    pub phase: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::category")]
    pub category: Option<Category>,
    #[schemars(schema_with = "schema::priority")]
    pub priority: Priority,
    pub current_round: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_for: Option<&'a str>,
    /// Personas of the seats that can be taken.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub free_seats: &'a [String],
    pub has_diff: bool,
    pub version: u64,
    pub created_at: String,
    pub updated_at: String,
}

impl<'a> ReviewRow<'a> {
    pub(in crate::mcp) fn of(summary: &'a ReviewListRow) -> Self {
        Self {
            id: summary.id,
            review_id: summary.id,
            number: summary.number.to_string(),
            status: summary.status,
            intent: cut(&summary.intent, INTENT_CHARS).0,
            agent_type: &summary.agent_type,
            agent_role: &summary.agent_role,
            phase: &summary.phase,
            plan: summary.plan.as_deref(),
            task: summary.task.as_deref(),
            project: summary.project.as_deref(),
            proposer_id: summary.proposer_id.as_deref(),
            category: summary.category,
            priority: summary.priority,
            current_round: summary.round,
            claimed_by: summary.claimed_by.as_deref(),
            reserved_for: summary.reserved_for.as_deref(),
            free_seats: &summary.free_seats,
            has_diff: summary.has_diff,
            version: summary.version,
            created_at: moment(summary.created_at),
            updated_at: moment(summary.updated_at),
        }
    }
}

/// The answer of list_reviews.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct List<'a> {
    /// With status "pending" (and a caller_id also reviews in_review with a seat free for it) in the order of the queue: critical, normal, low; oldest first. Else newest first.
    pub reviews: Vec<ReviewRow<'a>>,
    /// Give it as `since` when you wait again.
    pub version: u64,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<&'a str>,
    /// Only when waiting: whether the wait ended without news.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Only for a reviewer that the broker is ending: true, and nothing more comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draining: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<&'static str>,
}

/// One verdict, as given.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct IterationRow<'a> {
    pub round: u32,
    pub persona: &'a str,
    pub reviewer_id: &'a str,
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Verdict,
    /// Its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'a str>,
    /// What it took, as far as the reviewer said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub metrics: Option<&'a ReviewMetrics>,
    pub at: String,
}

impl<'a> IterationRow<'a> {
    pub(in crate::mcp) fn of(iteration: &'a VerdictRow) -> Self {
        Self {
            round: iteration.round,
            persona: &iteration.persona,
            reviewer_id: &iteration.by,
            verdict: iteration.verdict,
            reason: iteration.reason.as_deref().map(|text| cut(text, REASON_CHARS).0),
            summary: iteration.summary.as_deref().map(|text| cut(text, REASON_CHARS).0),
            metrics: iteration.metrics.as_ref(),
            at: moment(iteration.at),
        }
    }
}

/// One message, or the part of it that fits.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct MessageRow<'a> {
    pub id: u64,
    pub round: u32,
    pub persona: &'a str,
    #[schemars(schema_with = "schema::role")]
    pub sender_role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_id: Option<&'a str>,
    pub body: &'a str,
    /// Where the body is too long for one page: its length in characters. The next page goes on with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub metadata: Option<&'a Value>,
    pub at: String,
}

impl<'a> MessageRow<'a> {
    /// `body` is the part to show.
    pub(in crate::mcp) fn of(message: &'a StoredMessage, body: &'a str) -> Self {
        let begins = message.body.as_ptr() == body.as_ptr();
        Self {
            id: message.id,
            round: message.round,
            persona: &message.persona,
            sender_role: message.role,
            caller_id: message.by.as_deref(),
            body,
            body_total: (body.len() < message.body.len()).then(|| message.body.chars().count()),
            metadata: message.metadata.as_ref().filter(|_| begins),
            at: moment(message.at),
        }
    }
}

/// The answer of get_discussion.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Discussion<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    /// Oldest first.
    pub messages: Vec<MessageRow<'a>>,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
