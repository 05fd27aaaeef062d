//! What readers are given: rows as they are shown.
use domain::{
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Category, ReviewTarget, Role, Status},
    time::Timestamp,
    verdict::{ReviewMetrics, Verdict},
};

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub id: ReviewId,
    pub number: ReviewNumber,
    pub status: Status,
    pub intent: String,
    pub agent_type: String,
    pub agent_role: String,
    pub phase: String,
    pub plan: Option<String>,
    pub task: Option<String>,
    pub project: Option<String>,
    pub proposer_id: Option<String>,
    pub category: Option<Category>,
    pub priority: Priority,
    pub round: u32,
    pub claimed_by: Option<String>,
    /// Every free seat waits for this reviewer.
    pub reserved_for: Option<String>,
    /// Personas of the seats that can be taken: free, and not reserved for another than who asks.
    pub free_seats: Vec<String>,
    pub has_diff: bool,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// One page, and what is needed to ask for the next or to wait for news.
#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Opaque; `None` on the last page.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: u64,
    pub round: u32,
    pub persona: String,
    pub role: Role,
    pub by: Option<String>,
    pub body: String,
    pub metadata: Option<serde_json::Value>,
    pub at: Timestamp,
}

/// One verdict, as given.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    pub id: u64,
    pub round: u32,
    pub persona: String,
    pub by: String,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub summary: Option<String>,
    pub metrics: Option<ReviewMetrics>,
    pub content_hash: String,
    pub at: Timestamp,
}

/// A counter-patch with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterPatch {
    pub id: u64,
    pub round: u32,
    pub persona: String,
    pub by: String,
    pub diff: String,
    /// `pending accepted rejected` or, after a revision, `dropped`.
    pub status: String,
    pub at: Timestamp,
}

/// The content a round had (its last, where a counter-patch replaced the first).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRow {
    pub number: u32,
    pub content_hash: String,
    /// The first, where it was replaced.
    pub submitted_hash: Option<String>,
    /// Where the diff it was submitted with was taken from.
    pub target: Option<Box<ReviewTarget>>,
    pub submitted_at: Timestamp,
}
