//! What is asked of the past.

use super::{lenient, schema};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct GetActivityFeed {
    /// Only this project's.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
    /// Rows per page, 1 to 200. Default 50.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the page before.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct GetAuditLog {
    /// Only of this review: its id, its number, or a unique prefix of the id.
    #[serde(default, deserialize_with = "lenient::text")]
    pub review_id: Option<String>,
    /// Only what this one did, exactly as the log names it.
    #[serde(default, deserialize_with = "lenient::text")]
    pub actor: Option<String>,
    /// Only events of this kind.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::log_kind")]
    pub kind: Option<String>,
    /// Only this project's.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
    /// From then on: a time (RFC 3339, or a date, in UTC) or how long ago (30m, 24h, 7d).
    #[serde(default, deserialize_with = "lenient::text")]
    pub since: Option<String>,
    /// Before then, given like since.
    #[serde(default, deserialize_with = "lenient::text")]
    pub until: Option<String>,
    /// Which come first. Default "newest".
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::log_order")]
    pub order: Option<String>,
    /// Rows per page, 1 to 200. Default 50.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the page before, with the same filters.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct GetReviewTimeline {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// The next_cursor of the page before.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct GetReviewStats {
    /// Only this project's.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
    /// Only reviews submitted from then on: a time (RFC 3339, or a date, in UTC) or how long ago (24h, 7d). Default: all.
    #[serde(default, deserialize_with = "lenient::text")]
    pub since: Option<String>,
    /// Only reviews submitted before then, given like since.
    #[serde(default, deserialize_with = "lenient::text")]
    pub until: Option<String>,
    /// Adds the figures of each reviewer, persona, category or day (UTC, of submission) in groups. Default "none".
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::group_by")]
    pub group_by: Option<String>,
}
