//! The state of the pool and its reviewers, as shown to operators.

use crate::introspection::Node;
use domain::{ids::ReviewNumber, pool::ReviewerState};
use store::ReviewerRow;

/// Whether the pool can start reviewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolState {
    Disabled,
    /// It still cleans up after an earlier run.
    Starting,
    Ready,
    /// Reviewers have just failed; the next one starts after a delay.
    BackingOff {
        ms: u64,
    },
    /// Too many reviewers failed in a row; none is started until an operator asks for one.
    CrashLoop {
        failures: u32,
        projects: Vec<String>,
    },
    /// No reviewer can be started, for example because the program is missing. The pool tries again regularly.
    Unavailable {
        why: String,
    },
}

impl PoolState {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::BackingOff { .. } => "backing_off",
            Self::CrashLoop { .. } => "crash_loop",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// What the state means and what to do about it.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Disabled => Some("set pool.enabled = true to start reviewers on demand".into()),
            Self::Starting | Self::Ready => None,
            Self::BackingOff { ms } => Some(format!("the last reviewer failed; the next one starts in {ms} ms")),
            Self::CrashLoop { failures, projects } => {
                let place = if projects.is_empty() { String::new() } else { format!(" in {}", projects.join(", ")) };
                let reviewers = if *failures == 1 { "reviewer" } else { "reviewers" };
                Some(format!(
                    "{failures} {reviewers} failed in a row{place}; read last_words and the reviewer logs, fix the \
                     cause, then run spawn_reviewer (`countersign reviewer spawn`)"
                ))
            }
            Self::Unavailable { why } => Some(why.clone()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct PoolStatus {
    pub state: PoolState,
    pub runtime: &'static str,
    pub max_size: usize,
    pub live: Vec<LiveReviewer>,
    /// The last output of the last reviewer that failed.
    pub last_words: Vec<String>,
}

impl PoolStatus {
    /// Fills in the pool's node of the actor tree.
    pub(crate) fn describe(&self, node: &mut Node) {
        node.state = format!("{}, {} of {} reviewers", self.state.as_str(), self.live.len(), self.max_size);
        node.last_error = self.state.message().filter(|_| self.state != PoolState::Disabled);
        node.children = self.live.iter().map(|reviewer| reviewer.node.clone()).collect();
    }
}

#[derive(Debug, Clone)]
pub struct LiveReviewer {
    pub row: ReviewerRow,
    pub state: ReviewerState,
    pub age_ms: u64,
    /// Since its last review, or since its start. `None` while it holds a claim.
    pub idle_ms: Option<u64>,
    pub reviews: Vec<ReviewNumber>,
    /// The client's last error, unless it has succeeded since.
    pub last_words: Vec<String>,
    pub(crate) node: Node,
}

impl LiveReviewer {
    /// Messages waiting for its actor.
    pub const fn mailbox(&self) -> u64 {
        self.node.mailbox
    }
}
