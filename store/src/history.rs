//! The log as people ask for it: of one review, of a project, of a kind, in a period; page by page.
//!
//! No index leads from an actor, a kind or a project to its events: to keep one would cost the writer more than the
//! event. So a page walks along the sequence, a bounded way. Where that finds too little the page is short, and its
//! cursor goes on from where the walk ended.

use crate::{
    Reader, StoreError, bounded,
    log::{Entry, Logged},
    reader::{to_u32, to_u64, word},
    view::Page,
};
use domain::{
    history::{LogKind, LogOrder},
    ids::ReviewNumber,
    review::{LoggedEvent, Status},
    time::{Tick, Timestamp},
};
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

/// Events that one page looks at, at most.
const WALK: i64 = 10_000;

/// By how much the wall clock may disagree with the order of the log or of the reviews: events are stamped before they
/// are put in order, and clocks are set. What lies further out of order than that may be missed by a period.
const SLACK_MS: i64 = 600_000;

/// Which events.
#[derive(Debug, Clone, Default)]
pub struct HistoryFilter {
    pub review: Option<ReviewNumber>,
    pub actor: Option<String>,
    pub kind: Option<LogKind>,
    /// Only what people care about.
    pub activity: bool,
    /// Only this project's, or, with `None` inside, what belongs to none.
    pub project: Option<Option<String>>,
    pub since: Option<Timestamp>,
    /// Not included.
    pub until: Option<Timestamp>,
}

/// An event with what the log says beside it.
#[derive(Debug, Clone)]
pub struct HistoryRow {
    pub logged: Logged,
    pub actor: Option<String>,
    /// Of the review after it, as the round.
    pub status: Option<Status>,
    pub round: Option<u32>,
    /// The review's, as it is now.
    pub intent: Option<String>,
}

/// An event of one review among the others of it.
#[derive(Debug, Clone)]
pub struct Step {
    pub recorded: LoggedEvent,
    pub actor: Option<String>,
    pub status: Status,
    pub round: u32,
    /// When the one before happened.
    pub before: Option<Timestamp>,
    /// Where it ends or answers a claim: when that was made.
    pub claimed_at: Option<Timestamp>,
}

impl Reader {
    /// One page. The cursor is a sequence number: that of the last event that was looked at.
    pub async fn list_history(
        &self,
        filter: &HistoryFilter,
        order: LogOrder,
        cursor: Option<u64>,
        limit: u32,
    ) -> Result<Page<HistoryRow>, StoreError> {
        let cursor = cursor.map(|cursor| i64::try_from(cursor).unwrap_or(i64::MAX));
        let (first, end) = self.range(filter).await?;
        let (first, end) = match (order, cursor) {
            (_, None) => (first, end),
            (LogOrder::Newest, Some(cursor)) => (first, end.min(cursor)),
            (LogOrder::Oldest, Some(cursor)) => (first.max(cursor.saturating_add(1)), end),
        };
        let walk = match (filter.is_indexed(), order) {
            (true, _) => (first, end),
            (false, LogOrder::Newest) => (first.max(end.saturating_sub(WALK)), end),
            (false, LogOrder::Oldest) => (first, end.min(first.saturating_add(WALK))),
        };
        let mut sql = select(filter, order, walk);
        sql.push(" LIMIT ").push_bind(i64::from(limit) + 1);
        let payload = |row: &SqliteRow| row.try_get::<&str, _>("payload").map_or(0, str::len);
        let (mut rows, came_all) = bounded::collect(sql.build().fetch(&self.pool), payload).await?;
        let more = rows.len() > limit as usize || !came_all;
        rows.truncate(limit as usize);
        let items = rows.iter().map(history_row).collect::<Result<Vec<_>, _>>()?;
        let walked_on = match order {
            LogOrder::Newest if walk.0 > first => Some(walk.0),
            LogOrder::Oldest if walk.1 < end => Some(walk.1 - 1),
            LogOrder::Newest | LogOrder::Oldest => None,
        };
        let next_cursor = match items.last() {
            Some(last) if more => Some(last.logged.seq.to_string()),
            Some(_) | None => walked_on.map(|seq| seq.to_string()),
        };
        Ok(Page { items, next_cursor })
    }

