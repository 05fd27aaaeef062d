//! Creates, lists, revokes and looks up bearer tokens in the database. The command line uses its own connection, with
//! or without a running broker.

use crate::{
    Reader, StoreError,
    sqlite::{connect_options, parse_all},
};
use domain::{
    credential::{Authority, Scope, SecretHash},
    identity::is_same_identity,
    time::Timestamp,
};
use serde::Deserialize;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use std::{collections::HashSet, path::Path};

/// The prefix of every secret, by which people and scanners recognise one.
pub const SECRET_PREFIX: &str = "cs_";

/// Number of hex digits after the prefix.
pub const SECRET_DIGITS: usize = 64;

/// A new bearer secret: `cs_` and 64 hex digits, 256 random bits.
///
/// # Panics
///
/// If the operating system has no random bytes.
pub fn new_secret() -> String {
    let mut bytes = [0; SECRET_DIGITS / 2];
    if let Err(error) = getrandom::fill(&mut bytes) {
        panic!("the operating system has no random bytes: {error}");
    }
    format!("{SECRET_PREFIX}{}", domain::text::hex(&bytes))
}

/// A stored token. Its secret is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Token {
    pub id: i64,
    pub authority: Authority,
    pub identity: String,
    /// `None`: valid for every project.
    pub project: Option<String>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    pub fn scope(&self) -> Scope {
        match &self.project {
            None => Scope::All,
            Some(project) => Scope::Project(Some(project.clone())),
        }
    }
}

/// A token to create.
#[derive(Debug, Clone, Copy)]
pub struct NewToken<'a> {
    pub hash: &'a SecretHash,
    pub authority: Authority,
    pub identity: &'a str,
    pub project: Option<&'a str>,
}

/// Which tokens to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSelector {
    Id(i64),
    /// All tokens of this identity.
    Identity(String),
}

impl Reader {
    /// The token with this hash, unless it is revoked.
    pub async fn find_live_token(&self, hash: &SecretHash) -> Result<Option<Token>, StoreError> {
        let hash = hash.as_str();
        let row = sqlx::query_scalar!(
            r#"SELECT json_object('id', id, 'authority', role, 'identity', identity, 'project', project,
                                  'created_at', created_at_ms, 'revoked_at', revoked_at_ms) AS "json!: String"
               FROM tokens WHERE hash = ? AND revoked_at_ms IS NULL"#,
            hash
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.as_deref().map(serde_json::from_str).transpose()?)
    }

    /// The number of revoked tokens and the number of sessions. Both stay the same while no secret ends.
    pub async fn count_ended_secrets(&self) -> Result<(i64, i64), StoreError> {
        let row = sqlx::query!(
            r#"SELECT (SELECT COUNT(*) FROM tokens WHERE revoked_at_ms IS NOT NULL) AS "revoked!: i64",
                      (SELECT COUNT(*) FROM sessions) AS "sessions!: i64""#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok((row.revoked, row.sessions))
    }

    /// Whether one of these hashes belongs to a live token. There are few live tokens, so all of them are read.
    pub async fn has_live_token(&self, hashes: &[SecretHash]) -> Result<bool, StoreError> {
        let live = sqlx::query!("SELECT hash FROM tokens WHERE revoked_at_ms IS NULL").fetch_all(&self.pool).await?;
        let live: HashSet<String> = live.into_iter().map(|row| row.hash).collect();
        Ok(hashes.iter().any(|hash| live.contains(hash.as_str())))
    }
}

/// The table of tokens, open for changes. Each change is one short transaction, which waits for the broker's.
pub struct Tokens(SqliteConnection);

impl Tokens {
    /// `None` if the database does not exist or was never migrated.
    pub async fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        let mut connection = connect_options(path).connect().await?;
        let table = sqlx::query!("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'tokens'")
            .fetch_optional(&mut connection)
            .await?;
        Ok(table.map(|_| Self(connection)))
    }

    /// Creates a token and returns its id.
    pub async fn create(&mut self, token: NewToken<'_>, now: Timestamp) -> Result<i64, StoreError> {
        let NewToken { hash, authority, identity, project } = token;
        let (hash, role) = (hash.as_str(), authority.as_str());
        let done = sqlx::query!(
            "INSERT INTO tokens (hash, role, identity, project, created_at_ms) VALUES (?, ?, ?, ?, ?)",
            hash,
            role,
            identity,
            project,
            now.0
        )
        .execute(&mut self.0)
        .await
        .map_err(write_error)?;
        Ok(done.last_insert_rowid())
    }

    /// All tokens, including revoked ones; oldest first.
    pub async fn list(&mut self) -> Result<Vec<Token>, StoreError> {
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object('id', id, 'authority', role, 'identity', identity, 'project', project,
                                  'created_at', created_at_ms, 'revoked_at', revoked_at_ms) AS "json!: String"
               FROM tokens ORDER BY id"#
        )
        .fetch_all(&mut self.0)
        .await?;
        parse_all(&rows)
    }

    /// Returns the number of tokens revoked.
    pub async fn revoke(&mut self, selector: &TokenSelector, now: Timestamp) -> Result<u64, StoreError> {
        let ids = match selector {
            TokenSelector::Id(id) => vec![*id],
            TokenSelector::Identity(name) => {
                let tokens = self.list().await?.into_iter();
                tokens.filter(|token| is_same_identity(&token.identity, name)).map(|token| token.id).collect()
            }
        };
        let mut revoked = 0;
        for id in ids {
            let done =
                sqlx::query!("UPDATE tokens SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL", now.0, id);
            revoked += done.execute(&mut self.0).await.map_err(write_error)?.rows_affected();
        }
        Ok(revoked)
    }

    /// Signs out the browsers of the local operator, who has no token in the table. Returns the number of sessions.
    pub async fn end_local_sessions(&mut self) -> Result<u64, StoreError> {
        let done = sqlx::query!("DELETE FROM sessions WHERE token IS NULL").execute(&mut self.0).await;
        Ok(done.map_err(write_error)?.rows_affected())
    }

    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.0.close().await?)
    }
}

fn write_error(error: sqlx::Error) -> StoreError {
    StoreError::Write(error.to_string())
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
