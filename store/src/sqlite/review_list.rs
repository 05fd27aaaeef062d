//! Queries for lists of reviews, page by page. Every page is a short walk along an index, however many reviews there
//! are, except with the filters by branch and participant, for people. So the SQL is assembled from the filters:
//! conditions like `OR ? IS NULL` would prevent the use of an index.

use super::{Reader, to_u64};
use crate::{
    StoreError,
    query_types::{ListOrder, Page, ReviewFilter},
};
use domain::review::{Review, Status};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};

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
        let mut sql = QueryBuilder::<Sqlite>::new(
            "SELECT r.queued_seq, r.body, (SELECT json_group_array(json(s.body) ORDER BY s.position) FROM seats s
                                           WHERE s.review = r.number) AS seats
             FROM reviews r",
        );
        push_conditions(&mut sql, filter);
        match (filter.order(), cursor) {
            (ListOrder::Queue, None) => {
                sql.push(" ORDER BY r.priority, r.number");
            }
            (ListOrder::Queue, Some(cursor)) => {
                let (priority, number) = parse_queue_cursor(cursor)?;
                sql.push(" AND (r.priority, r.number) > (").push_bind(priority).push(", ").push_bind(number);
                sql.push(") ORDER BY r.priority, r.number");
            }
            (ListOrder::Newest, None) => {
                sql.push(" ORDER BY r.number DESC");
            }
            (ListOrder::Newest, Some(cursor)) => {
                sql.push(" AND r.number < ").push_bind(parse_newest_cursor(cursor)?).push(" ORDER BY r.number DESC");
            }
        }
        sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
        sql.build().fetch_all(connection).await?.iter().map(parse_row).collect()
    }

    /// Whether any review matches. Cheaper than listing a page.
    pub async fn has_reviews(&self, filter: &ReviewFilter) -> Result<bool, StoreError> {
        for part in split_by_index(std::slice::from_ref(filter)) {
            let mut sql = QueryBuilder::<Sqlite>::new("SELECT 1 FROM reviews r");
            push_conditions(&mut sql, &part);
            sql.push(" LIMIT 1");
            if sql.build().fetch_optional(&self.pool).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The index to walk. Ended reviews may be many, and most reviews of a project or category have ended. Reviews in any
/// other status are few.
fn index(filter: &ReviewFilter) -> Option<&'static str> {
    let ended = matches!(filter.status, None | Some(Status::Closed | Status::Cancelled | Status::Rejected));
    let of_project = filter.project.is_some() || filter.without_project;
    if filter.order() == ListOrder::Queue {
        return Some(match (of_project, filter.category) {
            _ if filter.queued_after.is_some() => "reviews_queue_news",
            (true, _) => "reviews_queue_by_project",
            (false, Some(_)) => "reviews_queue_by_category",
            (false, None) => "reviews_queue",
        });
    }
    match (filter.status, of_project, filter.category) {
        (_, true, _) if ended => Some("reviews_by_project"),
        (_, false, Some(_)) if ended => Some("reviews_by_category"),
        (Some(_), _, _) => Some("reviews_by_status"),
        (None, _, _) => None,
    }
}

fn push_conditions(sql: &mut QueryBuilder<Sqlite>, filter: &ReviewFilter) {
    if let Some(index) = index(filter) {
        sql.push(" INDEXED BY ").push(index);
    }
    sql.push(" WHERE 1 = 1");
    if let Some(status) = filter.status {
        sql.push(" AND r.status = ").push_bind(status.as_str());
    }
    if filter.order() == ListOrder::Queue {
        // A literal, so that SQLite uses the partial indexes of the queue.
        sql.push(" AND r.free_seats > 0");
        if let Some(caller) = &filter.open_to {
            push_claimable(sql, caller, filter.wants_started_reviews());
        }
    }
    if let Some(category) = filter.category {
        sql.push(" AND r.category = ").push_bind(category.as_str());
    }
    if let Some(project) = &filter.project {
        sql.push(" AND r.project = ").push_bind(project.clone());
    }
    if filter.without_project {
        sql.push(" AND r.project IS NULL");
    }
    if let Some(caller) = &filter.not_by {
        sql.push(" AND r.proposer <> ").push_bind(caller.clone());
    }
    if let Some(branch) = &filter.branch {
        sql.push(" AND r.body ->> '$.branch' = ").push_bind(branch.clone());
    }
    if let Some(name) = &filter.participant {
        sql.push(" AND (r.proposer = ").push_bind(name.clone());
        sql.push(" OR EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by = ");
        sql.push_bind(name.clone()).push("))");
    }
    if let Some(name) = &filter.turn_of {
        sql.push(" AND (r.proposer = ").push_bind(name.clone());
        sql.push(" OR r.free_seats > 0 OR r.escalated_for IS NOT NULL");
        sql.push(" OR EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by = ");
        sql.push_bind(name.clone()).push("))");
    }
    if let Some(seq) = filter.queued_after {
        sql.push(" AND r.queued_seq > ").push_bind(i64::try_from(seq).unwrap_or(i64::MAX));
    }
}

/// Requires a seat that `caller` can claim. For started reviews it excludes those that the caller proposed or holds a
/// seat of.
fn push_claimable(sql: &mut QueryBuilder<Sqlite>, caller: &str, is_started: bool) {
    sql.push(
        " AND EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by IS NULL AND s.vote IS NULL
          AND (s.reserved_for IS NULL OR s.reserved_for = ",
    );
    sql.push_bind(caller.to_owned()).push("))");
    if is_started {
        sql.push(" AND r.proposer <> ").push_bind(caller.to_owned());
        sql.push(" AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by = ");
        sql.push_bind(caller.to_owned()).push(")");
    }
}

fn parse_row(row: &SqliteRow) -> Result<(Review, u64), StoreError> {
    let review: Review = serde_json::from_str(row.try_get("body")?)?;
    let seats = serde_json::from_str(row.try_get("seats")?)?;
    Ok((Review { seats, ..review }, to_u64(row.try_get("queued_seq")?)?))
}

fn sort_key(order: ListOrder, review: &Review) -> (i64, i64) {
    match order {
        ListOrder::Queue => (review.priority.rank(), review.number.0),
        ListOrder::Newest => (0, -review.number.0),
    }
}

fn format_cursor(order: ListOrder, review: &Review) -> String {
    match order {
        ListOrder::Queue => format!("q{}.{}", review.priority.rank(), review.number.0),
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
