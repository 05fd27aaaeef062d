//! What happens to reviewer processes, for the log. A review's own events say what they did there.

use crate::{
    event_kind::EventKind,
    pool::scaling::{DrainReason, SpawnReason},
};
use serde::{Deserialize, Serialize};

crate::string_enum! {
    /// What a live reviewer process does.
    ReviewerState {
        Starting = "starting",
        Idle = "idle",
        Busy = "busy",
        /// Finishes the review it has, and takes no other.
        Draining = "draining",
        Stopping = "stopping",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PoolEvent {
    ReviewerSpawned {
        reviewer: String,
        runtime: String,
        project: Option<String>,
        why: SpawnReason,
        /// Whose seat it was started for, where it was for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
    },
    /// A one-shot reviewer's answer was of no use, and it is asked once more.
    ReviewerRetried {
        reviewer: String,
        why: String,
    },
    /// It takes no new review and is ended once it has finished the one it has.
    ReviewerDraining {
        reviewer: String,
        why: DrainReason,
    },
    ReviewerTerminated {
        reviewer: String,
        /// `exit code 1`, `killed by SIGKILL`
        exit: String,
        /// Not known of one that outlived its broker.
        ran_ms: Option<u64>,
    },
    /// Too many failed in a row; nothing is spawned until somebody asks for it.
    CrashLoop {
        project: Option<String>,
        /// Only the one-shot reviewers of this persona are concerned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
        failures: u32,
        last_words: Vec<String>,
    },
    CrashLoopCleared {
        project: Option<String>,
    },
}

impl PoolEvent {
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::ReviewerSpawned { .. } => EventKind::ReviewerSpawned,
            Self::ReviewerRetried { .. } => EventKind::ReviewerRetried,
            Self::ReviewerDraining { .. } => EventKind::ReviewerDraining,
            Self::ReviewerTerminated { .. } => EventKind::ReviewerTerminated,
            Self::CrashLoop { .. } => EventKind::CrashLoop,
            Self::CrashLoopCleared { .. } => EventKind::CrashLoopCleared,
        }
    }

    /// The reviewer it is about.
    pub fn reviewer(&self) -> Option<&str> {
        match self {
            Self::ReviewerSpawned { reviewer, .. }
            | Self::ReviewerRetried { reviewer, .. }
            | Self::ReviewerDraining { reviewer, .. }
            | Self::ReviewerTerminated { reviewer, .. } => Some(reviewer),
            Self::CrashLoop { .. } | Self::CrashLoopCleared { .. } => None,
        }
    }
}
