//! Types for the tree of running actors, with the state and counters of each, that the broker shows to operators.

use serde::Serialize;

/// The most reviews that a tree for operators lists.
pub const MAX_LISTED_REVIEWS: usize = 200;

#[derive(Debug, Clone, Serialize)]
pub struct Tree {
    pub root: Node,
    pub store: WriterStats,
    pub calls: CallStats,
    /// Live reviews that are not listed, because there are too many.
    pub more_reviews: usize,
    #[serde(skip)]
    pub reviews: ReviewTotals,
}

#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// `supervisor gateway pool reviewer review`
    pub kind: &'static str,
    pub id: String,
    pub state: String,
    pub mailbox: u64,
    pub handled: u64,
    pub restarts: u64,
    pub uptime_ms: u64,
    pub last_error: Option<String>,
    pub children: Vec<Node>,
}

/// All live reviews, including those that a [`Tree`] leaves out.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReviewTotals {
    pub live: usize,
    pub mailbox: u64,
}

/// Calls in progress, limited by `limits.calls_in_flight` and `limits.waiters`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallStats {
    pub in_flight: usize,
    /// Calls that wait for a change.
    pub waiting: usize,
}

/// The writer thread. It is not an actor, but operators look for it here.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WriterStats {
    /// Transactions since the start.
    pub commits: u64,
    /// Changes in these transactions. The ratio shows what group commit saves.
    pub changes: u64,
    /// Changes that are not committed yet.
    pub waiting: u64,
}
