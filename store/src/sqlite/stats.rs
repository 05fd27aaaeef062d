//! Queries for the statistics of the reviews submitted in a period. SQL does the counting. A review's row has the times
//! of its status changes, so its log is not read.

use super::{Reader, events::NumberedTable, parse_word, to_u64};
use crate::{StatsPeriod, StoreError};
use domain::{
    finding::{FindingStatus, Severity},
    ids::VALIDATOR,
    query_types::GroupBy,
    review::{Category, Status},
    stats::{DurationStats, GroupStats, ProcessStats, ReviewStats, Stats},
    time::Timestamp,
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};
use std::{collections::BTreeMap, fmt::Display};

const REVIEWS: NumberedTable = NumberedTable { name: "reviews", number: "number", at_ms: "created_at_ms" };

/// Most groups in one result. There may be very many reviewers.
const MAX_GROUPS: usize = 100;

/// The reviews of a period. `numbers` limits the walk along the table: the first number, and the one behind the last.
struct Cohort<'a> {
    period: &'a StatsPeriod,
    numbers: (i64, i64),
}

/// The table that a query joins to `reviews r`.
#[derive(Clone, Copy)]
enum Joined {
    Verdicts,
    Findings,
}

/// The SQL expression that names a row's group.
const fn group_expression(by: GroupBy, joined: Joined) -> &'static str {
    match (by, joined) {
        (GroupBy::None, _) => "''",
        (GroupBy::Category, _) => "coalesce(r.category, 'none')",
        (GroupBy::Day, _) => "date(r.created_at_ms / 1000, 'unixepoch')",
        (GroupBy::Reviewer, Joined::Verdicts) => "v.reviewer",
        (GroupBy::Persona, Joined::Verdicts) => "v.persona",
        (GroupBy::Reviewer, Joined::Findings) => "f.body ->> '$.by'",
        (GroupBy::Persona, Joined::Findings) => "f.persona",
    }
}

/// Whether a review belongs to one group only. Reviewers and personas share reviews.
const fn groups_reviews(by: GroupBy) -> bool {
    matches!(by, GroupBy::None | GroupBy::Category | GroupBy::Day)
}

impl Reader {
    /// Counts everything in one read transaction.
    pub async fn count_stats(&self, period: &StatsPeriod, by: GroupBy) -> Result<Stats, StoreError> {
        let cohort = Cohort { period, numbers: self.number_range(&REVIEWS, period.since, period.until).await? };
        let mut transaction = self.pool.begin().await?;
        let total = cohort.groups(&mut transaction, GroupBy::None).await?.pop().unwrap_or_default();
        let mut groups = if by == GroupBy::None { Vec::new() } else { cohort.groups(&mut transaction, by).await? };
        let auto_rejections = cohort.count_auto_rejections(&mut transaction).await?;
        let processes = count_processes(&mut transaction, period).await?;
        transaction.rollback().await?;
        if by == GroupBy::Day {
            groups.reverse();
        } else {
            groups.sort_by_key(|group| {
                let reviews = group.reviews.as_ref().map(|reviews| reviews.total);
                std::cmp::Reverse(reviews.unwrap_or(group.work.verdicts))
            });
        }
        let more_groups = groups.len().saturating_sub(MAX_GROUPS);
        groups.truncate(MAX_GROUPS);
        Ok(Stats {
            reviews: total.reviews.unwrap_or_default(),
            work: total.work,
            issues: total.issues,
            auto_rejections,
            processes,
            groups,
            more_groups: (more_groups > 0).then_some(more_groups),
        })
    }
}

