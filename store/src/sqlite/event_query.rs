//! Events by filter: of a review, an actor, a kind, a project or a period, page by page.
//!
//! No index leads from an actor, a kind or a project to its events, because keeping one would cost the writer more than
//! the event itself. A page walks a bounded part of the log instead. If that part has too few matches the page is short,
//! and its cursor continues where the walk ended.

use super::{
    Reader,
    events::{EventRow, collect_page},
};
use crate::{
    EventRecord, StoreError,
    rows::{EventFilter, Page},
};
use domain::{event_kind::EventKind, query::EventOrder, time::Timestamp};
use sqlx::{QueryBuilder, Sqlite};

/// Most events that one page looks at.
const MAX_WALK: i64 = 10_000;

/// How far timestamps may disagree with the order of the log or of the reviews: events are stamped before they are
/// ordered, and clocks are adjusted. A period may miss events that are further out of order.
const CLOCK_TOLERANCE_MS: i64 = 600_000;

impl Reader {
    /// One page. The cursor is the sequence number of the last event that was looked at.
    pub async fn list_events_by(
        &self,
        filter: &EventFilter,
        order: EventOrder,
        cursor: Option<u64>,
        limit: u32,
    ) -> Result<Page<EventRecord>, StoreError> {
        let cursor = cursor.map(|cursor| i64::try_from(cursor).unwrap_or(i64::MAX));
        let (first, end) = self.seq_range(filter).await?;
        let (first, end) = match (order, cursor) {
            (_, None) => (first, end),
            (EventOrder::Newest, Some(cursor)) => (first, end.min(cursor)),
            (EventOrder::Oldest, Some(cursor)) => (first.max(cursor.saturating_add(1)), end),
        };
        let walk = match (is_indexed(filter), order) {
            (true, _) => (first, end),
            (false, EventOrder::Newest) => (first.max(end.saturating_sub(MAX_WALK)), end),
            (false, EventOrder::Oldest) => (first, end.min(first.saturating_add(MAX_WALK))),
        };
        let mut sql = select(filter, order, walk);
        sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
        let rows = sql.build_query_as::<EventRow>().fetch(&self.pool);
        let (mut rows, is_complete) = collect_page(rows, |row| row.payload.len()).await?;
        let more = rows.len() > limit as usize || !is_complete;
        rows.truncate(limit as usize);
        let items = rows.into_iter().map(EventRow::into_record).collect::<Result<Vec<_>, _>>()?;
        let walk_end = match order {
            EventOrder::Newest if walk.0 > first => Some(walk.0),
            EventOrder::Oldest if walk.1 < end => Some(walk.1 - 1),
            EventOrder::Newest | EventOrder::Oldest => None,
        };
        let next_cursor = match items.last() {
            Some(last) if more => Some(last.seq.to_string()),
            Some(_) | None => walk_end.map(|seq| seq.to_string()),
        };
        Ok(Page { items, next_cursor })
    }

    /// The first sequence number of the filter's period, and the one behind its last.
    async fn seq_range(&self, filter: &EventFilter) -> Result<(i64, i64), StoreError> {
        let first = match filter.since {
            Some(since) => self.find_seq_at(since.0.saturating_sub(CLOCK_TOLERANCE_MS)).await?,
            None => 0,
        };
        let end = match filter.until {
            Some(until) => self.find_seq_at(until.0.saturating_add(CLOCK_TOLERANCE_MS)).await?,
            None => i64::try_from(self.last_seq().await?).unwrap_or(i64::MAX - 1) + 1,
        };
        Ok((first, end))
    }

    /// The first event at or after `at_ms`, by binary search: the log is in order of time, except for
    /// [`CLOCK_TOLERANCE_MS`].
    async fn find_seq_at(&self, at_ms: i64) -> Result<i64, StoreError> {
        let row = sqlx::query!(
            r#"WITH RECURSIVE steps (at, step) AS (
                   SELECT 0, 1 << 40
                   UNION ALL
                   SELECT at + iif(coalesce((SELECT t.at_ms < ?1 FROM events t WHERE t.seq >= at + step
                                             ORDER BY t.seq LIMIT 1), 0), step, 0), step / 2
                   FROM steps WHERE step > 0
               ) SELECT at + 1 AS "first!: i64" FROM steps WHERE step = 0"#,
            at_ms
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(row.first)
    }

