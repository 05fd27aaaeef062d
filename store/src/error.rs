//! The error type of the database. Variants are the cases that a caller handles differently.

/// Why a read or a write failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The change was not written.
    #[error("the database refused the change: {0}")]
    Write(String),
    /// The file at this path is not the one that is open, so the change would be lost.
    #[error("{0} was deleted or replaced while the broker runs; stop the broker, put the file back and start again")]
    Gone(String),
    #[error("the database cannot be read: {0}")]
    Read(String),
    /// A row has a value that the schema does not allow.
    #[error("corrupt row: {0}")]
    Corrupt(String),
    #[error("the database cannot be migrated: {0}")]
    Migrate(String),
    /// The writer's queue is full.
    #[error("too many changes are waiting to be written")]
    Full,
    /// The writer has ended.
    #[error("the writer has stopped")]
    Stopped,
    #[error("{0:?} is not a cursor of this list")]
    BadCursor(String),
}

impl StoreError {
    pub(crate) fn corrupt(message: impl std::fmt::Display) -> Self {
        Self::Corrupt(message.to_string())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Read(error.to_string())
    }
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        Self::Migrate(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Write(error.to_string())
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(error.to_string())
    }
}