    /// The log of one review after `version`, oldest first, fewer than `limit` also where they are long.
    pub async fn list_steps(&self, number: ReviewNumber, after: u64, limit: u32) -> Result<Vec<Step>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT e.version AS "version!", e.at_ms, e.actor, e.status AS "status!", e.round AS "round!", e.payload,
                      (SELECT b.at_ms FROM events b WHERE b.review = e.review AND b.version = e.version - 1)
                          AS "before: i64",
                      CASE WHEN e.kind = 'verdict_given' OR e.kind = 'claim_ended' THEN
                      (SELECT c.at_ms FROM events c WHERE c.review = e.review AND c.version < e.version
                       AND c.kind = 'claimed' AND c.payload ->> '$.persona' = e.payload ->> '$.persona'
                       ORDER BY c.version DESC LIMIT 1) END AS "claimed_at: i64"
               FROM events e WHERE e.review = ? AND e.version > ? ORDER BY e.version LIMIT ?"#,
            number.0,
            after,
            limit
        )
        .fetch(&self.pool);
        let (rows, _) = bounded::collect(rows, |row| row.payload.len()).await?;
        rows.into_iter()
            .map(|row| {
                let event = serde_json::from_str(&row.payload)?;
                Ok(Step {
                    recorded: LoggedEvent { at: Timestamp(row.at_ms), version: to_u64(row.version)?, event },
                    actor: row.actor,
                    status: word(&row.status, Status::parse)?,
                    round: to_u32(row.round)?,
                    before: row.before.map(Timestamp),
                    claimed_at: row.claimed_at.map(Timestamp),
                })
            })
            .collect()
    }

    /// The sequence numbers between which a period lies, the second not included.
    async fn range(&self, filter: &HistoryFilter) -> Result<(i64, i64), StoreError> {
        let first = match filter.since {
            Some(since) => self.find_seq_at(since.0.saturating_sub(SLACK_MS)).await?,
            None => 0,
        };
        let end = match filter.until {
            Some(until) => self.find_seq_at(until.0.saturating_add(SLACK_MS)).await?,
            None => i64::try_from(self.last_seq().await?).unwrap_or(i64::MAX - 1) + 1,
        };
        Ok((first, end))
    }

    /// The first event at or after a moment, found by halving: the log is in order of time, but for [`SLACK_MS`].
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

    /// The number of the first review that was submitted at or after a moment.
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

    /// The numbers of the reviews that were submitted in a period, the second not included, and some around them.
    pub(crate) async fn numbers_in(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<(i64, i64), StoreError> {
        let first = match since {
            Some(since) => self.find_number_at(since.0.saturating_sub(SLACK_MS)).await?,
            None => 0,
        };
        let end = match until {
            Some(until) => self.find_number_at(until.0.saturating_add(SLACK_MS)).await?,
            None => i64::MAX,
        };
        Ok((first, end))
    }
}

impl HistoryFilter {
    /// An index leads to few events, all of which may be looked at.
    fn is_indexed(&self) -> bool {
        self.review.is_some() || self.kind.is_some_and(LogKind::is_of_the_pool)
    }
}

/// Everything but the limit. `walk` is from the first sequence number to before the last.
fn select(filter: &HistoryFilter, order: LogOrder, walk: (i64, i64)) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT e.seq, e.at_ms, e.tick, e.version, e.actor, e.status, e.round, e.payload, r.number, r.id, r.intent
         FROM events e ",
    );
    let of_the_pool = filter.kind.is_some_and(LogKind::is_of_the_pool);
    if filter.review.is_none() {
        sql.push(if of_the_pool { "INDEXED BY events_of_the_pool " } else { "NOT INDEXED " });
    }
    sql.push("LEFT JOIN reviews r ON r.number = e.review WHERE e.seq >= ").push_bind(walk.0);
    sql.push(" AND e.seq < ").push_bind(walk.1);
    if let Some(review) = filter.review {
        sql.push(" AND e.review = ").push_bind(review.0);
    }
    if of_the_pool {
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
        for kind in LogKind::ALL.iter().filter(|kind| kind.is_activity()) {
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
        // What the pool does belongs to the project of its reviewer.
        sql.push(
            " AND CASE WHEN e.review IS NOT NULL THEN r.project WHEN e.actor IS NULL THEN e.payload ->> '$.project'
              ELSE (SELECT v.project FROM reviewers v WHERE v.id = e.actor) END IS ",
        );
        sql.push_bind(project.as_deref());
    }
    sql.push(match (filter.review.is_some(), order) {
        // Within a review both say the same, and its index is in order of the version.
        (true, LogOrder::Newest) => " ORDER BY e.version DESC",
        (true, LogOrder::Oldest) => " ORDER BY e.version",
        (false, LogOrder::Newest) => " ORDER BY e.seq DESC",
        (false, LogOrder::Oldest) => " ORDER BY e.seq",
    });
    sql
}

fn history_row(row: &SqliteRow) -> Result<HistoryRow, StoreError> {
    let at = Timestamp(row.try_get("at_ms")?);
    let review = row.try_get::<Option<&str>, _>("id")?.zip(row.try_get::<Option<i64>, _>("number")?);
    let entry = Entry::read(review, row.try_get("version")?, at, row.try_get("payload")?)?;
    let status = row.try_get::<Option<&str>, _>("status")?;
    Ok(HistoryRow {
        logged: Logged { seq: to_u64(row.try_get("seq")?)?, at, tick: Tick(row.try_get("tick")?), entry },
        actor: row.try_get("actor")?,
        status: status.map(|status| word(status, Status::parse)).transpose()?,
        round: row.try_get::<Option<i64>, _>("round")?.map(to_u32).transpose()?,
        intent: row.try_get("intent")?,
    })
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
