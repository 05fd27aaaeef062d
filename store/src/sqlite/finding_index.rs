//! Lists and counts of findings across reviews, from the index that follows the log.

use super::{Reader, findings::listed};
use crate::{
    StoreError,
    query_types::{FindingFilter, FindingGroup, FindingGroups, FindingOrder, ListedFinding, Page},
};
use domain::{
    finding::{FindingStatus, Severity},
    ids::ReviewNumber,
    query_types::FindingGroupBy,
};
use sqlx::{QueryBuilder, Row as _, Sqlite};
use std::collections::HashMap;

/// Most rows of the index that one page, or the counts of a file or review, look at.
const MAX_WALK: i64 = 10_000;
/// Most groups of one answer.
const MAX_GROUPS: usize = 200;

/// The place of a row in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    rank: i64,
    number: i64,
}

impl Place {
    const START: Self = Self { rank: i64::MAX, number: i64::MAX };

    fn parse(cursor: &str) -> Option<Self> {
        let (rank, number) = cursor.split_once('-')?;
        Some(Self { rank: rank.parse().ok()?, number: number.parse().ok()? })
    }
}

impl Reader {
    /// One page. It looks at a bounded number of rows, so it may be short or empty although more pages follow. `None`: the
    /// cursor is not one of this list.
    pub async fn list_indexed_findings(
        &self,
        filter: &FindingFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Option<Page<ListedFinding>>, StoreError> {
        let Some(after) = cursor.map_or(Some(Place::START), Place::parse) else { return Ok(None) };
        let mut sql = QueryBuilder::new("SELECT rank, number FROM (");
        push_walk(&mut sql, filter, after);
        sql.push(") WHERE 1 = 1");
        push_conditions(&mut sql, filter);
        sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
        let mut places = Vec::new();
        for row in sql.build().fetch_all(&self.pool).await? {
            places.push(Place { rank: row.try_get(0)?, number: row.try_get(1)? });
        }
        let next = if places.len() > limit as usize {
            places.truncate(limit as usize);
            places.last().copied()
        } else {
            self.end_of_walk(filter, after).await?
        };
        let items = self.read_findings(&places).await?;
        let next_cursor = next.map(|Place { rank, number }| format!("{rank}-{number}"));
        Ok(Some(Page { items, next_cursor }))
    }

    /// The last row that a page looked at. `None` if there are no more.
    async fn end_of_walk(&self, filter: &FindingFilter, after: Place) -> Result<Option<Place>, StoreError> {
        let mut sql = QueryBuilder::new("SELECT rank, number FROM (");
        push_walk(&mut sql, filter, after);
        sql.push(") LIMIT 1 OFFSET ").push_bind(MAX_WALK - 1);
        let row = sql.build().fetch_optional(&self.pool).await?;
        row.map(|row| Ok(Place { rank: row.try_get(0)?, number: row.try_get(1)? })).transpose()
    }

    /// The current intents of reviews.
    pub async fn list_intents(&self, numbers: &[ReviewNumber]) -> Result<HashMap<ReviewNumber, String>, StoreError> {
        let numbers: Vec<_> = numbers.iter().map(|number| number.0).collect();
        let sql = "SELECT r.number, r.intent FROM json_each(?) j JOIN reviews r ON r.number = j.value";
        let rows = sqlx::query(sql).bind(serde_json::to_string(&numbers)?).fetch_all(&self.pool).await?;
        rows.iter().map(|row| Ok((ReviewNumber(row.try_get(0)?), row.try_get(1)?))).collect()
    }

    async fn read_findings(&self, places: &[Place]) -> Result<Vec<ListedFinding>, StoreError> {
        let numbers: Vec<_> = places.iter().map(|place| place.number).collect();
        let rows = sqlx::query(
            "SELECT f.body, f.review, r.id, r.status, r.intent, i.blocks FROM json_each(?) j
             JOIN findings f ON f.number = j.value JOIN finding_index i ON i.number = f.number
             JOIN reviews r ON r.number = f.review ORDER BY j.key",
        )
        .bind(serde_json::to_string(&numbers)?)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| listed(row, true)).collect()
    }

