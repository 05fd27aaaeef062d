//! Response types for the tree of running actors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Response of get_actors: the tree of running actors.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Actors {
    pub root: ActorNode,
    pub store: StoreCounters,
    pub calls: CallCounters,
    /// Live reviews that are not listed, because there are too many.
    pub more_reviews: usize,
}

/// An actor and the actors that it supervises.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ActorNode {
    /// supervisor, gateway, pool, reviewer, group or review.
    pub kind: Cow<'static, str>,
    pub id: String,
    /// What it does, in words.
    pub state: String,
    /// Messages that wait.
    pub mailbox: u64,
    /// Messages since its start.
    pub handled: u64,
    pub restarts: u64,
    pub uptime_ms: u64,
    pub last_error: Option<String>,
    pub children: Vec<Self>,
}

/// The thread that writes to the database. It is not an actor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct StoreCounters {
    /// Transactions since the start.
    pub commits: u64,
    /// Changes in these transactions.
    pub changes: u64,
    /// Changes that are not committed yet.
    pub waiting: u64,
}

/// Calls in progress.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct CallCounters {
    pub in_flight: usize,
    /// Calls that wait for a change.
    pub waiting: usize,
}
