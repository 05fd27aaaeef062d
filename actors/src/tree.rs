//! The live actor tree as operators see it.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Tree {
    pub root: Node,
    /// Live reviews that are not listed below the supervisor because there are too many.
    pub more_reviews: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// `supervisor gateway review`
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
