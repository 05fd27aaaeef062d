//! Lists of reviews, page by page. Every page is a short walk along an index, however many reviews there are. So the SQL
//! is assembled from the filters: conditions like `OR ? IS NULL` would prevent the use of an index.

use super::{Reader, parse_word, reviews::parse_priority, to_id, to_u32, to_u64};
use crate::{
    StoreError,
    rows::{ListOrder, Page, ReviewFilter, ReviewListRow},
};
use domain::{
    ids::ReviewNumber,
    review::{Category, Status},
    time::Timestamp,
};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};

/// Claimable reviews are pending, or other reviewers have started them. Each of the two is a walk along its own index,
/// so such a filter becomes two.
fn split_by_index(filters: &[ReviewFilter]) -> Vec<ReviewFilter> {
    let is_claimable = |filter: &&ReviewFilter| filter.status == Some(Status::Pending) && filter.open_to.is_some();
    let started = |filter: &ReviewFilter| ReviewFilter { status: Some(Status::InReview), ..filter.clone() };
    filters.iter().cloned().chain(filters.iter().filter(is_claimable).map(started)).collect()
}

/// A row with the event that last put it into the queue.
struct QueuedRow {
    row: ReviewListRow,
    queued_seq: u64,
}

impl Reader {
    /// One page, and the last queue event among its rows.
    pub async fn list_reviews(
        &self,
        filters: &[ReviewFilter],
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<(Page<ReviewListRow>, u64), StoreError> {
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
            rows.sort_by_key(|row| sort_key(order, &row.row));
        }
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(|row| format_cursor(order, &row.row));
        let last_queued = rows.iter().map(|row| row.queued_seq).max().unwrap_or(0);
        let items = rows.into_iter().map(|row| row.row).collect();
        Ok((Page { items, next_cursor }, last_queued))
    }

    async fn list_filtered(
        connection: &mut SqliteConnection,
        filter: &ReviewFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Vec<QueuedRow>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "SELECT r.number, r.id, r.status, r.intent, r.agent_type, r.agent_role, r.phase, r.plan, r.task,
                    r.project, r.proposer_id, r.category, r.priority, r.round, r.diff_check, r.version,
                    r.created_at_ms, r.updated_at_ms, r.queued_seq, r.verdict_by,
                    (SELECT s.claimed_by FROM seats s WHERE s.review = r.number AND s.claimed_by IS NOT NULL
                     ORDER BY s.position LIMIT 1) AS claimed_by,
                    (SELECT CASE WHEN count(*) = count(s.reserved_for) THEN min(s.reserved_for) END FROM seats s
                     WHERE s.review = r.number AND s.claimed_by IS NULL AND s.vote IS NULL) AS reserved_for,
                    CASE WHEN r.free_seats > 0 THEN
                    (SELECT json_group_array(s.persona ORDER BY s.position) FROM seats s WHERE s.review = r.number",
        );
        push_free_seat(&mut sql, filter.open_to.as_deref());
        sql.push(") END AS free_seats FROM reviews r");
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
        sql.push(" AND coalesce(r.proposer_id, r.agent_type) <> ").push_bind(caller.clone());
    }
    if let Some(seq) = filter.queued_after {
        sql.push(" AND r.queued_seq > ").push_bind(i64::try_from(seq).unwrap_or(i64::MAX));
    }
}

/// Requires a seat that `caller` can claim. For started reviews it excludes those that the caller proposed or holds a
/// seat of.
fn push_claimable(sql: &mut QueryBuilder<Sqlite>, caller: &str, is_started: bool) {
    sql.push(" AND EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number");
    push_free_seat(sql, Some(caller));
    sql.push(")");
    if is_started {
        sql.push(" AND coalesce(r.proposer_id, r.agent_type) <> ").push_bind(caller.to_owned());
        sql.push(" AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by = ");
        sql.push_bind(caller.to_owned()).push(")");
    }
}

fn push_free_seat(sql: &mut QueryBuilder<Sqlite>, caller: Option<&str>) {
    sql.push(" AND s.claimed_by IS NULL AND s.vote IS NULL AND (s.reserved_for IS NULL");
    if let Some(caller) = caller {
        sql.push(" OR s.reserved_for = ").push_bind(caller.to_owned());
    }
    sql.push(")");
}

fn parse_row(row: &SqliteRow) -> Result<QueuedRow, StoreError> {
    let text = |column: &str| row.try_get::<String, _>(column);
    let optional = |column: &str| row.try_get::<Option<String>, _>(column);
    let number = |column: &str| row.try_get::<i64, _>(column);
    let status = parse_word(&text("status")?, Status::parse)?;
    let claimed_by = match optional("claimed_by")? {
        None if status == Status::ChangesRequested => optional("verdict_by")?.filter(|by| by == domain::ids::VALIDATOR),
        other => other,
    };
    let listed = ReviewListRow {
        id: to_id(&text("id")?)?,
        number: ReviewNumber(number("number")?),
        status,
        intent: text("intent")?,
        agent_type: text("agent_type")?,
        agent_role: text("agent_role")?,
        phase: text("phase")?,
        plan: optional("plan")?,
        task: optional("task")?,
        project: optional("project")?,
        proposer_id: optional("proposer_id")?,
        category: optional("category")?.map(|category| parse_word(&category, Category::parse)).transpose()?,
        priority: parse_priority(number("priority")?)?,
        round: to_u32(number("round")?)?,
        claimed_by,
        reserved_for: optional("reserved_for")?,
        free_seats: optional("free_seats")?.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default(),
        has_diff: optional("diff_check")?.is_some(),
        version: to_u64(number("version")?)?,
        created_at: Timestamp(number("created_at_ms")?),
        updated_at: Timestamp(number("updated_at_ms")?),
    };
    Ok(QueuedRow { row: listed, queued_seq: to_u64(number("queued_seq")?)? })
}

fn sort_key(order: ListOrder, row: &ReviewListRow) -> (i64, i64) {
    match order {
        ListOrder::Queue => (row.priority.rank(), row.number.0),
        ListOrder::Newest => (0, -row.number.0),
    }
}

fn format_cursor(order: ListOrder, row: &ReviewListRow) -> String {
    match order {
        ListOrder::Queue => format!("q{}.{}", row.priority.rank(), row.number.0),
        ListOrder::Newest => format!("n{}", row.number.0),
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