    /// Counts findings by group, the groups with the most urgent findings first.
    pub async fn count_findings(
        &self,
        filter: &FindingFilter,
        by: FindingGroupBy,
    ) -> Result<FindingGroups, StoreError> {
        let is_kept = filter.review.is_none()
            && filter.file.is_none()
            && !filter.without_file
            && filter.among.is_none()
            && !matches!(by, FindingGroupBy::File | FindingGroupBy::Review);
        let mut sql = QueryBuilder::new("SELECT CAST(coalesce(");
        sql.push(by.column()).push(", '') AS TEXT)");
        let each = if is_kept { "findings" } else { "1" };
        sql.push(format!(
            ", sum({each}), sum({each} * (status = 'open')), sum({each} * blocks), max(blocks * 8 + 16 * (status = 'open'))"
        ));
        for severity in Severity::ALL {
            sql.push(format!(", sum({each} * (severity = '{severity}' AND status = 'open'))"));
        }
        if is_kept {
            sql.push(" FROM finding_counts WHERE findings > 0");
        } else {
            sql.push(" FROM (SELECT * FROM (");
            push_walk(&mut sql, filter, Place::START);
            sql.push(") WHERE 1 = 1");
        }
        push_conditions(&mut sql, filter);
        if !is_kept {
            sql.push(")");
        }
        sql.push(" GROUP BY 1");
        let rows = sql.build().fetch_all(&self.pool).await?;
        let mut groups = Vec::with_capacity(rows.len());
        for row in &rows {
            let count = |index: usize| super::to_u64(row.try_get::<i64, _>(index)?);
            let mut open_by_severity = Vec::new();
            for (index, severity) in Severity::ALL.iter().enumerate() {
                open_by_severity.push((*severity, count(5 + index)?));
            }
            let name = row.try_get(0)?;
            groups.push(FindingGroup {
                name,
                issues: count(1)?,
                open: count(2)?,
                blocking: count(3)?,
                open_by_severity,
            });
        }
        let urgency = |group: &FindingGroup| {
            let by_severity: Vec<_> = group.open_by_severity.iter().rev().map(|(_, count)| *count).collect();
            (group.blocking, by_severity, group.open, group.issues)
        };
        groups.sort_by(|a, b| urgency(b).cmp(&urgency(a)).then_with(|| a.name.cmp(&b.name)));
        let is_partial = !is_kept && self.end_of_walk(filter, Place::START).await?.is_some();
        let left_out = groups.len().saturating_sub(MAX_GROUPS);
        groups.truncate(MAX_GROUPS);
        Ok(FindingGroups { groups, left_out, is_partial })
    }
}

/// The rows that one page looks at, in the order of the list.
fn push_walk(sql: &mut QueryBuilder<Sqlite>, filter: &FindingFilter, after: Place) {
    let is_newest = filter.order == FindingOrder::Newest;
    match &filter.among {
        None => drop(sql.push("SELECT * FROM finding_index WHERE ")),
        // Few enough to look each of them up and to sort them.
        Some(among) => {
            let numbers = serde_json::to_string(among).unwrap_or_default();
            sql.push("SELECT f.* FROM json_each(").push_bind(numbers);
            sql.push(") j CROSS JOIN finding_index f ON f.number = j.value WHERE ");
        }
    }
    if is_newest {
        sql.push("number < ").push_bind(after.number);
    } else {
        sql.push("(rank, number) < (").push_bind(after.rank).push(", ").push_bind(after.number).push(")");
    }
    if let Some(review) = filter.review {
        sql.push(" AND review = ").push_bind(review.0);
    }
    if let Some(number) = filter.number {
        sql.push(" AND number = ").push_bind(number.0);
    }
    // Within a project the limit counts only its own findings.
    if let Some(project) = &filter.project {
        sql.push(" AND project = ").push_bind(project.clone().unwrap_or_default());
    }
    if let Some(file) = &filter.file {
        sql.push(" AND file = ").push_bind(file.clone());
    }
    let order = if is_newest { "number DESC" } else { "rank DESC, number DESC" };
    sql.push(format!(" ORDER BY {order} LIMIT {MAX_WALK}"));
}

fn push_conditions(sql: &mut QueryBuilder<Sqlite>, filter: &FindingFilter) {
    let words = |sql: &mut QueryBuilder<Sqlite>, column: &str, words: &[&'static str]| {
        if !words.is_empty() {
            sql.push(format!(" AND {column} IN ('{}')", words.join("', '")));
        }
    };
    words(sql, "status", &filter.statuses.iter().map(|status| FindingStatus::as_str(*status)).collect::<Vec<_>>());
    words(sql, "severity", &filter.severities.iter().map(|severity| severity.as_str()).collect::<Vec<_>>());
    words(sql, "kind", &filter.kind.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
    if let Some(blocks) = filter.blocks {
        sql.push(" AND blocks = ").push_bind(i64::from(blocks));
    }
    if filter.open_reviews {
        sql.push(" AND review_open = 1");
    }
    if filter.without_file {
        sql.push(" AND file IS NULL");
    }
    if !filter.suggestions {
        sql.push(" AND is_issue = 1");
    }
    for (column, value) in [("persona", &filter.persona), ("reviewer", &filter.reviewer)] {
        if let Some(value) = value {
            sql.push(format!(" AND {column} = ")).push_bind(value.clone());
        }
    }
    if let Some(project) = &filter.project {
        sql.push(" AND project = ").push_bind(project.clone().unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "finding_index_tests.rs"]
mod tests;
