//! Lists of reviews, page by page. Every page is a short walk along an index, however many reviews
//! there are, so the SQL is put together from the filters rather than hidden behind `OR ? IS NULL`,
//! which no index helps with.

use crate::{
    Reader, StoreError,
    reader::{to_id, to_u32, to_u64, word},
    reviews::priority,
    view::{Page, Summary},
};
use domain::{
    ids::ReviewNumber,
    review::{Category, Status},
    time::Timestamp,
};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};

/// Which reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    pub status: Option<Status>,
    pub category: Option<Category>,
    pub project: Option<String>,
    /// Only reviews that have no project.
    pub without_project: bool,
    /// What this identity may take. With `status` pending that hides reviews whose free seats are all reserved for
    /// somebody else, and adds those in review where a seat is still free.
    pub open_to: Option<String>,
    /// Hides what this identity proposed itself.
    pub not_by: Option<String>,
    /// Only what entered the queue after this event.
    pub queued_after: Option<u64>,
}

/// What can be claimed in the order of the queue, all others newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    Queue,
    Newest,
}

impl Filter {
    pub fn order(&self) -> ListOrder {
        if self.status == Some(Status::Pending) || self.joins() { ListOrder::Queue } else { ListOrder::Newest }
    }

    /// Asks for seats of reviews that others have begun.
    fn joins(&self) -> bool {
        self.status == Some(Status::InReview) && self.open_to.is_some()
    }

    /// What can be taken is pending, or others have begun it: each a walk along the index of its own.
    fn parts(filters: &[Self]) -> Vec<Self> {
        let takes = |filter: &&Self| filter.status == Some(Status::Pending) && filter.open_to.is_some();
        let begun = |filter: &Self| Self { status: Some(Status::InReview), ..filter.clone() };
        filters.iter().cloned().chain(filters.iter().filter(takes).map(begun)).collect()
    }
}

/// A list row with what paging and waiting need of it.
struct Listed {
    summary: Summary,
    queued_seq: u64,
}

impl Reader {
    /// One page, and the highest queue event among its rows.
    pub async fn list_reviews(
        &self,
        filters: &[Filter],
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<(Page<Summary>, u64), StoreError> {
        let filters = &*Filter::parts(filters);
        let mut rows = Vec::new();
        match filters {
            [only] => rows = Self::list_filtered(&mut *self.pool.acquire().await?, only, cursor, limit).await?,
            // All of one moment: an event seen by one of them would else hide an earlier one from a waiter.
            _ => {
                let mut moment = self.pool.begin().await?;
                for filter in filters {
                    rows.extend(Self::list_filtered(&mut moment, filter, cursor, limit).await?);
                }
                moment.rollback().await?;
            }
        }
        let order = filters.first().map_or(ListOrder::Newest, Filter::order);
        if filters.len() > 1 {
            rows.sort_by_key(|row| position(order, &row.summary));
        }
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| more).map(|row| cursor_at(order, &row.summary));
        let last_queued = rows.iter().map(|row| row.queued_seq).max().unwrap_or(0);
        let items = rows.into_iter().map(|row| row.summary).collect();
        Ok((Page { items, next_cursor }, last_queued))
    }

