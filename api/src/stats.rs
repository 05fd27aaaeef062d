//! Request and response types for statistics of reviews. Times are milliseconds.

pub use domain::stats::{
    DailyStats, DayPersonaStats, DayStats, DisputeStats, DurationStats, GroupStats, IssueStats, ProcessStats,
    ReviewStats, RoundStats, Stats, StatusTime, WorkStats,
};

use domain::query_types::GroupBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StatsRequest {
    /// Only this project.
    pub project: Option<String>,
    /// Only reviews submitted since then: a time (RFC 3339, or a date, in UTC) or an age (24h, 7d). Default: all.
    pub since: Option<String>,
    /// Only reviews submitted before then, in the format of since.
    pub until: Option<String>,
    /// Adds the figures of each reviewer, persona, category or day of submission (UTC), or of each persona on each day
    /// ("day_persona"), in groups. Default "none".
    pub group_by: Option<GroupBy>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatsResponse {
    /// The start of the period. Absent: the first review.
    pub since: Option<jiff::Timestamp>,
    /// The end of the period, exclusive.
    pub until: Option<jiff::Timestamp>,
    pub project: Option<String>,
    #[serde(flatten)]
    pub stats: Stats,
    pub group_by: GroupBy,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DailyStatsRequest {
    /// Only this project.
    pub project: Option<String>,
    /// Only reviews submitted since then: a time (RFC 3339, or a date, in UTC) or an age (24h, 7d). Default: all.
    pub since: Option<String>,
    /// Only reviews submitted before then, in the format of since.
    pub until: Option<String>,
    /// Adds the work of each persona to each day. Default false.
    pub personas: Option<bool>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DailyStatsResponse {
    /// The start of the period. Absent: the first review.
    pub since: Option<jiff::Timestamp>,
    /// The end of the period, exclusive.
    pub until: Option<jiff::Timestamp>,
    pub project: Option<String>,
    #[serde(flatten)]
    pub daily: DailyStats,
}
