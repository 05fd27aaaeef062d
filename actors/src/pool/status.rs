//! The pool as people see it.

use crate::introspection::Node;
use domain::{ids::ReviewNumber, pool::ReviewerState};
use store::ReviewerRow;

/// What the pool can do at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolState {
    Disabled,
    /// It still looks after what an earlier run left behind.
    Starting,
    Ready,
    /// Reviewers have just failed; the next comes after a pause.
    BackingOff {
        ms: u64,
    },
    /// Too many have failed in a row, and none is started until somebody asks for one.
    CrashLoop {
        failures: u32,
        projects: Vec<String>,
    },
    /// No reviewer can be started: the program is missing, say. Tried again with every look.
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

    /// What that means, and what to do about it.
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Disabled => Some("set pool.enabled = true to have reviewers started".into()),
            Self::Starting | Self::Ready => None,
            Self::BackingOff { ms } => Some(format!("the last reviewer failed; the next is started in {ms} ms")),
            Self::CrashLoop { failures, projects } => {
                let of = if projects.is_empty() { String::new() } else { format!(" of {}", projects.join(", ")) };
                Some(format!(
                    "{failures} reviewers in a row{of} came to nothing; see last_words and their logs, mend it, then \
                     spawn_reviewer (`countersign reviewer spawn`) tries again"
                ))
            }
            Self::Unavailable { why } => Some(why.clone()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct PoolView {
    pub state: PoolState,
    pub runtime: &'static str,
    pub max_size: usize,
    pub live: Vec<LiveReviewer>,
    /// What the last one that failed said.
    pub last_words: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct LiveReviewer {
    pub row: ReviewerRow,
    pub state: ReviewerState,
    pub age_ms: u64,
    /// Since it finished its last review, or started.
    pub idle_ms: Option<u64>,
    pub reviews: Vec<ReviewNumber>,
    /// What its client last failed with, and has not got over.
    pub last_words: Vec<String>,
    pub(crate) node: Node,
}

impl LiveReviewer {
    /// Messages that wait for its actor.
    pub const fn mailbox(&self) -> u64 {
        self.node.mailbox
    }
}