    async fn list_filtered(
        connection: &mut SqliteConnection,
        filter: &Filter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Listed>, StoreError> {
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
        push_seat_for(&mut sql, filter.open_to.as_deref());
        sql.push(") END AS free_seats FROM reviews r");
        push_conditions(&mut sql, filter);
        match (filter.order(), cursor) {
            (ListOrder::Queue, None) => {
                sql.push(" ORDER BY r.priority, r.number");
            }
            (ListOrder::Queue, Some(cursor)) => {
                let (priority, number) = queue_cursor(cursor)?;
                sql.push(" AND (r.priority, r.number) > (").push_bind(priority).push(", ").push_bind(number);
                sql.push(") ORDER BY r.priority, r.number");
            }
            (ListOrder::Newest, None) => {
                sql.push(" ORDER BY r.number DESC");
            }
            (ListOrder::Newest, Some(cursor)) => {
                sql.push(" AND r.number < ").push_bind(newest_cursor(cursor)?).push(" ORDER BY r.number DESC");
            }
        }
        sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
        sql.build().fetch_all(connection).await?.iter().map(listed).collect()
    }

    /// Whether any review fits; cheaper than a page of them.
    pub async fn has_reviews(&self, filter: &Filter) -> Result<bool, StoreError> {
        for part in Filter::parts(std::slice::from_ref(filter)) {
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

/// The index to walk. Reviews that have ended may be many, and most of a project's or a category's are
/// among them; reviews in any other status are few.
fn index(filter: &Filter) -> Option<&'static str> {
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

fn push_conditions(sql: &mut QueryBuilder<Sqlite>, filter: &Filter) {
    if let Some(index) = index(filter) {
        sql.push(" INDEXED BY ").push(index);
    }
    sql.push(" WHERE 1 = 1");
    if let Some(status) = filter.status {
        sql.push(" AND r.status = ").push_bind(status.as_str());
    }
    if filter.order() == ListOrder::Queue {
        // As a literal, so that the partial indexes of the queue are used.
        sql.push(" AND r.free_seats > 0");
        if let Some(caller) = &filter.open_to {
            push_claimable(sql, caller, filter.joins());
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

/// A seat is free for `caller`. What it proposed itself it may see, but not once others are at it; nor what it has a
/// seat of.
fn push_claimable(sql: &mut QueryBuilder<Sqlite>, caller: &str, joins: bool) {
    sql.push(" AND EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number");
    push_seat_for(sql, Some(caller));
    sql.push(")");
    if joins {
        sql.push(" AND coalesce(r.proposer_id, r.agent_type) <> ").push_bind(caller.to_owned());
        sql.push(" AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by = ");
        sql.push_bind(caller.to_owned()).push(")");
    }
}

fn push_seat_for(sql: &mut QueryBuilder<Sqlite>, caller: Option<&str>) {
    sql.push(" AND s.claimed_by IS NULL AND s.vote IS NULL AND (s.reserved_for IS NULL");
    if let Some(caller) = caller {
        sql.push(" OR s.reserved_for = ").push_bind(caller.to_owned());
    }
    sql.push(")");
}

fn listed(row: &SqliteRow) -> Result<Listed, StoreError> {
    let text = |column: &str| row.try_get::<String, _>(column);
    let optional = |column: &str| row.try_get::<Option<String>, _>(column);
    let number = |column: &str| row.try_get::<i64, _>(column);
    let status = word(&text("status")?, Status::parse)?;
    let claimed_by = match optional("claimed_by")? {
        None if status == Status::ChangesRequested => optional("verdict_by")?.filter(|by| by == domain::ids::VALIDATOR),
        other => other,
    };
    let summary = Summary {
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
        category: optional("category")?.map(|category| word(&category, Category::parse)).transpose()?,
        priority: priority(number("priority")?)?,
        round: to_u32(number("round")?)?,
        claimed_by,
        reserved_for: optional("reserved_for")?,
        free_seats: optional("free_seats")?.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default(),
        has_diff: optional("diff_check")?.is_some(),
        version: to_u64(number("version")?)?,
        created_at: Timestamp(number("created_at_ms")?),
        updated_at: Timestamp(number("updated_at_ms")?),
    };
    Ok(Listed { summary, queued_seq: to_u64(number("queued_seq")?)? })
}

fn position(order: ListOrder, row: &Summary) -> (i64, i64) {
    match order {
        ListOrder::Queue => (row.priority.rank(), row.number.0),
        ListOrder::Newest => (0, -row.number.0),
    }
}

fn cursor_at(order: ListOrder, row: &Summary) -> String {
    match order {
        ListOrder::Queue => format!("q{}.{}", row.priority.rank(), row.number.0),
        ListOrder::Newest => format!("n{}", row.number.0),
    }
}

fn queue_cursor(cursor: &str) -> Result<(i64, i64), StoreError> {
    let read = || {
        let (priority, number) = cursor.strip_prefix('q')?.split_once('.')?;
        Some((priority.parse().ok()?, number.parse().ok()?))
    };
    read().ok_or_else(|| StoreError::BadCursor(cursor.into()))
}

fn newest_cursor(cursor: &str) -> Result<i64, StoreError> {
    let read = || cursor.strip_prefix('n')?.parse().ok();
    read().ok_or_else(|| StoreError::BadCursor(cursor.into()))
}
