//! The log of all events, in order. A follower reads on from the last sequence number it has seen, so it
//! misses nothing and sees nothing twice.

use crate::{
    Reader, StoreError, bounded,
    reader::{to_id, to_u32, to_u64},
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::PoolEvent,
    review::LoggedEvent,
    time::{Tick, Timestamp},
};

#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    pub seq: u64,
    pub at: Timestamp,
    pub tick: Tick,
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Review { id: ReviewId, number: ReviewNumber, recorded: Box<LoggedEvent> },
    Pool(PoolEvent),
}

/// An entry of the log with what its row says beside the event.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    pub seq: u64,
    pub at: Timestamp,
    pub actor: Option<String>,
    /// The review after the command that caused this.
    pub status: Option<String>,
    pub round: Option<u32>,
    /// Where it belongs to; `None`: nobody can say, since its reviewer has left no row.
    pub project: Option<Option<String>>,
    pub entry: Entry,
}

impl Reader {
    /// What happened after `seq`, everywhere or to one review, at most `limit` of it, and less where it is long: only an
    /// empty page says that there is nothing more.
    pub async fn list_news(
        &self,
        after: u64,
        review: Option<ReviewNumber>,
        limit: u32,
    ) -> Result<Vec<News>, StoreError> {
        match review {
            None => self.list_all_news(after, limit).await,
            Some(review) => self.list_news_of(review, after, limit).await,
        }
    }

    async fn list_all_news(&self, after: u64, limit: u32) -> Result<Vec<News>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query_as!(
            NewsRow,
            r#"SELECT e.seq, e.at_ms, e.actor, e.status, e.round, e.version, e.payload, r.number AS "number?: i64",
                      r.id AS "id?: String", coalesce(r.project, p.project) AS "project?: String",
                      p.id IS NOT NULL AS "known!: bool"
               FROM events e LEFT JOIN reviews r ON r.number = e.review
               LEFT JOIN reviewers p ON e.review IS NULL AND p.id = e.actor
               WHERE e.seq > ? ORDER BY e.seq LIMIT ?"#,
            after,
            limit
        )
        .fetch(&self.pool);
        let (rows, _) = bounded::collect(rows, |row| row.payload.len()).await?;
        rows.into_iter().map(NewsRow::read).collect()
    }

    /// By the index of its versions, so that a long log costs nothing.
    async fn list_news_of(&self, review: ReviewNumber, after: u64, limit: u32) -> Result<Vec<News>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query_as!(
            NewsRow,
            r#"SELECT e.seq, e.at_ms, e.actor, e.status, e.round, e.version, e.payload, r.number AS "number?: i64",
                      r.id AS "id?: String", r.project AS "project?: String", 0 AS "known!: bool"
               FROM events e JOIN reviews r ON r.number = e.review
               WHERE e.review = ? AND e.seq > ? ORDER BY e.version LIMIT ?"#,
            review.0,
            after,
            limit
        )
        .fetch(&self.pool);
        let (rows, _) = bounded::collect(rows, |row| row.payload.len()).await?;
        rows.into_iter().map(NewsRow::read).collect()
    }

    /// The same without what stands beside the events.
    pub async fn list_log(&self, after: u64, limit: u32) -> Result<Vec<Logged>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT e.seq, e.at_ms, e.tick, e.version, e.payload, r.number AS "number?: i64", r.id AS "id?: String"
               FROM events e LEFT JOIN reviews r ON r.number = e.review WHERE e.seq > ? ORDER BY e.seq LIMIT ?"#,
            after,
            limit
        )
        .fetch(&self.pool);
        let (rows, _) = bounded::collect(rows, |row| row.payload.len()).await?;
        rows.into_iter()
            .map(|row| {
                let at = Timestamp(row.at_ms);
                let entry = Entry::read(row.id.as_deref().zip(row.number), row.version, at, &row.payload)?;
                Ok(Logged { seq: to_u64(row.seq)?, at, tick: Tick(row.tick), entry })
            })
            .collect()
    }
}

struct NewsRow {
    seq: i64,
    at_ms: i64,
    actor: Option<String>,
    status: Option<String>,
    round: Option<i64>,
    version: Option<i64>,
    payload: String,
    number: Option<i64>,
    id: Option<String>,
    project: Option<String>,
    known: bool,
}

impl NewsRow {
    fn read(self) -> Result<News, StoreError> {
        let at = Timestamp(self.at_ms);
        let (entry, project) = match (self.id, self.number, self.version) {
            (Some(id), Some(number), Some(version)) => {
                let event = serde_json::from_str(&self.payload)?;
                let recorded = Box::new(LoggedEvent { at, version: to_u64(version)?, event });
                (Entry::Review { id: to_id(&id)?, number: ReviewNumber(number), recorded }, Some(self.project))
            }
            _ => {
                let event = serde_json::from_str(&self.payload)?;
                let project = match &event {
                    PoolEvent::ReviewerSpawned { project, .. }
                    | PoolEvent::CrashLoop { project, .. }
                    | PoolEvent::CrashLoopCleared { project } => Some(project.clone()),
                    PoolEvent::ReviewerRetried { .. }
                    | PoolEvent::ReviewerDraining { .. }
                    | PoolEvent::ReviewerTerminated { .. } => self.known.then_some(self.project),
                };
                (Entry::Pool(event), project)
            }
        };
        let round = self.round.map(to_u32).transpose()?;
        Ok(News { seq: to_u64(self.seq)?, at, actor: self.actor, status: self.status, round, project, entry })
    }
}

impl Entry {
    /// From the columns of an event; one of a review has an id, a number and a version.
    pub(crate) fn read(
        review: Option<(&str, i64)>,
        version: Option<i64>,
        at: Timestamp,
        payload: &str,
    ) -> Result<Self, StoreError> {
        match (review, version) {
            (Some((id, number)), Some(version)) => {
                let recorded = LoggedEvent { at, version: to_u64(version)?, event: serde_json::from_str(payload)? };
                Ok(Self::Review { id: to_id(id)?, number: ReviewNumber(number), recorded: Box::new(recorded) })
            }
            _ => Ok(Self::Pool(serde_json::from_str(payload)?)),
        }
    }
}
