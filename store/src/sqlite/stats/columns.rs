//! The columns of the statistics queries, and how their rows are parsed.

use crate::{
    StoreError,
    sqlite::{parse_word, reader::to_saturated_u64, to_u32, to_u64},
};
use domain::{
    finding::{FindingStatus, Severity},
    review::{Category, Status},
    stats::{
        DurationStats, IssueStats, ProcessStats, ReviewStats, RoundStats, StatusTime, WorkStats, rate,
        round_to_millionths, round_to_thousandths,
    },
    time::Timestamp,
};
use sqlx::{Row as _, sqlite::SqliteRow};
use std::{collections::BTreeMap, fmt::Write as _};

/// How a review ended, closed or not; null before that. The last vote does not tell: with several seats it may differ.
/// Only an approved review has an approved hash, and it keeps it when it is closed.
const OUTCOME: &str = "CASE WHEN r.cancel_reason IS NOT NULL THEN 'cancelled' \
                       WHEN r.status IN ('approved', 'rejected') THEN r.status \
                       WHEN r.status = 'closed' THEN iif(r.approved_hash IS NULL, 'rejected', 'approved') END";

/// The statuses whose time is counted. `closed` has no end.
fn timed_statuses() -> impl Iterator<Item = Status> {
    Status::ALL.iter().copied().filter(|status| *status != Status::Closed)
}

/// The time a review spent in a status. Only closing ends `rejected` and `cancelled`, so these last from the decision.
fn time_in_status(status: Status, now: Timestamp) -> String {
    let now = now.0;
    match status {
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {
            format!("r.{status}_ms + iif(r.status = '{status}', max(0, {now} - r.updated_at_ms), 0)")
        }
        Status::Rejected | Status::Cancelled | Status::Closed => {
            format!("iif({OUTCOME} = '{status}', max(0, coalesce(r.closed_at_ms, {now}) - r.decided_at_ms), 0)")
        }
    }
}

pub(super) fn reviews(now: Timestamp) -> String {
    let ended = |outcome: &str, condition: &str| format!("count(*) FILTER (WHERE {OUTCOME} = '{outcome}' {condition})");
    let mut columns = format!(
        "count(*) AS total, avg(r.round) AS mean_rounds, max(r.round) AS max_rounds, count(r.escalated_for) AS escalated,
         {} AS approved, {} AS rejected, {} AS cancelled, {} AS first_round",
        ended("approved", ""),
        ended("rejected", ""),
        ended("cancelled", ""),
        ended("approved", "AND r.round = 1"),
    );
    for status in Status::ALL {
        let _ = write!(columns, ", count(*) FILTER (WHERE r.status = '{status}') AS {status}_now");
    }
    for category in Category::ALL {
        let _ = write!(columns, ", count(*) FILTER (WHERE r.category = '{category}') AS {category}");
    }
    for (status, time) in timed_statuses().map(|status| (status, time_in_status(status, now))) {
        let _ = write!(columns, ", sum({time}) AS {status}_ms, count(*) FILTER (WHERE {time} > 0) AS {status}_stays");
    }
    columns
}

/// Parses a row of [`reviews`]. The durations come from queries of their own.
pub(super) fn parse_reviews(row: &SqliteRow) -> Result<ReviewStats, StoreError> {
    let count = |column: &str| to_u64(row.try_get(column)?);
    let total = count("total")?;
    let mut by_status = BTreeMap::new();
    for status in Status::ALL {
        by_status.insert(status.to_string(), count(&format!("{status}_now"))?);
    }
    let mut by_category = BTreeMap::new();
    for category in Category::ALL {
        by_category.insert(category.to_string(), count(category.as_str())?);
    }
    by_category.insert("none".to_owned(), total - by_category.values().sum::<u64>().min(total));
    let mut time_in_status = BTreeMap::new();
    for status in timed_statuses() {
        let (reviews, total_ms) = (count(&format!("{status}_stays"))?, count(&format!("{status}_ms"))?);
        let mean_ms = total_ms.checked_div(reviews);
        time_in_status.insert(status.to_string(), StatusTime { reviews, total_ms, mean_ms });
    }
    let (approved, rejected, cancelled) = (count("approved")?, count("rejected")?, count("cancelled")?);
    Ok(ReviewStats {
        total,
        by_status,
        by_category,
        approved,
        rejected,
        cancelled,
        approval_rate: rate(approved, approved + rejected + cancelled),
        first_round_rate: rate(count("first_round")?, approved),
        escalated: count("escalated")?,
        rounds: RoundStats {
            mean: round_to_thousandths(row.try_get("mean_rounds")?),
            max: to_u32(row.try_get("max_rounds")?)?,
        },
        time_in_status,
        ..ReviewStats::default()
    })
}