    /// The number of the first review submitted at or after `at_ms`.
    pub(crate) async fn find_number_at(&self, at_ms: i64) -> Result<i64, StoreError> {
        let row = sqlx::query!(
            r#"WITH RECURSIVE steps (at, step) AS (
                   SELECT 0, 1 << 40
                   UNION ALL
                   SELECT at + iif(coalesce((SELECT t.created_at_ms < ?1 FROM reviews t WHERE t.number >= at + step
                                             ORDER BY t.number LIMIT 1), 0), step, 0), step / 2
                   FROM steps WHERE step > 0
               ) SELECT at + 1 AS "first!: i64" FROM steps WHERE step = 0"#,
            at_ms
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(row.first)
    }

    /// The numbers of the reviews submitted in a period, and some around them: the first, and the one behind the last.
    pub(crate) async fn review_range(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<(i64, i64), StoreError> {
        let first = match since {
            Some(since) => self.find_number_at(since.0.saturating_sub(CLOCK_TOLERANCE_MS)).await?,
            None => 0,
        };
        let end = match until {
            Some(until) => self.find_number_at(until.0.saturating_add(CLOCK_TOLERANCE_MS)).await?,
            None => i64::MAX,
        };
        Ok((first, end))
    }
}

/// Whether an index leads to the events. There are few then, and a page may look at all of them.
fn is_indexed(filter: &EventFilter) -> bool {
    filter.review.is_some() || filter.kind.is_some_and(EventKind::is_pool_event)
}

/// The query without its limit. `walk` is the range of sequence numbers it looks at, without the end.
fn select(filter: &EventFilter, order: EventOrder, walk: (i64, i64)) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT e.seq, e.at_ms, e.tick, e.actor, e.status, e.round, e.version, e.payload, r.number, r.id, r.intent,
                coalesce(r.project, p.project) AS project, p.id IS NOT NULL AS has_reviewer
         FROM events e ",
    );
    let is_pool = filter.kind.is_some_and(EventKind::is_pool_event);
    if filter.review.is_none() {
        sql.push(if is_pool { "INDEXED BY events_of_the_pool " } else { "NOT INDEXED " });
    }
    sql.push("LEFT JOIN reviews r ON r.number = e.review ");
    sql.push("LEFT JOIN reviewers p ON e.review IS NULL AND p.id = e.actor WHERE e.seq >= ").push_bind(walk.0);
    sql.push(" AND e.seq < ").push_bind(walk.1);
    if let Some(review) = filter.review {
        sql.push(" AND e.review = ").push_bind(review.0);
    }
    if is_pool {
        sql.push(" AND e.review IS NULL");
    }
    if let Some(kind) = filter.kind {
        sql.push(" AND e.kind = ").push_bind(kind.as_str());
    }
    if let Some(actor) = &filter.actor {
        sql.push(" AND e.actor = ").push_bind(actor);
    }
    if filter.activity {
        let mut kinds = sql.push(" AND e.kind IN (").separated(", ");
        for kind in EventKind::ALL.iter().filter(|kind| kind.is_activity()) {
            kinds.push_bind(kind.as_str());
        }
        sql.push(")");
    }
    if let Some(since) = filter.since {
        sql.push(" AND e.at_ms >= ").push_bind(since.0);
    }
    if let Some(until) = filter.until {
        sql.push(" AND e.at_ms < ").push_bind(until.0);
    }
    if let Some(project) = &filter.project {
        // An event of the pool belongs to the project of its reviewer.
        sql.push(
            " AND CASE WHEN e.review IS NOT NULL THEN r.project WHEN e.actor IS NULL THEN e.payload ->> '$.project'
              ELSE p.project END IS ",
        );
        sql.push_bind(project.as_deref());
    }
    sql.push(match (filter.review.is_some(), order) {
        // Within a review both orders agree, and the index is ordered by version.
        (true, EventOrder::Newest) => " ORDER BY e.version DESC",
        (true, EventOrder::Oldest) => " ORDER BY e.version",
        (false, EventOrder::Newest) => " ORDER BY e.seq DESC",
        (false, EventOrder::Oldest) => " ORDER BY e.seq",
    });
    sql
}

#[cfg(test)]
#[path = "event_query_tests.rs"]
mod tests;
