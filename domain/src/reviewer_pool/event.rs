//! Events of reviewer processes in the log. What a reviewer did in a review is in that review's own events.

use crate::{
    event_kind::EventKind,
    reviewer_pool::scaling::{DrainReason, SpawnReason},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PoolEvent {
    ReviewerSpawned {
        reviewer: String,
        runtime: String,
        project: Option<String>,
        why: SpawnReason,
        /// The persona whose seat a one-shot reviewer was started for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
    },
    /// The response of a one-shot reviewer could not be used, so the client is run once more.
    ReviewerRetried {
        reviewer: String,
        why: String,
    },
    /// It gets no new review and is stopped once it has finished the one it holds.
    ReviewerDraining {
        reviewer: String,
        why: DrainReason,
    },
    ReviewerTerminated {
        reviewer: String,
        /// `exit code 1`, `killed by SIGKILL`
        exit: String,
        /// Unknown if the reviewer outlived its broker.
        ran_ms: Option<u64>,
    },
    /// Too many reviewers failed in a row; none is started until an operator asks for one.
    CrashLoop {
        project: Option<String>,
        /// Only the one-shot reviewers of this persona are affected.
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
