//! Issues and suggestions, and what is asked of them.

use super::{lenient, schema};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct FindingArgs {
    /// What kind of problem. Default "other".
    #[serde(default, rename = "type", deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::finding_kind")]
    pub kind: Option<String>,
    /// critical: must not land. high: a real fault that users will meet. medium: should be fixed. low: a nit. Required
    /// of an issue; suggestions are low by default.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::severity")]
    pub severity: Option<String>,
    /// The path, as affected_files has it; any file of the project can be meant.
    #[serde(default, deserialize_with = "lenient::text")]
    pub file: Option<String>,
    /// The first line, counted from 1 in the file as the proposal leaves it.
    #[serde(default, alias = "line", deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub line_start: Option<u32>,
    /// The last line. Default line_start.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub line_end: Option<u32>,
    /// The problem in one line.
    pub title: String,
    /// What happens, when, and why it matters.
    #[serde(default, deserialize_with = "lenient::text")]
    pub description: Option<String>,
    /// The code it is about, quoted as it stands. The broker looks whether it does.
    #[serde(default, deserialize_with = "lenient::text")]
    pub code_snippet: Option<String>,
    /// What to write instead.
    #[serde(default, deserialize_with = "lenient::text")]
    pub suggestion: Option<String>,
    /// The rule it breaks, where there is one.
    #[serde(default, deserialize_with = "lenient::text")]
    pub rule_ref: Option<String>,
    /// How sure you are, 0 to 1.
    #[serde(default, deserialize_with = "lenient::decimal")]
    pub confidence: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct ListIssues {
    /// Only of this review. Left out: of all.
    #[serde(default, deserialize_with = "lenient::text")]
    pub review_id: Option<String>,
    /// Only in this status. Left out: all.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::finding_status")]
    pub status: Option<String>,
    /// Only of this severity.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::severity")]
    pub severity: Option<String>,
    /// Only on this file, by the path it was raised on.
    #[serde(default, deserialize_with = "lenient::text")]
    pub file: Option<String>,
    /// Only of this persona.
    #[serde(default, deserialize_with = "lenient::text")]
    pub persona: Option<String>,
    /// Suggestions as well. Default false: issues only.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub include_suggestions: Option<bool>,
    /// Rows at most. Default 50.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the page before.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct UpdateIssue {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// The issue: I-41.
    pub issue_id: String,
    /// Reviewer (of the seat that raised it) or operator: "open" (confirm or reopen), "fixed", "wont_fix" (withdraw),
    /// "duplicate". Proposer: "fixed", "wont_fix" or "disputed", which its reviewer then confirms or withdraws.
    #[schemars(schema_with = "schema::finding_wish")]
    pub status: String,
    /// Why. A proposer needs one for "disputed" and "wont_fix".
    #[serde(default, deserialize_with = "lenient::text")]
    pub note: Option<String>,
    /// With "duplicate": the issue of the same review that says the same.
    #[serde(default, deserialize_with = "lenient::text")]
    pub duplicate_of: Option<String>,
    /// In which role you speak.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::authority")]
    pub role: Option<String>,
    /// Your own id: for a reviewer the one that holds the seat.
    #[serde(default, deserialize_with = "lenient::text")]
    pub caller_id: Option<String>,
}
