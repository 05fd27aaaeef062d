//! What is counted, as SQL and as read from it.

use crate::{
    StoreError,
    sqlite::{parse_word, reader::to_saturated_u64, to_u32, to_u64},
};
use domain::{
    finding::{FindingStatus, Severity},
    review::{Category, Status},
    time::Timestamp,
};
use sqlx::{Row as _, sqlite::SqliteRow};
use std::{collections::BTreeMap, fmt::Write as _};

/// Of reviews.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reviews {
    pub total: u64,
    pub by_status: BTreeMap<Status, u64>,
    /// `None`: of no category.
    pub by_category: BTreeMap<Option<Category>, u64>,
    /// How those ended that have, closed since or not.
    pub approved: u64,
    pub rejected: u64,
    pub cancelled: u64,
    /// Approved without a revision.
    pub approved_at_once: u64,
    /// A person was asked for.
    pub escalated: u64,
    pub mean_rounds: f64,
    pub max_rounds: u32,
    pub time_in: BTreeMap<Status, TimeIn>,
}

/// How long reviews have been in one status, up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeIn {
    /// Those that were in it for a moment at least.
    pub reviews: u64,
    pub total_ms: u64,
}

/// From submission to what happened first, or last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans {
    pub first_claim: Span,
    pub first_verdict: Span,
    /// Approved, rejected or cancelled.
    pub decision: Span,
    pub close: Span,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Span {
    /// Reviews that have come so far; of the others nothing is said.
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: u64,
    pub p90_ms: u64,
    pub max_ms: u64,
}

/// What reviewers did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    pub reviews: u64,
    pub verdicts: u64,
    pub approvals: u64,
    pub changes_requested: u64,
    pub rejections: u64,
    pub comments: u64,
    /// From claim to vote, on average.
    pub mean_ms: Option<f64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

