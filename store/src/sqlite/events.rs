//! Queries over the event log: what a follower reads next, the timeline of a review, and events by filter.
//!
//! There is no index by actor, kind or project, because maintaining one would cost the writer more than the event
//! itself. A page reads a bounded part of the log instead. If that part has too few matches the page is short, and its
//! cursor continues where the page ended.

use super::{Reader, parse_word, to_id, to_u32, to_u64};
use crate::{
    EventRecord, LogEntry, StoreError, TimelineRecord,
    query_types::{EventFilter, Page},
};
use domain::{
    event_kind::EventKind,
    ids::ReviewNumber,
    query_types::EventOrder,
    review::{Event, LoggedEvent, Status},
    reviewer_pool::PoolEvent,
    time::{Tick, Timestamp},
};
use futures::StreamExt as _;
use sqlx::{QueryBuilder, Sqlite};

/// Most events that one page looks at.
const MAX_WALK: i64 = 10_000;

/// Bytes of text after which a page ends: a page of the longest events would be huge. The row that exceeds it is still
/// included, so that every page makes progress.
pub(super) const PAGE_BYTES: usize = 2 << 20;

/// How far timestamps may disagree with the order of the log or of the reviews: events are stamped before they are
/// ordered, and clocks are adjusted. A period may miss events that are further out of order.
const CLOCK_TOLERANCE_MS: i64 = 600_000;

/// A table whose rows are numbered in order of time.
pub(super) struct NumberedTable {
    pub(super) name: &'static str,
    pub(super) number: &'static str,
    pub(super) at_ms: &'static str,
}

const EVENTS: NumberedTable = NumberedTable { name: "events", number: "seq", at_ms: "at_ms" };

/// Columns of a timeline: when the review's previous event happened, and when the claim was made that this verdict or end
/// of a claim belongs to.
const TIMES: &str =
    ", (SELECT b.at_ms FROM events b WHERE b.review = e.review AND b.version = e.version - 1) AS previous_at_ms,
    CASE WHEN e.kind = 'verdict_given' OR e.kind = 'claim_ended' THEN
    (SELECT c.at_ms FROM events c WHERE c.review = e.review AND c.version < e.version AND c.kind = 'claimed'
     AND c.payload ->> '$.persona' = e.payload ->> '$.persona' ORDER BY c.version DESC LIMIT 1) END AS claimed_at_ms";

impl Reader {
    /// Sequence number of the last event; 0 for an empty log.
    pub async fn last_seq(&self) -> Result<u64, StoreError> {
        let row =
            sqlx::query!(r#"SELECT coalesce(max(seq), 0) AS "seq!: i64" FROM events"#).fetch_one(&self.pool).await?;
        to_u64(row.seq)
    }

    /// At most `limit` events after `after`, of all reviews or of one. Long events make a page shorter, so only an
    /// empty page means that there are no more.
    pub async fn list_events(
        &self,
        after: u64,
        review: Option<ReviewNumber>,
        limit: u32,
    ) -> Result<Vec<EventRecord>, StoreError> {
        let first = i64::try_from(after).unwrap_or(i64::MAX).saturating_add(1);
        let filter = EventFilter { review, ..EventFilter::default() };
        let (rows, _) =
            self.fetch_page(select("", &filter, (first, i64::MAX)), &filter, EventOrder::Oldest, limit).await?;
        rows.into_iter().map(EventRow::into_record).collect()
    }

    /// At most `limit` events of one review after `version`, oldest first. Long events make a page shorter.
    pub async fn list_timeline(
        &self,
        number: ReviewNumber,
        version: u64,
        limit: u32,
    ) -> Result<Vec<TimelineRecord>, StoreError> {
        let filter = EventFilter { review: Some(number), ..EventFilter::default() };
        let mut sql = select(TIMES, &filter, (0, i64::MAX));
        sql.push(" AND e.version > ").push_bind(i64::try_from(version).unwrap_or(i64::MAX));
        let (rows, _) = self.fetch_page(sql, &filter, EventOrder::Oldest, limit).await?;
        rows.into_iter()
            .map(|row| {
                let (previous_at, claimed_at) = (row.previous_at_ms.map(Timestamp), row.claimed_at_ms.map(Timestamp));
                Ok(TimelineRecord { event: row.into_record()?, previous_at, claimed_at })
            })
            .collect()
    }

    /// At most `limit` events of one review after `version`, oldest first. Long events make a page shorter.
    pub async fn list_review_log(
        &self,
        number: ReviewNumber,
        version: u64,
        limit: u32,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        let after = i64::try_from(version).unwrap_or(i64::MAX);
        let mut rows = sqlx::query!(
            r#"SELECT version AS "version!", at_ms, payload FROM events WHERE review = ? AND version > ?
               ORDER BY version LIMIT ?"#,
            number.0,
            after,
            limit
        )
        .fetch(&self.pool);
        let (mut log, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next().await
        {
            let row = row?;
            bytes += row.payload.len();
            let event = serde_json::from_str(&row.payload)?;
            log.push(LoggedEvent { at: Timestamp(row.at_ms), version: to_u64(row.version)?, event });
        }
        Ok(log)
    }

    /// The proposal that a review started with.
    pub async fn find_first_event(&self, number: ReviewNumber) -> Result<Option<Event>, StoreError> {
        let row = sqlx::query!("SELECT payload FROM events WHERE review = ? AND version = 1", number.0)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| serde_json::from_str(&row.payload)).transpose()?)
    }

