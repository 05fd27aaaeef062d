//! Queries for lists of findings, page by page.

use super::{Reader, parse_word, to_id};
use crate::{
    StoreError,
    query_types::{FindingDetails, FindingFilter, ListedFinding, Page},
};
use domain::{ids::ReviewNumber, review::Status};
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

/// Most findings that one page across reviews looks at.
const MAX_WALK: i64 = 10_000;

impl Reader {
    /// The highest finding number; 0 if there are no findings.
    pub async fn last_finding_number(&self) -> Result<i64, StoreError> {
        let row = sqlx::query!(r#"SELECT coalesce(max(number), 0) AS "number!: i64" FROM findings"#)
            .fetch_one(&self.pool)
            .await?;
        Ok(row.number)
    }

    /// One page, newest first. The cursor is a finding's number. Across reviews a page looks at a bounded number of
    /// findings, so it may be short or empty although more pages follow.
    pub async fn list_findings(
        &self,
        filter: &FindingFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page<ListedFinding>, StoreError> {
        let all = self.last_finding_number().await?.saturating_add(1);
        let end = before.map_or(all, |before| before.min(all));
        let (first, end) = match filter.number {
            Some(number) => (number.0, end.min(number.0.saturating_add(1))),
            None if filter.review.is_some() => (1, end),
            None => (end.saturating_sub(MAX_WALK).max(1), end),
        };
        let mut sql = select(filter, (first, end));
        sql.push(" ORDER BY f.number DESC LIMIT ").push_bind(i64::from(limit) + 1);
        let mut rows = sql.build().fetch_all(&self.pool).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let items = rows.iter().map(|row| listed(row, false)).collect::<Result<Vec<_>, StoreError>>()?;
        let next = match items.last() {
            Some(last) if more => Some(last.finding.number.0),
            Some(_) | None => (first > 1 && filter.number.is_none()).then_some(first),
        };
        Ok(Page { items, next_cursor: next.map(|number| number.to_string()) })
    }
}

/// A row with `body`, `id`, `review` and, for details, `status`, `intent` and `blocks`.
pub(super) fn listed(row: &SqliteRow, with_details: bool) -> Result<ListedFinding, StoreError> {
    let details = || -> Result<_, StoreError> {
        Ok(FindingDetails {
            review_status: parse_word(row.try_get("status")?, Status::parse)?,
            review_intent: row.try_get("intent")?,
            blocks: row.try_get("blocks")?,
        })
    };
    Ok(ListedFinding {
        review: to_id(row.try_get::<&str, _>("id")?)?,
        number: ReviewNumber(row.try_get("review")?),
        finding: serde_json::from_str(row.try_get::<&str, _>("body")?)?,
        details: with_details.then(details).transpose()?,
    })
}

/// The query without order and limit. `walk` is the range of numbers it looks at, without the end.
fn select(filter: &FindingFilter, walk: (i64, i64)) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT f.number, f.body, r.id, r.number AS review FROM findings f ");
    if filter.review.is_none() {
        sql.push("NOT INDEXED ");
    }
    sql.push("CROSS JOIN reviews r ON r.number = f.review WHERE f.number >= ").push_bind(walk.0);
    sql.push(" AND f.number < ").push_bind(walk.1);
    if let Some(review) = filter.review {
        sql.push(" AND f.review = ").push_bind(review.0);
    }
    if !filter.statuses.is_empty() {
        let words: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
        sql.push(format!(" AND f.status IN ('{}')", words.join("', '")));
    }
    if !filter.severities.is_empty() {
        let words: Vec<_> = filter.severities.iter().map(|severity| severity.as_str()).collect();
        sql.push(format!(" AND f.severity IN ('{}')", words.join("', '")));
    }
    if let Some(file) = &filter.file {
        sql.push(" AND f.file = ").push_bind(file);
    }
    if let Some(persona) = &filter.persona {
        sql.push(" AND f.persona = ").push_bind(persona);
    }
    if !filter.suggestions {
        sql.push(" AND f.is_issue = 1");
    }
    match &filter.project {
        None => {}
        Some(None) => drop(sql.push(" AND r.project IS NULL")),
        Some(Some(project)) => drop(sql.push(" AND r.project = ").push_bind(project)),
    }
    sql
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
