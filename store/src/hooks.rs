//! Webhooks: how far each has been told of the log, and what it could not be told.

use crate::{
    Reader, StoreError,
    reader::{to_u32, to_u64},
};
use domain::{ids::ReviewNumber, time::Timestamp};

/// A webhook that has been configured at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    pub name: String,
    pub source: String,
    /// Whatever the log has up to here was delivered, is dead, or is not for it.
    pub cursor: u64,
    pub dead: u64,
}

/// What a receiver could not be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadDelivery {
    pub seq: u64,
    pub kind: String,
    pub review: Option<ReviewNumber>,
    pub attempts: u32,
    pub error: String,
    pub died_at: Timestamp,
    /// It will be tried again.
    pub again: bool,
}

impl Reader {
    pub async fn list_hooks(&self) -> Result<Vec<HookRow>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT name, source, cursor,
                      (SELECT count(*) FROM dead_deliveries d WHERE d.hook = w.name) AS "dead!: i64"
               FROM webhooks w ORDER BY name"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let (cursor, dead) = (to_u64(row.cursor)?, to_u64(row.dead)?);
                Ok(HookRow { name: row.name, source: row.source, cursor, dead })
            })
            .collect()
    }

    /// Those after `seq`, oldest first.
    pub async fn list_dead(&self, hook: &str, after: u64, limit: u32) -> Result<Vec<DeadDelivery>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT d.seq, e.kind, e.review, d.attempts, d.error, d.died_at_ms, d.again AS "again!: bool"
               FROM dead_deliveries d JOIN events e ON e.seq = d.seq
               WHERE d.hook = ? AND d.seq > ? ORDER BY d.seq LIMIT ?"#,
            hook,
            after,
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(DeadDelivery {
                    seq: to_u64(row.seq)?,
                    kind: row.kind,
                    review: row.review.map(ReviewNumber),
                    attempts: to_u32(row.attempts)?,
                    error: row.error,
                    died_at: Timestamp(row.died_at_ms),
                    again: row.again,
                })
            })
            .collect()
    }

    /// The first dead delivery that is to be tried again.
    pub async fn find_dead_to_try(&self, hook: &str) -> Result<Option<u64>, StoreError> {
        let row =
            sqlx::query!("SELECT seq FROM dead_deliveries WHERE hook = ? AND again = 1 ORDER BY seq LIMIT 1", hook)
                .fetch_optional(&self.pool)
                .await?;
        row.map(|row| to_u64(row.seq)).transpose()
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