    /// One page. The cursor is the sequence number of the last event that was looked at.
    pub async fn list_events_by(
        &self,
        filter: &EventFilter,
        order: EventOrder,
        cursor: Option<u64>,
        limit: u32,
    ) -> Result<Page<EventRecord>, StoreError> {
        let cursor = cursor.map(|cursor| i64::try_from(cursor).unwrap_or(i64::MAX));
        let (first, end) = self.number_range(&EVENTS, filter.since, filter.until).await?;
        let end = end.min(i64::try_from(self.last_seq().await?).unwrap_or(i64::MAX - 1) + 1);
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
        let (mut rows, is_complete) =
            self.fetch_page(select("", filter, walk), filter, order, limit.saturating_add(1)).await?;
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

    /// Fetches rows of [`select`] up to the limit or [`PAGE_BYTES`]. The second value tells whether all rows fit.
    async fn fetch_page(
        &self,
        mut sql: QueryBuilder<Sqlite>,
        filter: &EventFilter,
        order: EventOrder,
        limit: u32,
    ) -> Result<(Vec<EventRow>, bool), StoreError> {
        sql.push(order_by(filter, order)).push(" LIMIT ").push_bind(limit);
        let (mut rows, mut page, mut bytes) = (sql.build_query_as::<EventRow>().fetch(&self.pool), Vec::new(), 0);
        while let Some(row) = rows.next().await {
            let row = row?;
            bytes += row.payload.len();
            page.push(row);
            if bytes >= PAGE_BYTES {
                return Ok((page, false));
            }
        }
        Ok((page, true))
    }

    /// The numbers of a period and some around them: the first, and the one behind the last.
    pub(super) async fn number_range(
        &self,
        table: &NumberedTable,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<(i64, i64), StoreError> {
        let first = match since {
            Some(since) => self.find_number_at(table, since.0.saturating_sub(CLOCK_TOLERANCE_MS)).await?,
            None => 0,
        };
        let end = match until {
            Some(until) => self.find_number_at(table, until.0.saturating_add(CLOCK_TOLERANCE_MS)).await?,
            None => i64::MAX,
        };
        Ok((first, end))
    }

    /// The first number at or after `at_ms`, by binary search: rows are in order of time, except for
    /// [`CLOCK_TOLERANCE_MS`].
    async fn find_number_at(&self, table: &NumberedTable, at_ms: i64) -> Result<i64, StoreError> {
        let NumberedTable { name, number, at_ms: time } = table;
        let mut sql = QueryBuilder::<Sqlite>::new(format!(
            "WITH RECURSIVE steps (at, step) AS (
                 SELECT 0, 1 << 40
                 UNION ALL
                 SELECT at + iif(coalesce((SELECT t.{time} < "
        ));
        sql.push_bind(at_ms).push(format_args!(
            " FROM {name} t WHERE t.{number} >= at + step ORDER BY t.{number} LIMIT 1), 0), step, 0), step / 2
                 FROM steps WHERE step > 0
             ) SELECT at + 1 FROM steps WHERE step = 0"
        ));
        Ok(sql.build_query_scalar().fetch_one(&self.pool).await?)
    }
}

/// Whether an index leads to the events. There are few then, and a page may look at all of them.
fn is_indexed(filter: &EventFilter) -> bool {
    filter.review.is_some() || is_about_pool(filter)
}

/// Whether the filter selects only events of the pool.
fn is_about_pool(filter: &EventFilter) -> bool {
    !filter.kinds.is_empty() && filter.kinds.iter().all(|kind| kind.is_pool_event())
}

/// Within a review both orders agree, and the index is ordered by version.
const fn order_by(filter: &EventFilter, order: EventOrder) -> &'static str {
    match (filter.review.is_some(), order) {
        (true, EventOrder::Newest) => " ORDER BY e.version DESC",
        (true, EventOrder::Oldest) => " ORDER BY e.version",
        (false, EventOrder::Newest) => " ORDER BY e.seq DESC",
        (false, EventOrder::Oldest) => " ORDER BY e.seq",
    }
}

/// The query of [`EventRow`]s without order and limit. `times` is [`TIMES`] or empty. `walk` is the range of sequence numbers it looks at, without the end.
fn select(times: &str, filter: &EventFilter, walk: (i64, i64)) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT e.seq, e.at_ms, e.tick, e.actor, e.status, e.round, e.version, e.payload, e.waiting_on, r.number, r.id, r.intent,
                coalesce(r.project, p.project) AS project, p.id IS NOT NULL AS has_reviewer",
    );
    sql.push(times).push(" FROM events e ");
    let is_pool = is_about_pool(filter);
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
    if !filter.kinds.is_empty() {
        push_kinds(&mut sql, &filter.kinds);
    }
    if let Some(actor) = &filter.actor {
        sql.push(" AND e.actor = ").push_bind(actor);
    }
    if filter.activity {
        let kinds: Vec<_> = EventKind::ALL.iter().copied().filter(|kind| kind.is_activity()).collect();
        push_kinds(&mut sql, &kinds);
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
    sql
}

fn push_kinds(sql: &mut QueryBuilder<Sqlite>, kinds: &[EventKind]) {
    let mut list = sql.push(" AND e.kind IN (").separated(", ");
    for kind in kinds {
        list.push_bind(kind.as_str());
    }
    sql.push(")");
}

/// The columns of an [`EventRecord`].
#[derive(sqlx::FromRow)]
struct EventRow {
    seq: i64,
    at_ms: i64,
    tick: i64,
    actor: Option<String>,
    status: Option<String>,
    round: Option<i64>,
    version: Option<i64>,
    payload: String,
    waiting_on: Option<String>,
    number: Option<i64>,
    id: Option<String>,
    intent: Option<String>,
    /// The review's, or that of the pool's reviewer.
    project: Option<String>,
    /// The event is the pool's, and its reviewer has a row.
    has_reviewer: bool,
    /// From [`TIMES`], here and below.
    #[sqlx(default)]
    previous_at_ms: Option<i64>,
    #[sqlx(default)]
    claimed_at_ms: Option<i64>,
}

impl EventRow {
    fn into_record(self) -> Result<EventRecord, StoreError> {
        let at = Timestamp(self.at_ms);
        let (entry, project) = match (self.id, self.number, self.version) {
            (Some(id), Some(number), Some(version)) => {
                let event = serde_json::from_str(&self.payload)?;
                let recorded = Box::new(LoggedEvent { at, version: to_u64(version)?, event });
                (LogEntry::Review { id: to_id(&id)?, number: ReviewNumber(number), recorded }, Some(self.project))
            }
            _ => {
                let event = serde_json::from_str(&self.payload)?;
                let project = match &event {
                    PoolEvent::ReviewerSpawned { project, .. }
                    | PoolEvent::CrashLoop { project, .. }
                    | PoolEvent::CrashLoopCleared { project, .. } => Some(project.clone()),
                    PoolEvent::ReviewerRetried { .. }
                    | PoolEvent::ReviewerDraining { .. }
                    | PoolEvent::ReviewerTerminated { .. } => self.has_reviewer.then_some(self.project),
                    // They concern all projects.
                    PoolEvent::PoolPaused { .. }
                    | PoolEvent::PoolResumed { .. }
                    | PoolEvent::PoolLimitChanged { .. } => None,
                };
                (LogEntry::Pool(event), project)
            }
        };
        Ok(EventRecord {
            seq: to_u64(self.seq)?,
            at,
            tick: Tick(self.tick),
            actor: self.actor,
            status: self.status.map(|status| parse_word(&status, Status::parse)).transpose()?,
            round: self.round.map(to_u32).transpose()?,
            waiting_on: self.waiting_on.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default(),
            intent: self.intent,
            project,
            entry,
        })
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
