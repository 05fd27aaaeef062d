//! Statistics as answers show them. Times are milliseconds.

use super::moment;
use crate::mcp::schema;
use domain::{query::GroupBy, review::Status};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use store::stats::{Findings, Group, Period, Reviews, Span, Spans, Stats, Work};

type Counts = BTreeMap<&'static str, u64>;

/// The answer of get_review_stats.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Figures<'a> {
    /// Reviews submitted from then on are counted; absent: from the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Reviews submitted before then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    pub reviews: ReviewFigures,
    pub work: WorkFigures,
    pub issues: IssueFigures,
    /// Claims that the broker turned into a return to the proposer, because the diff did not apply.
    pub auto_rejections: u64,
    /// The broker's own reviewer processes that were started in the period. What their clients report is of everything
    /// they did, and not added to what verdicts say in work.
    pub processes: ProcessFigures,
    #[schemars(schema_with = "schema::group_by")]
    pub group_by: GroupBy,
    /// The busiest first, days the latest first; at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFigures<'a>>,
    /// Groups beyond those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_groups: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct GroupFigures<'a> {
    /// The reviewer, the persona, the category or the day.
    pub group: &'a str,
    /// Not of reviewers and personas, who share reviews with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<ReviewFigures>,
    pub work: WorkFigures,
    pub issues: IssueFigures,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ReviewFigures {
    pub total: u64,
    pub by_status: Counts,
    /// "none" where no category was given.
    pub by_category: Counts,
    /// How those ended that have, whether closed since or not.
    pub approved: u64,
    pub rejected: u64,
    pub cancelled: u64,
    /// Approved of all that have ended, 0 to 1; absent while none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_rate: Option<f64>,
    /// Approved in the first round, of all that were approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_round_rate: Option<f64>,
    /// Those for which a person was asked.
    pub escalated: u64,
    pub rounds: RoundFigures,
    /// From submission to the first claim.
    pub time_to_first_claim: SpanFigures,
    /// From submission to the first vote of a reviewer.
    pub time_to_verdict: SpanFigures,
    /// From submission to being approved, rejected or cancelled, as it stands.
    pub time_to_decision: SpanFigures,
    pub time_to_close: SpanFigures,
    /// How long reviews were in each status up to now, all stays together.
    pub time_in_status: BTreeMap<&'static str, StayFigures>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct RoundFigures {
    pub mean: f64,
    pub max: u32,
}

/// In milliseconds; of no review without count.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct SpanFigures {
    /// Reviews that have come so far.
    pub count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct StayFigures {
    /// Reviews that were in it for a moment at least.
    pub reviews: u64,
    pub total_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<u64>,
}

/// Verdicts of reviewers on these reviews.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct WorkFigures {
    /// Reviews with a verdict.
    pub reviews: u64,
    /// Comments included.
    pub verdicts: u64,
    pub votes: u64,
    pub approvals: u64,
    pub changes_requested: u64,
    pub rejections: u64,
    pub comments: u64,
    /// Approvals of all votes, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_rate: Option<f64>,
    /// From claim to vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_ms: Option<u64>,
    /// As verdicts report them.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct IssueFigures {
    pub total: u64,
    pub by_severity: Counts,
    /// What became of them: open, fixed, wont_fix, duplicate.
    pub by_status: Counts,
    pub suggestions: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ProcessFigures {
    pub spawned: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

impl<'a> Figures<'a> {
    pub(in crate::mcp) fn of(stats: &'a Stats, period: &'a Period, by: GroupBy) -> Self {
        let processes = &stats.processes;
        Self {
            since: period.since.map(moment),
            until: period.until.map(moment),
            project: period.project.as_ref().and_then(|project| project.as_deref()),
            reviews: ReviewFigures::of(&stats.reviews, &stats.spans),
            work: WorkFigures::of(&stats.work),
            issues: IssueFigures::of(&stats.findings),
            auto_rejections: stats.auto_rejections,
            processes: ProcessFigures {
                spawned: processes.spawned,
                input_tokens: processes.input_tokens,
                output_tokens: processes.output_tokens,
                cost_usd: dollars(processes.cost_usd),
            },
            group_by: by,
            groups: stats.groups.iter().map(GroupFigures::of).collect(),
            more_groups: (stats.more_groups > 0).then_some(stats.more_groups),
        }
    }
}

impl<'a> GroupFigures<'a> {
    fn of(group: &'a Group) -> Self {
        Self {
            group: &group.name,
            reviews: group.reviews.as_ref().map(|(reviews, spans)| ReviewFigures::of(reviews, spans)),
            work: WorkFigures::of(&group.work),
            issues: IssueFigures::of(&group.findings),
        }
    }
}

impl ReviewFigures {
    fn of(reviews: &Reviews, spans: &Spans) -> Self {
        let category = |category: Option<domain::review::Category>| category.map_or("none", |word| word.as_str());
        let stay = |(status, time): (&Status, &store::stats::TimeIn)| {
            let mean_ms = time.total_ms.checked_div(time.reviews);
            (status.as_str(), StayFigures { reviews: time.reviews, total_ms: time.total_ms, mean_ms })
        };
        Self {
            total: reviews.total,
            by_status: reviews.by_status.iter().map(|(status, count)| (status.as_str(), *count)).collect(),
            by_category: reviews.by_category.iter().map(|(word, count)| (category(*word), *count)).collect(),
            approved: reviews.approved,
            rejected: reviews.rejected,
            cancelled: reviews.cancelled,
            approval_rate: share(reviews.approved, reviews.approved + reviews.rejected + reviews.cancelled),
            first_round_rate: share(reviews.approved_at_once, reviews.approved),
            escalated: reviews.escalated,
            rounds: RoundFigures { mean: rounded(reviews.mean_rounds), max: reviews.max_rounds },
            time_to_first_claim: SpanFigures::of(&spans.first_claim),
            time_to_verdict: SpanFigures::of(&spans.first_verdict),
            time_to_decision: SpanFigures::of(&spans.decision),
            time_to_close: SpanFigures::of(&spans.close),
            time_in_status: reviews.time_in.iter().map(stay).collect(),
        }
    }
}

impl SpanFigures {
    fn of(span: &Span) -> Self {
        let known = |ms: u64| (span.count > 0).then_some(ms);
        Self {
            count: span.count,
            mean_ms: known(whole(span.mean_ms)),
            p50_ms: known(span.p50_ms),
            p90_ms: known(span.p90_ms),
            max_ms: known(span.max_ms),
        }
    }
}

impl WorkFigures {
    fn of(work: &Work) -> Self {
        Self {
            reviews: work.reviews,
            verdicts: work.verdicts,
            votes: work.votes(),
            approvals: work.approvals,
            changes_requested: work.changes_requested,
            rejections: work.rejections,
            comments: work.comments,
            approval_rate: share(work.approvals, work.votes()),
            average_ms: work.mean_ms.map(whole),
            input_tokens: work.input_tokens,
            output_tokens: work.output_tokens,
            cost_usd: dollars(work.cost_usd),
        }
    }
}

impl IssueFigures {
    fn of(findings: &Findings) -> Self {
        Self {
            total: findings.issues,
            by_severity: findings.by_severity.iter().map(|(word, count)| (word.as_str(), *count)).collect(),
            by_status: findings.by_status.iter().map(|(word, count)| (word.as_str(), *count)).collect(),
            suggestions: findings.suggestions,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer reviews than a float can count")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64))
}

/// To three places: more would only look exact.
fn rounded(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

/// To millionths, in which costs are added up.
fn dollars(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(ms: f64) -> u64 {
    ms.round() as u64
}