impl Cohort<'_> {
    /// The groups, sorted by name.
    async fn groups(&self, connection: &mut SqliteConnection, by: GroupBy) -> Result<Vec<GroupStats>, StoreError> {
        let mut groups = BTreeMap::new();
        if groups_reviews(by) {
            for (name, json) in fetch(&mut *connection, self.select(by, &review_stats(self.period.now), "")).await? {
                find_group(&mut groups, name).reviews = Some(serde_json::from_str(&json)?);
            }
            for (expression, duration) in DURATIONS {
                for (name, json) in fetch(&mut *connection, self.select_duration(by, expression)).await? {
                    *duration(find_group(&mut groups, name).reviews.get_or_insert_default()) =
                        serde_json::from_str(&json)?;
                }
            }
        }
        let join = "JOIN verdicts v ON v.review = r.number AND v.reviewer <> 'broker-validator'";
        for (name, json) in fetch(&mut *connection, self.select(by, WORK, join)).await? {
            find_group(&mut groups, name).work = serde_json::from_str(&json)?;
        }
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(group_expression(by, Joined::Findings));
        sql.push(", f.severity, f.status, f.is_issue, count(*) FROM reviews r JOIN findings f ON f.review = r.number");
        self.push_conditions(&mut sql);
        sql.push(" GROUP BY 1, 2, 3, 4");
        let rows: Vec<(String, String, String, bool, i64)> = sql.build_query_as().fetch_all(connection).await?;
        for (name, severity, status, is_issue, count) in rows {
            let (issues, count) = (&mut find_group(&mut groups, name).issues, to_u64(count)?);
            if !is_issue {
                issues.suggestions += count;
                continue;
            }
            let (severity, status) =
                (parse_word(&severity, Severity::parse)?, parse_word(&status, FindingStatus::parse)?);
            issues.total += count;
            *issues.by_severity.entry(severity.to_string()).or_default() += count;
            *issues.by_status.entry(status.to_string()).or_default() += count;
        }
        Ok(groups.into_values().collect())
    }

    /// One row per group: its name and a JSON object.
    fn select(&self, by: GroupBy, object: &str, join: &str) -> QueryBuilder<Sqlite> {
        let name = group_expression(by, Joined::Verdicts);
        let mut sql = QueryBuilder::<Sqlite>::new(format!("SELECT {name}, {object} FROM reviews r {join}"));
        self.push_conditions(&mut sql);
        sql.push(" GROUP BY 1");
        sql
    }

    /// Percentiles by nearest rank: the smallest value that is not below the given percentage of all values.
    fn select_duration(&self, by: GroupBy, expression: &str) -> QueryBuilder<Sqlite> {
        let name = group_expression(by, Joined::Verdicts);
        let mut sql = QueryBuilder::<Sqlite>::new(format!(
            "SELECT name, {DURATION}
             FROM (SELECT name, x, row_number() OVER sorted AS rank, count(*) OVER (PARTITION BY name) AS n
             FROM (SELECT {name} AS name, max(0, {expression}) AS x FROM reviews r"
        ));
        self.push_conditions(&mut sql);
        sql.push(") WHERE x IS NOT NULL WINDOW sorted AS (PARTITION BY name ORDER BY x)) GROUP BY 1");
        sql
    }

    fn push_conditions(&self, sql: &mut QueryBuilder<Sqlite>) {
        let StatsPeriod { project, since, until, .. } = self.period;
        let (first, end) = self.numbers;
        sql.push(" WHERE r.number >= ").push_bind(first).push(" AND r.number < ").push_bind(end);
        if let Some(since) = since {
            sql.push(" AND r.created_at_ms >= ").push_bind(since.0);
        }
        if let Some(until) = until {
            sql.push(" AND r.created_at_ms < ").push_bind(until.0);
        }
        if let Some(project) = project {
            sql.push(" AND r.project IS ").push_bind(project.as_deref());
        }
    }

    async fn count_auto_rejections(&self, connection: &mut SqliteConnection) -> Result<u64, StoreError> {
        let mut sql =
            QueryBuilder::<Sqlite>::new("SELECT count(*) FROM reviews r JOIN verdicts v ON v.review = r.number");
        self.push_conditions(&mut sql);
        sql.push(" AND v.reviewer = ").push_bind(VALIDATOR);
        to_u64(sql.build_query_scalar().fetch_one(connection).await?)
    }
}

fn find_group(groups: &mut BTreeMap<String, GroupStats>, group: String) -> &mut GroupStats {
    groups.entry(group.clone()).or_insert_with(|| GroupStats { group, ..GroupStats::default() })
}

async fn fetch(
    connection: &mut SqliteConnection,
    mut sql: QueryBuilder<Sqlite>,
) -> Result<Vec<(String, String)>, StoreError> {
    Ok(sql.build_query_as().fetch_all(connection).await?)
}

/// Reviewer processes started in the period. They report everything they did, so this is not added to the verdicts'
/// figures.
async fn count_processes(connection: &mut SqliteConnection, period: &StatsPeriod) -> Result<ProcessStats, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT json_object('spawned', count(*), 'input_tokens', CAST(total(input_tokens) AS INTEGER),
                            'output_tokens', CAST(total(output_tokens) AS INTEGER),
                            'cost_usd', round(total(cost_usd), 6)) FROM reviewers WHERE spawned_at_ms >= ",
    );
    sql.push_bind(period.since.map_or(i64::MIN, |since| since.0));
    sql.push(" AND spawned_at_ms < ").push_bind(period.until.map_or(i64::MAX, |until| until.0));
    if let Some(project) = &period.project {
        sql.push(" AND project IS ").push_bind(project.as_deref());
    }
    let json: String = sql.build_query_scalar().fetch_one(connection).await?;
    Ok(serde_json::from_str(&json)?)
}

