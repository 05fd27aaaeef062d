//! The live actor tree as operators see it.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Tree {
    pub root: Node,
    pub store: WriterStats,
    pub calls: CallStats,
    /// Live reviews that are not listed below the supervisor because there are too many.
    pub more_reviews: usize,
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

/// All actors of one kind, in numbers.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub live: u64,
    pub mailbox: u64,
}

/// What a [`Tree`] says, in numbers.
#[derive(Debug, Clone)]
pub struct Census {
    pub kinds: Vec<Kind>,
    pub store: WriterStats,
    pub calls: CallStats,
}

/// What the doors are busy with, against `limits.calls_in_flight` and `limits.waiters`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallStats {
    pub in_flight: usize,
    /// Calls that only wait for a change.
    pub waiting: usize,
}

/// The writing thread is no actor, but operators look for it in the same place.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WriterStats {
    /// Transactions since the start.
    pub commits: u64,
    /// Changes in them; the ratio is what group commit saves.
    pub changes: u64,
    /// Changes handed over and not yet answered.
    pub waiting: u64,
}
