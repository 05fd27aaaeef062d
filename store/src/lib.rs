//! Everything SQL. [`open`] gives the two halves: one [`Writer`], which commits everything that
//! waits in one transaction, and a [`Reader`], which cannot write.
//!
//! Domain and actors know only [`Change`], [`view`] and these two types, so another database can
//! stand behind them.

mod bounded;
mod contents;
mod effort;
mod error;
mod findings;
mod history;
mod hooks;
pub mod ledger;
mod lists;
mod log;
mod reader;
mod reviewers;
mod reviews;
pub mod stats;
mod threads;
mod tokens;
pub mod view;
mod writer;

pub use effort::Effort;
pub use error::StoreError;
pub use findings::{FindingFilter, FoundIn};
pub use history::{HistoryFilter, HistoryRow, Step};
pub use hooks::{DeadDelivery, HookRow};
pub use lists::{Filter, ListOrder};
pub use log::{Entry, Logged, News};
pub use reader::{Named, Reader};
pub use reviewers::{FreeSeat, Pending, ProcessRow, ReviewerEnd, ReviewerRow, SeatRow, Waiting, Work};
pub use tokens::{NewToken, Revoked, SECRET_DIGITS, SECRET_PREFIX, Token, Tokens, new_secret};
pub use writer::{Change, Committed, Done, Feed, HookChange, HookStep, PoolChange, Which, Writer, WriterThread};

use sqlx::{
    ConnectOptions as _, Connection as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{path::Path, time::Duration};

/// The schema, step by step.
static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

/// How the database is used.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub readers: u32,
    /// Most changes in one transaction.
    pub max_batch: usize,
    /// Most changes that may wait for a transaction.
    pub max_queue: usize,
    /// Bytes of recently used texts kept in memory.
    pub content_cache: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { readers: 4, max_batch: 512, max_queue: 8192, content_cache: 32 << 20 }
    }
}

/// An open database.
pub struct Store {
    pub writer: Writer,
    pub thread: WriterThread,
    pub reader: Reader,
    pub feed: Feed,
}

/// Opens the database, brought up to date first. The caller makes sure nobody else has it open.
pub async fn open(path: &Path, settings: Settings) -> Result<Store, StoreError> {
    migrate(path).await?;
    let reader = Reader::open(path, settings).await?;
    let last_seq = reader.last_seq().await?;
    let (writer, thread, feed) = Writer::open(path, settings, last_seq)?;
    Ok(Store { writer, thread, reader, feed })
}

/// Creates the database if there is none and applies the migrations it lacks.
pub async fn migrate(path: &Path) -> Result<(), StoreError> {
    let mut connection = connect_options(path).create_if_missing(true).connect().await?;
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5))
        .foreign_keys(true)
}

#[cfg(test)]
#[path = "migrations_tests.rs"]
mod tests;
