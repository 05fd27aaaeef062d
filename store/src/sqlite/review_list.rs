//! Queries for lists of reviews, page by page. A page reads a short part of an index, however many reviews there are.
//! Only the filters by a word of the intent and by participant may read the whole index.

use super::{
    Reader, parse_word,
    review_filter::{Walk, push_filter},
    spellings::Spellings,
    to_u64,
};
use crate::{
    StoreError,
    query_types::{ListOrder, ListedDetails, Page, ReviewFilter},
};
use domain::{
    finding::Severity,
    ids::ReviewNumber,
    review::{Review, Status},
};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};
use std::collections::HashMap;

/// Claimable reviews are pending, or other reviewers have started them. Each of the two is a walk along its own index,
/// so such a filter becomes two.
fn split_by_index(filters: &[ReviewFilter]) -> Vec<ReviewFilter> {
    let is_claimable = |filter: &&ReviewFilter| filter.status == Some(Status::Pending) && filter.open_to.is_some();
    let started = |filter: &ReviewFilter| ReviewFilter { status: Some(Status::InReview), ..filter.clone() };
    filters.iter().cloned().chain(filters.iter().filter(is_claimable).map(started)).collect()
}

impl Reader {
    /// One page, and the last queue event among its reviews. Findings are left out.
    pub async fn list_reviews(
        &self,
        filters: &[ReviewFilter],
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<(Page<Review>, u64), StoreError> {
        let filters = &*split_by_index(filters);
        let mut rows = Vec::new();
        match filters {
            [only] => rows = Self::list_filtered(&mut *self.pool.acquire().await?, only, cursor, limit).await?,
            // In one transaction: otherwise an event that one query sees could hide an earlier one from a waiter.
            _ => {
                let mut transaction = self.pool.begin().await?;
                for filter in filters {
                    rows.extend(Self::list_filtered(&mut transaction, filter, cursor, limit).await?);
                }
                transaction.rollback().await?;
            }
        }
        let order = filters.first().map_or(ListOrder::Newest, ReviewFilter::order);
        if filters.len() > 1 {
            rows.sort_by_key(|(review, _)| sort_key(order, review));
        }
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(|(review, _)| format_cursor(order, review));
        let last_queued = rows.iter().map(|(_, queued_seq)| *queued_seq).max().unwrap_or(0);
        let items = rows.into_iter().map(|(review, _)| review).collect();
        Ok((Page { items, next_cursor }, last_queued))
    }

    /// Each review with the event that last put it into the queue.
    async fn list_filtered(
        connection: &mut SqliteConnection,
        filter: &ReviewFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Vec<(Review, u64)>, StoreError> {
        let spellings = Spellings::read(connection, filter).await?;
        let mut sql = select_page(filter, &spellings, cursor, limit)?;
        sql.build().fetch_all(connection).await?.iter().map(parse_row).collect()
    }

    /// What a list shows of these reviews beside their snapshots.
    pub async fn list_details(
        &self,
        reviews: &[ReviewNumber],
    ) -> Result<HashMap<ReviewNumber, ListedDetails>, StoreError> {
        let numbers = serde_json::to_string(&reviews.iter().map(|number| number.0).collect::<Vec<_>>())?;
        let sizes = sqlx::query!(
            r#"SELECT r.number AS "number!", c.file_count, c.added, c.removed
               FROM json_each(?) n CROSS JOIN reviews r ON r.number = n.value JOIN contents c ON c.hash = r.content_hash"#,
            numbers
        );
        let mut details = HashMap::new();
        for row in sizes.fetch_all(&self.pool).await? {
            let (file_count, added, removed) = (to_u64(row.file_count)?, to_u64(row.added)?, to_u64(row.removed)?);
            let listed = ListedDetails { file_count, added, removed, ..ListedDetails::default() };
            details.insert(ReviewNumber(row.number), listed);
        }
        let open = sqlx::query!(
            r#"SELECT f.review AS "review!", f.severity AS "severity!", count(*) AS "count!: i64"
               FROM json_each(?) n CROSS JOIN findings f ON f.review = n.value
               WHERE f.status = 'open' AND f.is_issue = 1 AND f.body ->> '$.late' = 0 GROUP BY f.review, f.severity"#,
            numbers
        );
        for row in open.fetch_all(&self.pool).await? {
            if let Some(listed) = details.get_mut(&ReviewNumber(row.review)) {
                listed.open_issues.push((parse_word(&row.severity, Severity::parse)?, to_u64(row.count)?));
            }
        }
        Ok(details)
    }

    /// Whether any review matches. Cheaper than listing a page.
    pub async fn has_reviews(&self, filter: &ReviewFilter) -> Result<bool, StoreError> {
        for part in split_by_index(std::slice::from_ref(filter)) {
            let mut sql = QueryBuilder::<Sqlite>::new("SELECT 1");
            let mut connection = self.pool.acquire().await?;
            let spellings = Spellings::read(&mut connection, &part).await?;
            push_filter(&mut sql, Walk::of_list(&part), &part, &spellings);
            sql.push(" LIMIT 1");
            if sql.build().fetch_optional(&mut *connection).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The query for one page, which has one row more if another page follows.
fn select_page(
    filter: &ReviewFilter,
    spellings: &Spellings,
    cursor: Option<&str>,
    limit: u32,
) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT r.queued_seq, r.body, (SELECT json_group_array(json(s.body) ORDER BY s.position) FROM seats s
                                       WHERE s.review = r.number) AS seats",
    );
    let walk = Walk::of_list(filter);
    push_filter(&mut sql, walk, filter, spellings);
    match (filter.order(), cursor) {
        (ListOrder::Queue | ListOrder::Priority, None) => {
            sql.push(" ORDER BY r.priority, r.number");
        }
        (ListOrder::Queue | ListOrder::Priority, Some(cursor)) => {
            let (priority, number) = parse_queue_cursor(cursor)?;
            sql.push(" AND (r.priority, r.number) > (").push_bind(priority).push(", ").push_bind(number);
            sql.push(") ORDER BY r.priority, r.number");
        }
        (ListOrder::Newest, cursor) => {
            let number = walk.number();
            if let Some(cursor) = cursor {
                sql.push(" AND ").push(number).push(" < ").push_bind(parse_newest_cursor(cursor)?);
            }
            sql.push(" ORDER BY ").push(number).push(" DESC");
        }
    }
    sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
    Ok(sql)
}

fn parse_row(row: &SqliteRow) -> Result<(Review, u64), StoreError> {
    let review: Review = serde_json::from_str(row.try_get("body")?)?;
    let seats = serde_json::from_str(row.try_get("seats")?)?;
    Ok((Review { seats, ..review }, to_u64(row.try_get("queued_seq")?)?))
}

fn sort_key(order: ListOrder, review: &Review) -> (i64, i64) {
    match order {
        ListOrder::Queue | ListOrder::Priority => (review.priority.rank(), review.number.0),
        ListOrder::Newest => (0, -review.number.0),
    }
}

fn format_cursor(order: ListOrder, review: &Review) -> String {
    match order {
        ListOrder::Queue | ListOrder::Priority => format!("q{}.{}", review.priority.rank(), review.number.0),
        ListOrder::Newest => format!("n{}", review.number.0),
    }
}

fn parse_queue_cursor(cursor: &str) -> Result<(i64, i64), StoreError> {
    let parse = || {
        let (priority, number) = cursor.strip_prefix('q')?.split_once('.')?;
        Some((priority.parse().ok()?, number.parse().ok()?))
    };
    parse().ok_or_else(|| StoreError::BadCursor(cursor.into()))
}

fn parse_newest_cursor(cursor: &str) -> Result<i64, StoreError> {
    let parse = || cursor.strip_prefix('n')?.parse().ok();
    parse().ok_or_else(|| StoreError::BadCursor(cursor.into()))
}

#[cfg(test)]
#[path = "review_list_tests.rs"]
pub(super) mod tests;
