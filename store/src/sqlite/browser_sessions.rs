//! Queries for browser sessions and for the id of the database.

use super::Reader;
use crate::{BrowserSessionChange, StoreError, Token, query_types::BrowserSession};
use domain::{credential::SecretHash, time::Timestamp};
use rusqlite::{Connection, params};

const REMOVE_EXPIRED: &str = "DELETE FROM sessions WHERE expires_at_ms <= ?1";
const INSERT: &str = "INSERT INTO sessions (hash, token, created_at_ms, expires_at_ms) VALUES (?1, ?2, ?3, ?4)";
const REMOVE_OLDEST: &str = "DELETE FROM sessions WHERE token IS ?1 AND hash NOT IN (SELECT hash FROM sessions
    WHERE token IS ?1 ORDER BY created_at_ms DESC, hash LIMIT ?2)";
const REMOVE: &str = "DELETE FROM sessions WHERE hash = ?1";

pub(super) const STATEMENTS: &[&str] = &[REMOVE_EXPIRED, INSERT, REMOVE_OLDEST, REMOVE];

/// Most sessions of one token. The oldest end first.
const MAX_SESSIONS: i64 = 50;

impl Reader {
    /// The session with this hash, unless it has expired or its token is revoked.
    pub async fn find_live_session(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<BrowserSession>, StoreError> {
        let hash = hash.as_str();
        let row = sqlx::query!(
            r#"SELECT s.token, json_object('id', t.id, 'authority', t.role, 'identity', t.identity, 'project', t.project,
                                  'created_at', t.created_at_ms, 'revoked_at', t.revoked_at_ms) AS "json!: String"
               FROM sessions s LEFT JOIN tokens t ON t.hash = s.token
               WHERE s.hash = ? AND s.expires_at_ms > ? AND t.revoked_at_ms IS NULL"#,
            hash,
            now.0
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let token = row.token.map(|hash| {
            let token: Token = serde_json::from_str(&row.json)?;
            Ok::<_, StoreError>((SecretHash::from_stored(hash), token))
        });
        Ok(Some(BrowserSession { token: token.transpose()? }))
    }

    /// The id of the database.
    pub async fn find_database_id(&self) -> Result<String, StoreError> {
        let row = sqlx::query!("SELECT id FROM database_identity").fetch_one(&self.pool).await?;
        Ok(row.id)
    }
}

/// Returns the number of sessions that were added or removed by name.
pub(super) fn write(connection: &Connection, change: &BrowserSessionChange) -> Result<u64, StoreError> {
    match change {
        BrowserSessionChange::Create { hash, token, at, expires_at } => {
            connection.prepare_cached(REMOVE_EXPIRED)?.execute([at.0])?;
            let token = token.as_ref().map(SecretHash::as_str);
            let values = params![hash.as_str(), token, at.0, expires_at.0];
            let created = connection.prepare_cached(INSERT)?.execute(values)?;
            connection.prepare_cached(REMOVE_OLDEST)?.execute(params![token, MAX_SESSIONS])?;
            Ok(created as u64)
        }
        BrowserSessionChange::Remove { hash } => {
            Ok(connection.prepare_cached(REMOVE)?.execute([hash.as_str()])? as u64)
        }
    }
}

#[cfg(test)]
#[path = "browser_sessions_tests.rs"]
mod tests;
