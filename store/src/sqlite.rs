//! The SQLite store: one writing thread, a pool of read-only connections, and one file of queries per noun.

pub(crate) mod approvals;
mod browser_sessions;
mod daily_stats;
mod database_file_watch;
mod discussion;
mod events;
mod figures;
mod finding_index;
mod findings;
mod identity_spellings;
mod log_indexes;
mod reader;
mod review_counts;
mod review_filter;
mod review_list;
mod reviewer_pool;
mod reviews;
mod search;
mod stats;
mod webhooks;
mod write_statements;
mod writer;

pub use log_indexes::IndexBatch;
pub use reader::Reader;
pub use search::MAX_SEARCHED_FINDINGS;
pub use writer::{Writer, WriterThread};

pub(crate) use database_file_watch::DatabaseFiles;
pub(crate) use figures::catch_up as catch_up_figures;
pub(crate) use reader::{parse_all, parse_word, to_id, to_u32, to_u64};
pub(crate) use writer::Counters;

use crate::StoreError;
use sqlx::{
    ConnectOptions as _, Connection as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{path::Path, time::Duration};

/// The schema.
pub(crate) static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

/// Creates the database if it does not exist and applies the migrations it lacks.
pub async fn migrate(path: &Path) -> Result<(), StoreError> {
    let mut connection = connect_options(path).create_if_missing(true).connect().await?;
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

pub(crate) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5))
        .foreign_keys(true)
}