type DurationField = fn(&mut ReviewStats) -> &mut DurationStats;

/// Each duration with the field it belongs to.
pub(super) const DURATIONS: [(&str, DurationField); 4] = [
    ("r.first_claimed_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_first_claim),
    ("r.first_verdict_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_verdict),
    ("r.decided_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_decision),
    ("r.closed_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_close),
];

pub(super) const DURATION: &str = "count(*) AS count, round(avg(x)) AS mean, max(x) AS max,
    min(x) FILTER (WHERE rank * 100 >= n * 50) AS p50, min(x) FILTER (WHERE rank * 100 >= n * 90) AS p90";

pub(super) fn parse_duration(row: &SqliteRow) -> Result<DurationStats, StoreError> {
    let milliseconds = |column: &str| Ok::<_, StoreError>(Some(to_u64(row.try_get(column)?)?));
    Ok(DurationStats {
        count: to_u64(row.try_get("count")?)?,
        mean_ms: Some(to_saturated_u64(row.try_get("mean")?)),
        p50_ms: milliseconds("p50")?,
        p90_ms: milliseconds("p90")?,
        max_ms: milliseconds("max")?,
    })
}

pub(super) const WORK: &str = "count(DISTINCT v.review) AS reviews, count(*) AS verdicts,
    count(*) FILTER (WHERE v.verdict = 'approved') AS approvals,
    count(*) FILTER (WHERE v.verdict = 'changes_requested') AS changes_requested,
    count(*) FILTER (WHERE v.verdict = 'rejected') AS rejections,
    count(*) FILTER (WHERE v.verdict = 'comment') AS comments,
    round(avg(max(0, v.at_ms - v.claimed_at_ms)) FILTER (WHERE v.verdict <> 'comment')) AS mean,
    total(v.metrics ->> '$.input_tokens') AS input, total(v.metrics ->> '$.output_tokens') AS output,
    total(v.metrics ->> '$.cost_usd') AS cost";

pub(super) fn parse_work(row: &SqliteRow) -> Result<WorkStats, StoreError> {
    let count = |column: &str| to_u64(row.try_get(column)?);
    let (approvals, changes_requested, rejections) =
        (count("approvals")?, count("changes_requested")?, count("rejections")?);
    let votes = approvals + changes_requested + rejections;
    Ok(WorkStats {
        reviews: count("reviews")?,
        verdicts: count("verdicts")?,
        votes,
        approvals,
        changes_requested,
        rejections,
        comments: count("comments")?,
        approval_rate: rate(approvals, votes),
        average_ms: row.try_get::<Option<f64>, _>("mean")?.map(to_saturated_u64),
        input_tokens: to_saturated_u64(row.try_get("input")?),
        output_tokens: to_saturated_u64(row.try_get("output")?),
        cost_usd: round_to_millionths(row.try_get("cost")?),
    })
}

pub(super) const ISSUES: &str =
    "f.severity AS severity, f.status AS status, f.is_issue AS is_issue, count(*) AS findings";

/// Adds one of the several rows of a group.
pub(super) fn add_issues(row: &SqliteRow, issues: &mut IssueStats) -> Result<(), StoreError> {
    let count = to_u64(row.try_get("findings")?)?;
    if !row.try_get::<bool, _>("is_issue")? {
        issues.suggestions += count;
        return Ok(());
    }
    let severity = parse_word(row.try_get("severity")?, Severity::parse)?;
    let status = parse_word(row.try_get("status")?, FindingStatus::parse)?;
    issues.total += count;
    *issues.by_severity.entry(severity.to_string()).or_default() += count;
    *issues.by_status.entry(status.to_string()).or_default() += count;
    Ok(())
}

pub(super) const PROCESSES: &str = "count(*) AS spawned, total(input_tokens) AS input, total(output_tokens) AS output,
    total(cost_usd) AS cost";

pub(super) fn parse_processes(row: &SqliteRow) -> Result<ProcessStats, StoreError> {
    Ok(ProcessStats {
        spawned: to_u64(row.try_get("spawned")?)?,
        input_tokens: to_saturated_u64(row.try_get("input")?),
        output_tokens: to_saturated_u64(row.try_get("output")?),
        cost_usd: round_to_millionths(row.try_get("cost")?),
    })
}
