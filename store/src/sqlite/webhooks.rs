//! Queries for the delivery state of webhooks: each webhook's position in the log, and the events it could not be sent.

use super::{Reader, parse_all, to_u32, to_u64};
use crate::{DeliverySelector, StoreError, WebhookChange, WebhookStep, query_types::WebhookRow};
use domain::{ids::ReviewNumber, query_types::DeadDelivery, time::Timestamp};
use rusqlite::{Connection, params};

const REGISTER: &str = "INSERT INTO webhooks (name, source, cursor) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING";
/// Never moves back: a dead event that is retried lies behind the cursor.
const ADVANCE: &str = "UPDATE webhooks SET cursor = max(cursor, ?2) WHERE name = ?1";
const ADD_DEAD: &str =
    "INSERT INTO dead_deliveries (hook, seq, attempts, error, died_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (hook, seq) DO UPDATE SET attempts = attempts + excluded.attempts, error = excluded.error,
    died_at_ms = excluded.died_at_ms, again = 0";
const REMOVE_DEAD: &str = "DELETE FROM dead_deliveries WHERE hook = ?1 AND seq = ?2";
const REMOVE_ALL_DEAD: &str = "DELETE FROM dead_deliveries WHERE hook = ?1";
const RETRY_DEAD: &str = "UPDATE dead_deliveries SET again = 1 WHERE hook = ?1 AND seq = ?2";
const RETRY_ALL_DEAD: &str = "UPDATE dead_deliveries SET again = 1 WHERE hook = ?1";

pub(super) const STATEMENTS: &[&str] =
    &[REGISTER, ADVANCE, ADD_DEAD, REMOVE_DEAD, REMOVE_ALL_DEAD, RETRY_DEAD, RETRY_ALL_DEAD];

impl Reader {
    pub async fn list_webhooks(&self) -> Result<Vec<WebhookRow>, StoreError> {
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object('name', name, 'source', source, 'cursor', cursor, 'dead',
                                  (SELECT count(*) FROM dead_deliveries d WHERE d.hook = w.name)) AS "json!: String"
               FROM webhooks w ORDER BY name"#
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&rows)
    }

    /// Dead deliveries after event `after`, oldest first.
    pub async fn list_dead_deliveries(
        &self,
        webhook: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<DeadDelivery>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT d.seq, e.kind, e.review, d.attempts, d.error, d.died_at_ms, d.again AS "again!: bool"
               FROM dead_deliveries d JOIN events e ON e.seq = d.seq
               WHERE d.hook = ? AND d.seq > ? ORDER BY d.seq LIMIT ?"#,
            webhook,
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
                    number: row.review.map(ReviewNumber),
                    attempts: to_u32(row.attempts)?,
                    last_error: row.error,
                    at: Timestamp(row.died_at_ms).into(),
                    waiting: row.again,
                })
            })
            .collect()
    }

    /// The first dead delivery for which another attempt was requested.
    pub async fn find_delivery_to_retry(&self, webhook: &str) -> Result<Option<u64>, StoreError> {
        let row =
            sqlx::query!("SELECT seq FROM dead_deliveries WHERE hook = ? AND again = 1 ORDER BY seq LIMIT 1", webhook)
                .fetch_optional(&self.pool)
                .await?;
        row.map(|row| to_u64(row.seq)).transpose()
    }
}

/// Returns the number of rows that changed.
pub(super) fn write(connection: &Connection, change: &WebhookChange) -> Result<u64, StoreError> {
    let webhook = &change.webhook;
    match &change.step {
        WebhookStep::Register { source, cursor } => {
            Ok(connection.prepare_cached(REGISTER)?.execute(params![webhook, source, cursor])? as u64)
        }
        WebhookStep::Advance { cursor } => {
            Ok(connection.prepare_cached(ADVANCE)?.execute(params![webhook, cursor])? as u64)
        }
        WebhookStep::AddDead { seq, attempts, error, at } => {
            connection.prepare_cached(ADD_DEAD)?.execute(params![webhook, seq, attempts, error, at.0])?;
            Ok(connection.prepare_cached(ADVANCE)?.execute(params![webhook, seq])? as u64)
        }
        WebhookStep::RemoveDead(selector) => {
            write_selected(connection, webhook, selector, REMOVE_DEAD, REMOVE_ALL_DEAD)
        }
        WebhookStep::RetryDead(selector) => write_selected(connection, webhook, selector, RETRY_DEAD, RETRY_ALL_DEAD),
    }
}

fn write_selected(
    connection: &Connection,
    webhook: &str,
    selector: &DeliverySelector,
    one: &str,
    all: &str,
) -> Result<u64, StoreError> {
    match selector {
        DeliverySelector::All => Ok(connection.prepare_cached(all)?.execute([webhook])? as u64),
        DeliverySelector::Seqs(seqs) => {
            let mut statement = connection.prepare_cached(one)?;
            seqs.iter().try_fold(0, |sum, seq| Ok(sum + statement.execute(params![webhook, seq])? as u64))
        }
    }
}

#[cfg(test)]
#[path = "webhooks_tests.rs"]
mod tests;
