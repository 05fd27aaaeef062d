//! Stores signed receipts: proofs that a review approved a commit. The command line opens the database itself to write
//! them, so it needs no running broker.

use crate::{StoreError, sqlite::connect_options};
use domain::{ids::ReviewNumber, time::Timestamp};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use std::path::Path;

/// A receipt to keep.
#[derive(Debug, Clone, Copy)]
pub struct NewReceipt<'a> {
    pub commit: &'a str,
    pub review: ReviewNumber,
    pub key: &'a str,
    pub signed_at: Timestamp,
    /// One line of JSON.
    pub envelope: &'a str,
}

/// The table of receipts, open for changes. Each change is one short transaction, which waits for the broker's.
pub struct Receipts(SqliteConnection);

impl Receipts {
    /// Opens a database that exists. The gate has read it before.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self(connect_options(path).connect().await?))
    }

    /// The envelope of the last receipt of a commit.
    pub async fn find(&mut self, commit: &str) -> Result<Option<String>, StoreError> {
        let row = sqlx::query!("SELECT envelope FROM receipts WHERE commit_id = ?", commit);
        Ok(row.fetch_optional(&mut self.0).await?.map(|row| row.envelope))
    }

    /// Keeps a receipt in place of an earlier one of the same commit.
    pub async fn keep(&mut self, receipt: NewReceipt<'_>) -> Result<(), StoreError> {
        let NewReceipt { commit, review, key, signed_at, envelope } = receipt;
        let kept = sqlx::query!(
            "INSERT OR REPLACE INTO receipts (commit_id, review, key_id, signed_at_ms, envelope) VALUES (?, ?, ?, ?, ?)",
            commit,
            review.0,
            key,
            signed_at.0,
            envelope
        );
        kept.execute(&mut self.0).await.map_err(|error| StoreError::Write(error.to_string()))?;
        Ok(())
    }

    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.0.close().await?)
    }
}
