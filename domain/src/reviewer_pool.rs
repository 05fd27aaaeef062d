//! Rules and event types of the reviewer pool, without IO: when reviewer processes are started and stopped, and the
//! events about them in the log. The pool itself is an actor in the `actors` package.

pub mod circuit_breaker;
pub mod log_continuation;
pub mod scaling;

use crate::{event_kind::EventKind, ids::ReviewNumber};
use scaling::{DrainReason, SpawnReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::string_enum! {
    /// Whether the pool can start reviewers.
    PoolState {
        Disabled = "disabled",
        /// It still cleans up after an earlier run.
        Starting = "starting",
        /// An operator has paused it: no reviewer is started until one resumes it.
        Paused = "paused",
        Ready = "ready",
        /// Reviewers have just failed; the next one starts after a delay.
        BackingOff = "backing_off",
        /// Too many reviewers failed in a row; none is started until an operator asks for one.
        CrashLoop = "crash_loop",
        /// No reviewer can be started, for example because the program is missing. The pool tries again regularly.
        Unavailable = "unavailable",
    }
}

crate::string_enum! {
    /// The state of a live reviewer process.
    ReviewerState {
        Starting = "starting",
        Idle = "idle",
        Busy = "busy",
        /// It finishes the review it holds and gets no other.
        Draining = "draining",
        Stopping = "stopping",
    }
}

crate::string_enum! {
    /// Whether a dedicated reviewer comes back for another turn.
    SessionState {
        Open = "open",
        /// Its review has ended, and its session is deleted. If the review goes on, it starts with a fresh session.
        Finished = "finished",
        /// An operator stopped it for good.
        Stopped = "stopped",
    }
}

/// The name of the dedicated reviewer of a seat: `security-R-12`.
pub fn dedicated_name(persona: &str, review: ReviewNumber) -> String {
    format!("{persona}-{review}")
}

/// How many verdicts of each kind a reviewer gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictCounts {
    pub approved: u64,
    pub changes_requested: u64,
    pub rejected: u64,
    pub comments: u64,
}

impl VerdictCounts {
    /// `2 approved, 1 comment`; empty without a verdict.
    pub fn in_words(&self) -> String {
        let comments = if self.comments == 1 { "comment" } else { "comments" };
        let counts = [
            (self.approved, "approved"),
            (self.changes_requested, "changes requested"),
            (self.rejected, "rejected"),
            (self.comments, comments),
        ];
        let words: Vec<_> =
            counts.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
        words.join(", ")
    }
}

/// An event of a reviewer process in the log. What a reviewer did in a review is in that review's own events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PoolEvent {
    ReviewerSpawned {
        reviewer: String,
        runtime: String,
        project: Option<String>,
        why: SpawnReason,
        /// The persona whose seat it was started for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
        /// The turn of a dedicated reviewer, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
        /// The session that a dedicated reviewer continues. Absent if it begins a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// The operator who asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Of the process that the broker started for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// A one-shot or dedicated reviewer failed, so its client is run once more; `why` says what happened, and whether it
    /// begins a new session.
    ReviewerRetried {
        reviewer: String,
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// It gets no new review and is stopped once it has finished the one it holds.
    ReviewerDraining {
        reviewer: String,
        why: DrainReason,
        /// The operator who stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    ReviewerTerminated {
        reviewer: String,
        /// `exit code 1`, `killed by SIGKILL`, `stopped: idle`
        exit: String,
        /// Unknown if the reviewer outlived its broker.
        ran_ms: Option<u64>,
        /// Why the pool stopped it, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<DrainReason>,
        /// The operator who stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        /// Its verdicts, if they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdicts: Option<VerdictCounts>,
    },
    /// Too many reviewers failed in a row; none is started until an operator asks for one.
    CrashLoop {
        project: Option<String>,
        /// Only the reviewers of this persona's seats are affected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
        failures: u32,
        last_words: Vec<String>,
    },
    CrashLoopCleared {
        project: Option<String>,
        /// The operator who asked for a reviewer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// No reviewer is started until the pool is resumed, also after a restart of the broker.
    PoolPaused {
        /// The operator who paused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    PoolResumed {
        /// The operator who resumed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Until the broker ends; then the setting applies again.
    PoolLimitChanged {
        max_size: usize,
        /// The operator who changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

impl PoolEvent {
    /// The event of a process that was started, with its pid.
    #[must_use]
    pub fn with_pid(mut self, process: Option<u32>) -> Self {
        if let Self::ReviewerSpawned { pid, .. } | Self::ReviewerRetried { pid, .. } = &mut self {
            *pid = process;
        }
        self
    }

    pub const fn kind(&self) -> EventKind {
        match self {
            Self::ReviewerSpawned { .. } => EventKind::ReviewerSpawned,
            Self::ReviewerRetried { .. } => EventKind::ReviewerRetried,
            Self::ReviewerDraining { .. } => EventKind::ReviewerDraining,
            Self::ReviewerTerminated { .. } => EventKind::ReviewerTerminated,
            Self::CrashLoop { .. } => EventKind::CrashLoop,
            Self::CrashLoopCleared { .. } => EventKind::CrashLoopCleared,
            Self::PoolPaused { .. } => EventKind::PoolPaused,
            Self::PoolResumed { .. } => EventKind::PoolResumed,
            Self::PoolLimitChanged { .. } => EventKind::PoolLimitChanged,
        }
    }

    /// Who caused it: the reviewer that it is about, or the operator who changed the pool. `None`: the broker.
    pub fn actor(&self) -> Option<&str> {
        match self {
            Self::PoolPaused { by } | Self::PoolResumed { by } | Self::PoolLimitChanged { by, .. } => by.as_deref(),
            Self::ReviewerSpawned { .. }
            | Self::ReviewerRetried { .. }
            | Self::ReviewerDraining { .. }
            | Self::ReviewerTerminated { .. }
            | Self::CrashLoop { .. }
            | Self::CrashLoopCleared { .. } => self.reviewer(),
        }
    }

    /// The reviewer it is about.
    pub fn reviewer(&self) -> Option<&str> {
        match self {
            Self::ReviewerSpawned { reviewer, .. }
            | Self::ReviewerRetried { reviewer, .. }
            | Self::ReviewerDraining { reviewer, .. }
            | Self::ReviewerTerminated { reviewer, .. } => Some(reviewer),
            Self::CrashLoop { .. }
            | Self::CrashLoopCleared { .. }
            | Self::PoolPaused { .. }
            | Self::PoolResumed { .. }
            | Self::PoolLimitChanged { .. } => None,
        }
    }
}
