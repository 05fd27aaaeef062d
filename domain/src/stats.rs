//! Types for the statistics of reviews. The store fills them in, and the API returns them unchanged. Times are
//! milliseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// The figures of the reviews submitted in a period.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    pub reviews: ReviewStats,
    pub work: WorkStats,
    pub issues: IssueStats,
    /// Claims after which the broker sent the review back because its diff did not apply.
    pub auto_rejections: u64,
    /// The broker's reviewer processes started in the period. Their clients report everything they did, so these
    /// figures are not part of work.
    pub processes: ProcessStats,
    /// The busiest groups first, days the latest first; at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStats>,
    /// Number of groups that are left out.
    pub more_groups: Option<usize>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupStats {
    /// The reviewer, persona, category or day.
    pub group: String,
    /// Absent for reviewers and personas, who share reviews.
    pub reviews: Option<ReviewStats>,
    pub work: WorkStats,
    pub issues: IssueStats,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewStats {
    pub total: u64,
    pub by_status: BTreeMap<String, u64>,
    /// "none" for reviews without a category.
    pub by_category: BTreeMap<String, u64>,
    /// Outcomes of decided reviews, closed or not.
    pub approved: u64,
    pub rejected: u64,
    pub cancelled: u64,
    /// Share of approved among decided reviews, 0 to 1. Absent without decided reviews.
    pub approval_rate: Option<f64>,
    /// Share of approved reviews that were approved in their first round.
    pub first_round_rate: Option<f64>,
    /// Reviews that escalated to a person.
    pub escalated: u64,
    pub rounds: RoundStats,
    /// From submission to the first claim.
    pub time_to_first_claim: DurationStats,
    /// From submission to the first vote of a reviewer.
    pub time_to_verdict: DurationStats,
    /// From submission to approval, rejection or cancellation.
    pub time_to_decision: DurationStats,
    pub time_to_close: DurationStats,
    /// Time spent in each status up to now, all stays together.
    pub time_in_status: BTreeMap<String, StatusTime>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundStats {
    pub mean: f64,
    pub max: u32,
}

/// Milliseconds. Without reviews only `count` is present. `mean_ms` is exact; the others are rounded to two digits: 61,000
/// stands for 60,500 to 61,499.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DurationStats {
    /// Number of reviews that reached this point.
    pub count: u64,
    pub mean_ms: Option<u64>,
    pub p50_ms: Option<u64>,
    pub p90_ms: Option<u64>,
    pub p95_ms: Option<u64>,
    pub max_ms: Option<u64>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusTime {
    /// Number of reviews that were ever in this status.
    pub reviews: u64,
    pub total_ms: u64,
    pub mean_ms: Option<u64>,
}

/// Verdicts of reviewers.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkStats {
    /// Number of reviews with a verdict.
    pub reviews: u64,
    /// Number of verdicts, comments included.
    pub verdicts: u64,
    pub votes: u64,
    pub approvals: u64,
    pub changes_requested: u64,
    pub rejections: u64,
    pub comments: u64,
    /// Share of approvals among votes, 0 to 1.
    pub approval_rate: Option<f64>,
    /// Mean time from claim to vote.
    pub average_ms: Option<u64>,
    /// As verdicts report them.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Absent if no verdict reports a cost.
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueStats {
    pub total: u64,
    pub by_severity: BTreeMap<String, u64>,
    pub by_status: BTreeMap<String, u64>,
    pub suggestions: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessStats {
    pub spawned: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}
