//! Reads the database file without a broker, for the gate, the hooks and `doctor`.
//!
//! A gate must answer when no broker runs, and must not disturb one that does. So the connection cannot write, creates
//! and migrates nothing, and a database of another version is an error.

mod candidates;
mod connect;
mod open_reviews;

pub use candidates::{Approver, ReviewFiles, ReviewedContent, SubmittedRound};
pub use open_reviews::OpenReview;

use sqlx::SqliteConnection;

/// A read-only connection to the database file.
pub struct ReadOnlyStore(SqliteConnection);

#[cfg(test)]
#[path = "read_only_tests.rs"]
mod tests;
