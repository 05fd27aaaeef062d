//! Statistics of the reviews submitted in a period, with their verdicts and findings. SQL does the counting. A review's
//! row has the times of its status changes, so its log is not read.

mod columns;

use super::{Reader, events::NumberedTable, to_u64};
use crate::{StatsPeriod, StoreError};
use domain::{
    ids::VALIDATOR,
    query::GroupBy,
    stats::{GroupStats, ProcessStats, Stats},
};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};
use std::collections::BTreeMap;

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
        let mut groups = match by {
            GroupBy::None => Vec::new(),
            GroupBy::Reviewer | GroupBy::Persona | GroupBy::Category | GroupBy::Day => {
                cohort.groups(&mut transaction, by).await?
            }
        };
        let auto_rejections = cohort.count_auto_rejections(&mut transaction).await?;
        let processes = count_processes(&mut transaction, period).await?;
        transaction.rollback().await?;
        match by {
            GroupBy::Day => groups.reverse(),
            GroupBy::None | GroupBy::Reviewer | GroupBy::Persona | GroupBy::Category => {
                groups.sort_by_key(|group| {
                    let reviews = group.reviews.as_ref().map(|reviews| reviews.total);
                    std::cmp::Reverse(reviews.unwrap_or(group.work.verdicts))
                });
            }
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
            let columns = columns::reviews(self.period.now);
            for row in self.select(by, &columns, "").build().fetch_all(&mut *connection).await? {
                find_group(&mut groups, &row)?.reviews = Some(columns::parse_reviews(&row)?);
            }
            for (expression, duration) in columns::DURATIONS {
                for row in self.select_duration(by, expression).build().fetch_all(&mut *connection).await? {
                    let reviews = find_group(&mut groups, &row)?.reviews.get_or_insert_default();
                    *duration(reviews) = columns::parse_duration(&row)?;
                }
            }
        }
        let join = "JOIN verdicts v ON v.review = r.number AND v.reviewer <> 'broker-validator'";
        for row in self.select(by, columns::WORK, join).build().fetch_all(&mut *connection).await? {
            find_group(&mut groups, &row)?.work = columns::parse_work(&row)?;
        }
        let mut sql = select_columns(group_expression(by, Joined::Findings), columns::ISSUES);
        sql.push(" FROM reviews r JOIN findings f ON f.review = r.number");
        self.push_conditions(&mut sql);
        for row in sql.push(" GROUP BY 1, 2, 3, 4").build().fetch_all(&mut *connection).await? {
            columns::add_issues(&row, &mut find_group(&mut groups, &row)?.issues)?;
        }
        Ok(groups.into_values().collect())
    }

    /// One row per group.
    fn select(&self, by: GroupBy, columns: &str, join: &str) -> QueryBuilder<Sqlite> {
        let mut sql = select_columns(group_expression(by, Joined::Verdicts), columns);
        sql.push(" FROM reviews r ").push(join);
        self.push_conditions(&mut sql);
        sql.push(" GROUP BY 1");
        sql
    }

    /// Percentiles by nearest rank: the smallest value that is not below the given percentage of all values.
    fn select_duration(&self, by: GroupBy, expression: &str) -> QueryBuilder<Sqlite> {
        let mut sql = select_columns("name", columns::DURATION);
        sql.push(
            " FROM (SELECT name, x, row_number() OVER sorted AS rank, count(*) OVER (PARTITION BY name) AS n
             FROM (SELECT ",
        );
        sql.push(group_expression(by, Joined::Verdicts)).push(" AS name, max(0, ").push(expression);
        sql.push(") AS x FROM reviews r");
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
        let mut sql = select_columns("count(*)", "0 FROM reviews r JOIN verdicts v ON v.review = r.number");
        self.push_conditions(&mut sql);
        let row = sql.push(" AND v.reviewer = ").push_bind(VALIDATOR).build().fetch_one(connection).await?;
        to_u64(row.try_get(0)?)
    }
}

fn select_columns(name: &str, columns: &str) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
    sql.push(name).push(", ").push(columns);
    sql
}

/// The group that a row's first column names.
fn find_group<'a>(
    groups: &'a mut BTreeMap<String, GroupStats>,
    row: &SqliteRow,
) -> Result<&'a mut GroupStats, StoreError> {
    let group: String = row.try_get(0)?;
    Ok(groups.entry(group.clone()).or_insert_with(|| GroupStats { group, ..GroupStats::default() }))
}

/// Reviewer processes started in the period. They report everything they did, so this is not added to the verdicts'
/// figures.
async fn count_processes(connection: &mut SqliteConnection, period: &StatsPeriod) -> Result<ProcessStats, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
    sql.push(columns::PROCESSES).push(" FROM reviewers WHERE spawned_at_ms >= ");
    sql.push_bind(period.since.map_or(i64::MIN, |since| since.0));
    sql.push(" AND spawned_at_ms < ").push_bind(period.until.map_or(i64::MAX, |until| until.0));
    if let Some(project) = &period.project {
        sql.push(" AND project IS ").push_bind(project.as_deref());
    }
    columns::parse_processes(&sql.build().fetch_one(connection).await?)
}

#[cfg(test)]
#[path = "stats_tests.rs"]
pub(crate) mod tests;