impl Work {
    pub const fn votes(&self) -> u64 {
        self.approvals + self.changes_requested + self.rejections
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    pub issues: u64,
    pub suggestions: u64,
    /// Of issues, as the next.
    pub by_severity: BTreeMap<Severity, u64>,
    pub by_status: BTreeMap<FindingStatus, u64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Processes {
    pub spawned: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

/// How a review ended, whether it is closed since or not; null while it has not. Not the last vote: with several seats
/// that may be another. Only what is approved has an approved hash, and keeps it when it is closed.
const OUTCOME: &str = "CASE WHEN r.cancel_reason IS NOT NULL THEN 'cancelled' \
                       WHEN r.status IN ('approved', 'rejected') THEN r.status \
                       WHEN r.status = 'closed' THEN iif(r.approved_hash IS NULL, 'rejected', 'approved') END";

/// The statuses that time is counted in: `closed` has no end.
fn timed() -> impl Iterator<Item = Status> {
    Status::ALL.iter().copied().filter(|status| *status != Status::Closed)
}

/// How long a review was in a status. Rejected and cancelled only closing ends, so they last from the decision on.
fn stay(status: Status, now: Timestamp) -> String {
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

pub(super) fn reviews_columns(now: Timestamp) -> String {
    let ended = |word: &str, more: &str| format!("count(*) FILTER (WHERE {OUTCOME} = '{word}' {more})");
    let mut columns = format!(
        "count(*) AS total, avg(r.round) AS mean_rounds, max(r.round) AS max_rounds, count(r.escalated_for) AS escalated,
         {} AS approved, {} AS rejected, {} AS cancelled, {} AS approved_at_once",
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
    for (status, stay) in timed().map(|status| (status, stay(status, now))) {
        let _ = write!(columns, ", sum({stay}) AS {status}_ms, count(*) FILTER (WHERE {stay} > 0) AS {status}_stays");
    }
    columns
}

pub(super) fn reviews_row(row: &SqliteRow) -> Result<Reviews, StoreError> {
    let count = |column: &str| to_u64(row.try_get(column)?);
    let total = count("total")?;
    let mut by_status = BTreeMap::new();
    for status in Status::ALL {
        by_status.insert(*status, count(&format!("{status}_now"))?);
    }
    let mut by_category = BTreeMap::new();
    for category in Category::ALL {
        by_category.insert(Some(*category), count(category.as_str())?);
    }
    by_category.insert(None, total - by_category.values().sum::<u64>().min(total));
    let mut time_in = BTreeMap::new();
    for status in timed() {
        let (reviews, total_ms) = (count(&format!("{status}_stays"))?, count(&format!("{status}_ms"))?);
        time_in.insert(status, TimeIn { reviews, total_ms });
    }
    Ok(Reviews {
        total,
        by_status,
        by_category,
        approved: count("approved")?,
        rejected: count("rejected")?,
        cancelled: count("cancelled")?,
        approved_at_once: count("approved_at_once")?,
        escalated: count("escalated")?,
        mean_rounds: row.try_get("mean_rounds")?,
        max_rounds: to_u32(row.try_get("max_rounds")?)?,
        time_in,
    })
}

type SpanOf = fn(&mut Spans) -> &mut Span;

/// Each with where it is kept.
pub(super) const SPANS: [(&str, SpanOf); 4] = [
    ("r.first_claimed_at_ms - r.created_at_ms", |spans| &mut spans.first_claim),
    ("r.first_verdict_at_ms - r.created_at_ms", |spans| &mut spans.first_verdict),
    ("r.decided_at_ms - r.created_at_ms", |spans| &mut spans.decision),
    ("r.closed_at_ms - r.created_at_ms", |spans| &mut spans.close),
];

pub(super) const SPAN: &str = "count(*) AS count, avg(x) AS mean, max(x) AS max,
    min(x) FILTER (WHERE rank * 100 >= n * 50) AS p50, min(x) FILTER (WHERE rank * 100 >= n * 90) AS p90";

pub(super) fn span_row(row: &SqliteRow) -> Result<Span, StoreError> {
    let whole = |column: &str| to_u64(row.try_get(column)?);
    let mean_ms = row.try_get("mean")?;
    Ok(Span { count: whole("count")?, mean_ms, p50_ms: whole("p50")?, p90_ms: whole("p90")?, max_ms: whole("max")? })
}

pub(super) const WORK: &str = "count(DISTINCT v.review) AS reviews, count(*) AS verdicts,
    count(*) FILTER (WHERE v.verdict = 'approved') AS approvals,
    count(*) FILTER (WHERE v.verdict = 'changes_requested') AS changes_requested,
    count(*) FILTER (WHERE v.verdict = 'rejected') AS rejections,
    count(*) FILTER (WHERE v.verdict = 'comment') AS comments,
    avg(max(0, v.at_ms - v.claimed_at_ms)) FILTER (WHERE v.verdict <> 'comment') AS mean,
    total(v.metrics ->> '$.input_tokens') AS input, total(v.metrics ->> '$.output_tokens') AS output,
    total(v.metrics ->> '$.cost_usd') AS cost";

pub(super) fn work_row(row: &SqliteRow) -> Result<Work, StoreError> {
    let count = |column: &str| to_u64(row.try_get(column)?);
    Ok(Work {
        reviews: count("reviews")?,
        verdicts: count("verdicts")?,
        approvals: count("approvals")?,
        changes_requested: count("changes_requested")?,
        rejections: count("rejections")?,
        comments: count("comments")?,
        mean_ms: row.try_get("mean")?,
        input_tokens: to_saturated_u64(row.try_get("input")?),
        output_tokens: to_saturated_u64(row.try_get("output")?),
        cost_usd: row.try_get("cost")?,
    })
}

pub(super) const FINDINGS: &str =
    "f.severity AS severity, f.status AS status, f.is_issue AS is_issue, count(*) AS findings";

/// One of several rows that a group has.
pub(super) fn add_findings_row(row: &SqliteRow, to: &mut Findings) -> Result<(), StoreError> {
    let count = to_u64(row.try_get("findings")?)?;
    if !row.try_get::<bool, _>("is_issue")? {
        to.suggestions += count;
        return Ok(());
    }
    to.issues += count;
    *to.by_severity.entry(parse_word(row.try_get("severity")?, Severity::parse)?).or_default() += count;
    *to.by_status.entry(parse_word(row.try_get("status")?, FindingStatus::parse)?).or_default() += count;
    Ok(())
}

pub(super) const PROCESSES: &str = "count(*) AS spawned, total(input_tokens) AS input, total(output_tokens) AS output,
    total(cost_usd) AS cost";

pub(super) fn processes_row(row: &SqliteRow) -> Result<Processes, StoreError> {
    Ok(Processes {
        spawned: to_u64(row.try_get("spawned")?)?,
        input_tokens: to_saturated_u64(row.try_get("input")?),
        output_tokens: to_saturated_u64(row.try_get("output")?),
        cost_usd: row.try_get("cost")?,
    })
}
