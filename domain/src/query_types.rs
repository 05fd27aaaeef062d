//! Types for the arguments and rows of database queries. The store executes the queries, and the API returns the rows
//! as they are.

use crate::{
    credential::Authority,
    ids::ReviewNumber,
    review::{MessageAnchor, Recipient},
    verdict::{ReviewMetrics, Verdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

crate::string_enum! {
    EventOrder { Newest = "newest", Oldest = "oldest" }
}

crate::string_enum! {
    /// How statistics are grouped. Days are in UTC.
    GroupBy {
        None = "none",
        Reviewer = "reviewer",
        Persona = "persona",
        Category = "category",
        Day = "day",
        /// Each persona on each day.
        DayPersona = "day_persona",
    }
}

crate::string_enum! {
    /// How counts of findings are grouped.
    FindingGroupBy {
        File = "file",
        Severity = "severity",
        Persona = "persona",
        Reviewer = "reviewer",
        Review = "review",
        Status = "status",
        Type = "type",
        Project = "project",
    }
}

impl FindingGroupBy {
    /// The column of the index of findings.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Type => "kind",
            Self::File
            | Self::Severity
            | Self::Persona
            | Self::Reviewer
            | Self::Review
            | Self::Status
            | Self::Project => self.as_str(),
        }
    }
}

/// A message of a discussion.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub id: u64,
    pub round: u32,
    /// The seat whose discussion it belongs to.
    pub persona: Option<String>,
    /// Whom it addresses, if it does not belong to one seat.
    pub to: Option<Recipient>,
    /// An operator is a person who holds no seat.
    pub sender_role: Authority,
    pub caller_id: Option<String>,
    pub body: String,
    /// The length of the whole body in characters, if it does not fit on one page. The next page continues it.
    pub body_total: Option<usize>,
    /// What it refers to.
    pub anchor: Option<MessageAnchor>,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<Value>,
    pub at: jiff::Timestamp,
}

/// One verdict.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// The verdict's id within its review. Issues that it raised name it.
    pub verdict_id: u64,
    pub round: u32,
    pub persona: String,
    pub reviewer_id: String,
    pub verdict: Verdict,
    /// The start of the reason.
    pub reason: Option<String>,
    /// The start of the summary.
    pub summary: Option<String>,
    /// Effort, as far as the reviewer reports it.
    pub metrics: Option<ReviewMetrics>,
    pub at: jiff::Timestamp,
}

/// Effort of one reviewer in one round, as far as it reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerEffort {
    pub round: u32,
    pub persona: String,
    pub reviewer_id: String,
    /// Includes comments.
    pub verdicts: u64,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// An event that a webhook did not accept.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadDelivery {
    /// The event's sequence number in the log.
    pub seq: u64,
    pub kind: String,
    /// The number of the review that the event is about.
    pub number: Option<ReviewNumber>,
    pub attempts: u32,
    pub last_error: String,
    pub at: jiff::Timestamp,
    /// It will be tried again.
    pub waiting: bool,
}

/// A file with the conventions of a project, as it is before the change under review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConventionsFile {
    pub path: String,
    /// The middle of a long text is left out.
    pub text: String,
}
