//! Figures of the reviews that were submitted in a period, with their verdicts and findings. Everything is counted by
//! SQL: a review's row says when it moved (the writer notes that), so its log is not read.

mod columns;

pub use columns::{Findings, Processes, Reviews, Span, Spans, TimeIn, Work};

use super::{Reader, to_u64};
use crate::StoreError;
use domain::{ids::VALIDATOR, query::GroupBy, time::Timestamp};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};
use std::collections::BTreeMap;

/// Rows of one answer; of reviewers there may be very many.
const MAX_GROUPS: usize = 100;

/// Which reviews: those submitted from `since` on and before `until`.
#[derive(Debug, Clone, Default)]
pub struct Period {
    /// Only this project's, or, with `None` inside, those of none.
    pub project: Option<Option<String>>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Until when a review has been in its status.
    pub now: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    pub reviews: Reviews,
    pub spans: Spans,
    pub work: Work,
    pub findings: Findings,
    /// Claims that ended because the diff did not apply.
    pub auto_rejections: u64,
    pub processes: Processes,
    /// By what was asked for, the busiest first, days the latest first.
    pub groups: Vec<Group>,
    /// Groups beyond those.
    pub more_groups: usize,
}

/// One reviewer, persona, category or day.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    pub name: String,
    /// Not of a reviewer or a persona, who share reviews with others.
    pub reviews: Option<(Reviews, Spans)>,
    pub work: Work,
    pub findings: Findings,
}

/// A period as the SQL has it.
struct Cohort<'a> {
    period: &'a Period,
    numbers: (i64, i64),
}

/// What rows are told apart by.
#[derive(Clone, Copy)]
struct By(GroupBy);

impl By {
    /// An expression over `reviews r` and, of work, `verdicts v` or, of findings, `findings f`.
    const fn expression(self, of_findings: bool) -> &'static str {
        match (self.0, of_findings) {
            (GroupBy::None, _) => "''",
            (GroupBy::Category, _) => "coalesce(r.category, 'none')",
            (GroupBy::Day, _) => "date(r.created_at_ms / 1000, 'unixepoch')",
            (GroupBy::Reviewer, false) => "v.reviewer",
            (GroupBy::Persona, false) => "v.persona",
            (GroupBy::Reviewer, true) => "f.body ->> '$.by'",
            (GroupBy::Persona, true) => "f.persona",
        }
    }

    const fn tells_reviews_apart(self) -> bool {
        matches!(self.0, GroupBy::None | GroupBy::Category | GroupBy::Day)
    }
}

impl Reader {
    /// All figures of one moment.
    pub async fn stats(&self, period: &Period, by: GroupBy) -> Result<Stats, StoreError> {
        let cohort = Cohort { period, numbers: self.review_range(period.since, period.until).await? };
        let mut moment = self.pool.begin().await?;
        let mut all = cohort.groups(&mut moment, By(GroupBy::None)).await?;
        let Group { reviews, work, findings, .. } = all.pop().unwrap_or_default();
        let (reviews, spans) = reviews.unwrap_or_default();
        let mut groups = match by {
            GroupBy::None => Vec::new(),
            GroupBy::Reviewer | GroupBy::Persona | GroupBy::Category | GroupBy::Day => {
                cohort.groups(&mut moment, By(by)).await?
            }
        };
        let auto_rejections = cohort.count_auto_rejections(&mut moment).await?;
        let processes = processes(&mut moment, period).await?;
        moment.rollback().await?;
        match by {
            GroupBy::Day => groups.reverse(),
            GroupBy::None | GroupBy::Reviewer | GroupBy::Persona | GroupBy::Category => {
                groups.sort_by_key(|group| std::cmp::Reverse(group.size()));
            }
        }
        let more_groups = groups.len().saturating_sub(MAX_GROUPS);
        groups.truncate(MAX_GROUPS);
        Ok(Stats { reviews, spans, work, findings, auto_rejections, processes, groups, more_groups })
    }
}

impl Group {
    fn size(&self) -> u64 {
        self.reviews.as_ref().map_or(self.work.verdicts, |(reviews, _)| reviews.total)
    }
}

