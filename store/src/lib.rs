//! The database. [`open`] gives a [`Writer`], which commits everything that is queued in one transaction, and a
//! [`Reader`], which cannot write.
//!
//! - [`Change`] and the other types of `write_types`: what is written
//! - [`EventRecord`], [`Feed`], [`LogFollower`]: the log of events and how to follow it
//! - the types of `query_types`: what queries take and return
//! - [`read_only_database`]: reads the database file without a broker, for the gate
//! - [`Tokens`], [`Receipts`]: access tokens and signed receipts, also written by the command line
//!
//! The SQL is in `sqlite/`; the other modules are independent of the database, so that another one could be added.

mod error;
mod event_log;
mod query_types;
pub mod read_only_database;
mod receipts;
mod sqlite;
mod tokens;
mod write_types;

pub use error::StoreError;
pub use event_log::{EventRecord, Feed, LogEntry, LogFollower, TimelineRecord};
pub use query_types::{
    BrowserSession, CounterPatchRow, DedicatedReviewer, EventFilter, FindingDetails, FindingFilter, FindingGroup,
    FindingGroups, FindingOrder, FoundText, FreeSeat, ListOrder, ListedDetails, ListedFinding, Page, PoolPause,
    ProcessIdentity, ProjectQueue, ReviewCounts, ReviewFilter, ReviewSearch, ReviewerEnd, ReviewerRow, ReviewerSession,
    ReviewerWork, RoundRow, SeatRow, SessionTotals, StatsPeriod, TextQuery, WaitingReview, WebhookRow,
};
pub use receipts::{NewReceipt, Receipts};
pub use sqlite::{IndexBatch, MAX_SEARCHED_FINDINGS, Reader, Writer, WriterThread, migrate};
pub use tokens::{NewToken, SECRET_DIGITS, SECRET_PREFIX, Token, TokenSelector, Tokens, new_secret};
pub use write_types::{
    BrowserSessionChange, Change, CommitReply, DeliverySelector, PoolChange, WebhookChange, WebhookStep,
};

use std::{path::Path, sync::Arc};

/// How the database is used.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Connections that read.
    pub readers: u32,
    /// Most changes in one transaction.
    pub max_batch: usize,
    /// Most changes that may wait for a transaction.
    pub max_queue: usize,
    /// Bytes of recently used contents kept in memory.
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

/// Migrates and opens the database. The caller makes sure that no other broker has it open.
pub async fn open(path: &Path, settings: Settings) -> Result<Store, StoreError> {
    sqlite::migrate(path).await?;
    let reader = Reader::open(path, settings).await?;
    let last_seq = reader.last_seq().await?;
    sqlite::catch_up_figures(&reader, path, last_seq).await?;
    let (writer, thread, feed) = Writer::open(path, settings, last_seq, Arc::clone(&reader.files))?;
    Ok(Store { writer, thread, reader, feed })
}
