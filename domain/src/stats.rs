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
    /// The reported cost divided by the approved reviews. Absent without either.
    pub cost_per_approval_usd: Option<f64>,
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
    /// Of a group of day_persona.
    pub persona: Option<String>,
    /// Absent for reviewers and personas, who share reviews.
    pub reviews: Option<ReviewStats>,
    pub work: WorkStats,
    pub issues: IssueStats,
    /// As in the totals. Absent for reviewers and personas.
    pub cost_per_approval_usd: Option<f64>,
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
    /// Votes for which a review was approved or rejected.
    pub judged_votes: u64,
    /// Share of them that agree with the outcome, 0 to 1: approvals of approved reviews, rejections of rejected ones.
    pub agreement_rate: Option<f64>,
    /// Mean time from claim to vote.
    pub average_ms: Option<u64>,
    /// As verdicts report them.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Absent if no verdict reports a cost.
    pub cost_usd: Option<f64>,
    /// Number of verdicts that report a cost.
    pub verdicts_with_cost: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueStats {
    pub total: u64,
    pub by_severity: BTreeMap<String, u64>,
    pub by_status: BTreeMap<String, u64>,
    /// By severity: what has become of the issues (open, disputed, fixed, wont_fix, duplicate).
    pub fates: BTreeMap<String, BTreeMap<String, u64>>,
    pub disputes: DisputeStats,
    pub suggestions: u64,
}

/// Issues that their proposer disputed, each with its last dispute.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisputeStats {
    pub total: u64,
    /// The issue was withdrawn.
    pub upheld: u64,
    /// The issue was confirmed, fixed, or merged with another one.
    pub rejected: u64,
    /// Share of upheld among upheld and rejected, 0 to 1.
    pub upheld_rate: Option<f64>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessStats {
    pub spawned: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Absent if no client reports a cost.
    pub cost_usd: Option<f64>,
}

/// The reviews submitted on each day, in UTC.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DailyStats {
    /// Oldest first, at most 100. Days without a review are absent.
    pub days: Vec<DayStats>,
    /// Number of earlier days that are left out.
    pub more_days: usize,
    /// The personas with the most verdicts, at most 8. The days name no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<String>,
    /// Number of personas that are left out.
    pub more_personas: usize,
}

/// The figures of the reviews submitted on one day.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayStats {
    /// In UTC, such as 2026-11-18.
    pub day: String,
    pub reviews: u64,
    pub approved: u64,
    pub rejected: u64,
    pub cancelled: u64,
    /// Share of approved among decided reviews, 0 to 1.
    pub approval_rate: Option<f64>,
    /// Share of approved reviews that were approved in their first round.
    pub first_round_rate: Option<f64>,
    pub rounds_mean: f64,
    /// From submission to the first vote of a reviewer.
    pub time_to_verdict: DurationStats,
    /// From submission to approval, rejection or cancellation.
    pub time_to_decision: DurationStats,
    pub verdicts: u64,
    pub issues_by_severity: BTreeMap<String, u64>,
    pub issues_by_fate: BTreeMap<String, u64>,
    /// Absent if no verdict reports a cost.
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<DayPersonaStats>,
}

/// What the reviewers of a persona did for the reviews of one day.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayPersonaStats {
    pub persona: String,
    pub verdicts: u64,
    pub votes: u64,
    pub approvals: u64,
    pub issues: u64,
    pub cost_usd: Option<f64>,
}