impl Cohort<'_> {
    /// By name.
    async fn groups(&self, moment: &mut SqliteConnection, by: By) -> Result<Vec<Group>, StoreError> {
        let mut groups = BTreeMap::new();
        if by.tells_reviews_apart() {
            for row in
                self.select(by, &columns::reviews_columns(self.period.now), "").build().fetch_all(&mut *moment).await?
            {
                named(&mut groups, &row)?.reviews.get_or_insert_default().0 = columns::reviews_row(&row)?;
            }
            for (expression, span) in columns::SPANS {
                for row in self.select_span(by, expression).build().fetch_all(&mut *moment).await? {
                    let group = named(&mut groups, &row)?;
                    *span(&mut group.reviews.get_or_insert_default().1) = columns::span_row(&row)?;
                }
            }
        }
        let join = "JOIN verdicts v ON v.review = r.number AND v.reviewer <> 'broker-validator'";
        for row in self.select(by, columns::WORK, join).build().fetch_all(&mut *moment).await? {
            named(&mut groups, &row)?.work = columns::work_row(&row)?;
        }
        let mut sql = self.begin(by.expression(true), columns::FINDINGS);
        sql.push(" FROM reviews r JOIN findings f ON f.review = r.number");
        self.push_conditions(&mut sql);
        for row in sql.push(" GROUP BY 1, 2, 3, 4").build().fetch_all(&mut *moment).await? {
            columns::add_findings_row(&row, &mut named(&mut groups, &row)?.findings)?;
        }
        Ok(groups.into_values().collect())
    }

    /// One row a group.
    fn select(&self, by: By, columns: &str, join: &str) -> QueryBuilder<Sqlite> {
        let mut sql = self.begin(by.expression(false), columns);
        sql.push(" FROM reviews r ").push(join);
        self.push_conditions(&mut sql);
        sql.push(" GROUP BY 1");
        sql
    }

    /// Percentiles by rank: the smallest that so many percent are not above.
    fn select_span(&self, by: By, expression: &str) -> QueryBuilder<Sqlite> {
        let mut sql = self.begin("name", columns::SPAN);
        sql.push(
            " FROM (SELECT name, x, row_number() OVER sorted AS rank, count(*) OVER (PARTITION BY name) AS n
             FROM (SELECT ",
        );
        sql.push(by.expression(false)).push(" AS name, max(0, ").push(expression).push(") AS x FROM reviews r");
        self.push_conditions(&mut sql);
        sql.push(") WHERE x IS NOT NULL WINDOW sorted AS (PARTITION BY name ORDER BY x)) GROUP BY 1");
        sql
    }

    fn begin(&self, name: &str, columns: &str) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(name).push(", ").push(columns);
        sql
    }

    fn push_conditions(&self, sql: &mut QueryBuilder<Sqlite>) {
        let Period { project, since, until, .. } = self.period;
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

    async fn count_auto_rejections(&self, moment: &mut SqliteConnection) -> Result<u64, StoreError> {
        let mut sql = self.begin("count(*)", "0 FROM reviews r JOIN verdicts v ON v.review = r.number");
        self.push_conditions(&mut sql);
        let row = sql.push(" AND v.reviewer = ").push_bind(VALIDATOR).build().fetch_one(moment).await?;
        to_u64(row.try_get(0)?)
    }
}

/// The group that a row's first column names.
fn named<'a>(groups: &'a mut BTreeMap<String, Group>, row: &SqliteRow) -> Result<&'a mut Group, StoreError> {
    let name: String = row.try_get(0)?;
    Ok(groups.entry(name.clone()).or_insert_with(|| Group { name, ..Group::default() }))
}

/// Reviewer processes that were started in the period. What they report is of all that they did, so it is told beside
/// what verdicts say and not added to it.
async fn processes(moment: &mut SqliteConnection, period: &Period) -> Result<Processes, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
    sql.push(columns::PROCESSES).push(" FROM reviewers WHERE spawned_at_ms >= ");
    sql.push_bind(period.since.map_or(i64::MIN, |since| since.0));
    sql.push(" AND spawned_at_ms < ").push_bind(period.until.map_or(i64::MAX, |until| until.0));
    if let Some(project) = &period.project {
        sql.push(" AND project IS ").push_bind(project.as_deref());
    }
    columns::processes_row(&sql.build().fetch_one(moment).await?)
}

#[cfg(test)]
#[path = "stats_tests.rs"]
pub(crate) mod tests;
