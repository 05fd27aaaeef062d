//! Statistics of reviews.

use super::{
    Call,
    error::CallError,
    history::{now, period, project},
    pagination::json_chars,
};
use api::{
    stats::{
        DurationStats, GroupStats, IssueStats, ProcessStats, ReviewStats, RoundStats, StatsRequest, StatsResponse,
        StatusTime, WorkStats,
    },
    timestamp,
};
use domain::{
    query::GroupBy,
    review::{Category, Status},
};
use store::stats::{Findings, Group, Period, Reviews, Span, Spans, Stats, TimeIn, Work};

pub(super) async fn get(call: &Call<'_>, request: StatsRequest) -> Result<StatsResponse, CallError> {
    let (by, now) = (request.group_by.unwrap_or(GroupBy::None), now());
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now)?;
    let period = Period { project: project(call, request.project)?, since, until, now };
    let mut stats = call.broker.stats(period.clone(), by).await?;
    loop {
        let response = response(&stats, &period, by);
        let (groups, chars, max_chars) = (stats.groups.len(), json_chars(&response)?, call.service.settings.page_chars);
        if chars <= max_chars || groups == 0 {
            return Ok(response);
        }
        // Keep the busiest groups, or the latest days.
        let kept = (groups * max_chars / chars).min(groups - 1);
        stats.groups.truncate(kept);
        stats.more_groups += groups - kept;
    }
}

fn response(stats: &Stats, period: &Period, by: GroupBy) -> StatsResponse {
    let processes = &stats.processes;
    StatsResponse {
        since: period.since.map(timestamp),
        until: period.until.map(timestamp),
        project: period.project.clone().flatten(),
        reviews: review_stats(&stats.reviews, &stats.spans),
        work: work_stats(&stats.work),
        issues: issue_stats(&stats.findings),
        auto_rejections: stats.auto_rejections,
        processes: ProcessStats {
            spawned: processes.spawned,
            input_tokens: processes.input_tokens,
            output_tokens: processes.output_tokens,
            cost_usd: dollars(processes.cost_usd),
        },
        group_by: by,
        groups: stats.groups.iter().map(group_stats).collect(),
        more_groups: (stats.more_groups > 0).then_some(stats.more_groups),
    }
}

fn group_stats(group: &Group) -> GroupStats {
    GroupStats {
        group: group.name.clone(),
        reviews: group.reviews.as_ref().map(|(reviews, spans)| review_stats(reviews, spans)),
        work: work_stats(&group.work),
        issues: issue_stats(&group.findings),
    }
}

fn review_stats(reviews: &Reviews, spans: &Spans) -> ReviewStats {
    let category = |category: &Option<Category>| category.map_or("none", Category::as_str).to_owned();
    let time_in = |(status, time): (&Status, &TimeIn)| {
        let mean_ms = time.total_ms.checked_div(time.reviews);
        (status.to_string(), StatusTime { reviews: time.reviews, total_ms: time.total_ms, mean_ms })
    };
    ReviewStats {
        total: reviews.total,
        by_status: reviews.by_status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        by_category: reviews.by_category.iter().map(|(name, count)| (category(name), *count)).collect(),
        approved: reviews.approved,
        rejected: reviews.rejected,
        cancelled: reviews.cancelled,
        approval_rate: rate(reviews.approved, reviews.approved + reviews.rejected + reviews.cancelled),
        first_round_rate: rate(reviews.approved_at_once, reviews.approved),
        escalated: reviews.escalated,
        rounds: RoundStats { mean: round_to_thousandths(reviews.mean_rounds), max: reviews.max_rounds },
        time_to_first_claim: duration_stats(&spans.first_claim),
        time_to_verdict: duration_stats(&spans.first_verdict),
        time_to_decision: duration_stats(&spans.decision),
        time_to_close: duration_stats(&spans.close),
        time_in_status: reviews.time_in.iter().map(time_in).collect(),
    }
}

fn duration_stats(span: &Span) -> DurationStats {
    let known = |ms: u64| (span.count > 0).then_some(ms);
    DurationStats {
        count: span.count,
        mean_ms: known(milliseconds(span.mean_ms)),
        p50_ms: known(span.p50_ms),
        p90_ms: known(span.p90_ms),
        max_ms: known(span.max_ms),
    }
}

fn work_stats(work: &Work) -> WorkStats {
    WorkStats {
        reviews: work.reviews,
        verdicts: work.verdicts,
        votes: work.votes(),
        approvals: work.approvals,
        changes_requested: work.changes_requested,
        rejections: work.rejections,
        comments: work.comments,
        approval_rate: rate(work.approvals, work.votes()),
        average_ms: work.mean_ms.map(milliseconds),
        input_tokens: work.input_tokens,
        output_tokens: work.output_tokens,
        cost_usd: dollars(work.cost_usd),
    }
}

fn issue_stats(findings: &Findings) -> IssueStats {
    IssueStats {
        total: findings.issues,
        by_severity: findings.by_severity.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        by_status: findings.by_status.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        suggestions: findings.suggestions,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of reviews are far below 2^53")]
fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| round_to_thousandths(part as f64 / whole as f64))
}

fn round_to_thousandths(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

/// Rounds to millionths, in which costs are summed.
fn dollars(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn milliseconds(ms: f64) -> u64 {
    ms.round() as u64
}
