//! The log in order: what a follower reads next, and the events of one review.

use super::{Reader, parse_word, to_id, to_u32, to_u64};
use crate::{EventRecord, LogEntry, StoreError, TimelineRecord};
use domain::{
    ids::ReviewNumber,
    pool::PoolEvent,
    review::{Event, LoggedEvent, Status},
    time::{Tick, Timestamp},
};
use futures::{Stream, StreamExt as _};
use std::pin::pin;

/// Bytes of text after which a page ends: a page of the longest events would be huge. The row that exceeds it is still included, so that every page makes progress.
pub(super) const PAGE_BYTES: usize = 2 << 20;

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
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let (rows, _) = match review {
            None => {
                let rows = sqlx::query_as!(
                    EventRow,
                    r#"SELECT e.seq, e.at_ms, e.tick, e.actor, e.status, e.round, e.version, e.payload,
                              r.number AS "number?: i64", r.id AS "id?: String", r.intent AS "intent?: String",
                              coalesce(r.project, p.project) AS "project?: String",
                              p.id IS NOT NULL AS "has_reviewer!: bool"
                       FROM events e LEFT JOIN reviews r ON r.number = e.review
                       LEFT JOIN reviewers p ON e.review IS NULL AND p.id = e.actor
                       WHERE e.seq > ? ORDER BY e.seq LIMIT ?"#,
                    after,
                    limit
                );
                collect_page(rows.fetch(&self.pool), |row| row.payload.len()).await?
            }
            Some(review) => {
                // Along the index of the review's versions, so that the rest of the log costs nothing.
                let rows = sqlx::query_as!(
                    EventRow,
                    r#"SELECT e.seq, e.at_ms, e.tick, e.actor, e.status, e.round, e.version, e.payload,
                              r.number AS "number?: i64", r.id AS "id?: String", r.intent AS "intent?: String",
                              r.project AS "project?: String", 0 AS "has_reviewer!: bool"
                       FROM events e JOIN reviews r ON r.number = e.review
                       WHERE e.review = ? AND e.seq > ? ORDER BY e.version LIMIT ?"#,
                    review.0,
                    after,
                    limit
                );
                collect_page(rows.fetch(&self.pool), |row| row.payload.len()).await?
            }
        };
        rows.into_iter().map(EventRow::into_record).collect()
    }

    /// At most `limit` events of one review after `version`, oldest first. Long events make a page shorter.
    pub async fn list_timeline(
        &self,
        number: ReviewNumber,
        version: u64,
        limit: u32,
    ) -> Result<Vec<TimelineRecord>, StoreError> {
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT e.seq, e.version, e.at_ms, e.tick, e.actor, e.status, e.round, e.payload, r.number, r.id,
                      r.intent, r.project,
                      (SELECT b.at_ms FROM events b WHERE b.review = e.review AND b.version = e.version - 1)
                          AS "previous_at_ms: i64",
                      CASE WHEN e.kind = 'verdict_given' OR e.kind = 'claim_ended' THEN
                      (SELECT c.at_ms FROM events c WHERE c.review = e.review AND c.version < e.version
                       AND c.kind = 'claimed' AND c.payload ->> '$.persona' = e.payload ->> '$.persona'
                       ORDER BY c.version DESC LIMIT 1) END AS "claimed_at_ms: i64"
               FROM events e JOIN reviews r ON r.number = e.review
               WHERE e.review = ? AND e.version > ? ORDER BY e.version LIMIT ?"#,
            number.0,
            version,
            limit
        )
        .fetch(&self.pool);
        let (rows, _) = collect_page(rows, |row| row.payload.len()).await?;
        rows.into_iter()
            .map(|row| {
                let event = EventRow {
                    seq: row.seq,
                    at_ms: row.at_ms,
                    tick: row.tick,
                    actor: row.actor,
                    status: row.status,
                    round: row.round,
                    version: row.version,
                    payload: row.payload,
                    number: Some(row.number),
                    id: Some(row.id),
                    intent: Some(row.intent),
                    project: row.project,
                    has_reviewer: false,
                };
                Ok(TimelineRecord {
                    event: event.into_record()?,
                    previous_at: row.previous_at_ms.map(Timestamp),
                    claimed_at: row.claimed_at_ms.map(Timestamp),
                })
            })
            .collect()
    }

    /// The proposal that a review started with.
    pub async fn find_first_event(&self, number: ReviewNumber) -> Result<Option<Event>, StoreError> {
        let row = sqlx::query!("SELECT payload FROM events WHERE review = ? AND version = 1", number.0)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| serde_json::from_str(&row.payload)).transpose()?)
    }

    /// All events of a review, oldest first.
    pub async fn list_review_events(&self, number: ReviewNumber) -> Result<Vec<LoggedEvent>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT version AS "version!", at_ms, payload FROM events WHERE review = ? ORDER BY version"#,
            number.0
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let event = serde_json::from_str(&row.payload)?;
                Ok(LoggedEvent { at: Timestamp(row.at_ms), version: to_u64(row.version)?, event })
            })
            .collect()
    }
}

/// The columns of an [`EventRecord`].
#[derive(sqlx::FromRow)]
pub(super) struct EventRow {
    pub(super) seq: i64,
    at_ms: i64,
    tick: i64,
    actor: Option<String>,
    status: Option<String>,
    round: Option<i64>,
    version: Option<i64>,
    pub(super) payload: String,
    number: Option<i64>,
    id: Option<String>,
    intent: Option<String>,
    /// The review's, or that of the pool's reviewer.
    project: Option<String>,
    /// The event is the pool's, and its reviewer has a row.
    has_reviewer: bool,
}

impl EventRow {
    pub(super) fn into_record(self) -> Result<EventRecord, StoreError> {
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
                    | PoolEvent::CrashLoopCleared { project } => Some(project.clone()),
                    PoolEvent::ReviewerRetried { .. }
                    | PoolEvent::ReviewerDraining { .. }
                    | PoolEvent::ReviewerTerminated { .. } => self.has_reviewer.then_some(self.project),
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
            intent: self.intent,
            project,
            entry,
        })
    }
}

/// Collects rows up to the budget. The second value tells whether all rows fit.
pub(super) async fn collect_page<R>(
    rows: impl Stream<Item = Result<R, sqlx::Error>>,
    size: impl Fn(&R) -> usize,
) -> Result<(Vec<R>, bool), StoreError> {
    let (mut rows, mut page, mut bytes) = (pin!(rows), Vec::new(), 0);
    while let Some(row) = rows.next().await {
        let row = row?;
        bytes += size(&row);
        page.push(row);
        if bytes >= PAGE_BYTES {
            return Ok((page, false));
        }
    }
    Ok((page, true))
}
