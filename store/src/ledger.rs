//! What was approved, and what became of the rest: read from the file itself, beside a running broker or without one.
//!
//! A gate must answer when nobody is there to ask, and must not get in a broker's way. So the connection cannot write,
//! creates nothing, migrates nothing, and a database of another version is an error and not a guess.

mod cases;
mod feedback;
mod open;

pub use cases::{Approver, Case, Submitted, Touched};
pub use feedback::Feedback;

use sqlx::SqliteConnection;

/// The database, as a gate reads it.
pub struct Ledger(SqliteConnection);

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