/// How a review ended, closed or not; null before that. The last vote does not tell: with several seats it may differ.
/// Only an approved review has an approved hash, and it keeps it when it is closed.
const OUTCOME: &str = "CASE WHEN r.cancel_reason IS NOT NULL THEN 'cancelled' \
                       WHEN r.status IN ('approved', 'rejected') THEN r.status \
                       WHEN r.status = 'closed' THEN iif(r.approved_hash IS NULL, 'rejected', 'approved') END";

/// The time a review spent in a status, except `closed`, which has no end. Only closing ends `rejected` and `cancelled`, so these last from the decision.
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

/// A SQL expression for a JSON object.
fn json_object(fields: impl IntoIterator<Item = (impl Display, String)>) -> String {
    let fields: Vec<_> = fields.into_iter().map(|(name, expression)| format!("'{name}', {expression}")).collect();
    format!("json_object({})", fields.join(", "))
}

/// [`ReviewStats`] of a group. The durations come from queries of their own.
fn review_stats(now: Timestamp) -> String {
    let count = |condition: String| format!("count(*) FILTER (WHERE {condition})");
    let ended = |outcome: &str| count(format!("{OUTCOME} = '{outcome}'"));
    let by_status = Status::ALL.iter().map(|status| (*status, count(format!("r.status = '{status}'"))));
    let by_category =
        Category::ALL.iter().map(|category| (category.as_str(), count(format!("r.category = '{category}'"))));
    let by_category = by_category.chain([("none", count("r.category IS NULL".to_owned()))]);
    let time_in_status = Status::ALL.iter().filter(|status| **status != Status::Closed).map(|status| {
        let time = time_in_status(*status, now);
        let (total, reviews) = (format!("sum({time})"), count(format!("{time} > 0")));
        let mean = format!("{total} / nullif({reviews}, 0)");
        (*status, json_object([("reviews", reviews), ("total_ms", total), ("mean_ms", mean)]))
    });
    let none = || json_object([("count", "0".to_owned())]);
    json_object([
        ("total", "count(*)".to_owned()),
        ("by_status", json_object(by_status)),
        ("by_category", json_object(by_category)),
        ("approved", ended("approved")),
        ("rejected", ended("rejected")),
        ("cancelled", ended("cancelled")),
        ("approval_rate", format!("round(avg({OUTCOME} = 'approved'), 3)")),
        ("first_round_rate", format!("round(avg(r.round = 1) FILTER (WHERE {OUTCOME} = 'approved'), 3)")),
        ("escalated", "count(r.escalated_for)".to_owned()),
        ("rounds", "json_object('mean', round(avg(r.round), 3), 'max', max(r.round))".to_owned()),
        ("time_to_first_claim", none()),
        ("time_to_verdict", none()),
        ("time_to_decision", none()),
        ("time_to_close", none()),
        ("time_in_status", json_object(time_in_status)),
    ])
}

type DurationField = fn(&mut ReviewStats) -> &mut DurationStats;

/// Each duration with the field it belongs to.
const DURATIONS: [(&str, DurationField); 4] = [
    ("r.first_claimed_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_first_claim),
    ("r.first_verdict_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_verdict),
    ("r.decided_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_decision),
    ("r.closed_at_ms - r.created_at_ms", |reviews| &mut reviews.time_to_close),
];

/// [`DurationStats`] of the values `x`, with their `rank` among `n`.
const DURATION: &str = "json_object('count', count(*), 'mean_ms', CAST(round(avg(x)) AS INTEGER), 'max_ms', max(x),
    'p50_ms', min(x) FILTER (WHERE rank * 100 >= n * 50), 'p90_ms', min(x) FILTER (WHERE rank * 100 >= n * 90))";

/// [`WorkStats`](domain::stats::WorkStats) of verdicts.
const WORK: &str = "json_object('reviews', count(DISTINCT v.review), 'verdicts', count(*),
    'votes', count(*) FILTER (WHERE v.verdict <> 'comment'),
    'approvals', count(*) FILTER (WHERE v.verdict = 'approved'),
    'changes_requested', count(*) FILTER (WHERE v.verdict = 'changes_requested'),
    'rejections', count(*) FILTER (WHERE v.verdict = 'rejected'),
    'comments', count(*) FILTER (WHERE v.verdict = 'comment'),
    'approval_rate', round(avg(v.verdict = 'approved') FILTER (WHERE v.verdict <> 'comment'), 3),
    'average_ms', CAST(round(avg(max(0, v.at_ms - v.claimed_at_ms)) FILTER (WHERE v.verdict <> 'comment')) AS INTEGER),
    'input_tokens', CAST(total(v.metrics ->> '$.input_tokens') AS INTEGER),
    'output_tokens', CAST(total(v.metrics ->> '$.output_tokens') AS INTEGER),
    'cost_usd', round(total(v.metrics ->> '$.cost_usd'), 6))";

#[cfg(test)]
#[path = "stats_tests.rs"]
pub(crate) mod tests;
