//! Request and response types for the pool of reviewer processes: listing, starting and stopping them, and reading
//! their logs.

use domain::reviewer_pool::PoolState;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewersRequest {
    /// Maximum number of rows in `ended`, 1 to 200. Default 20.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page: continues `ended`.
    pub cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewersResponse {
    /// disabled, starting, paused, ready, backing_off, crash_loop or unavailable.
    #[schemars(with = "String")]
    pub state: PoolState,
    /// What the state means, and what to do about it.
    pub message: Option<String>,
    pub runtime: Cow<'static, str>,
    /// The most reviewers at once.
    pub max_size: usize,
    /// The setting pool.max_size, if an operator has changed the limit since the broker started.
    pub configured_max_size: Option<usize>,
    /// Who paused the pool, and when.
    pub paused: Option<PoolPause>,
    /// When a reviewer that the broker has not started last called, since the broker runs.
    pub last_reviewer_call_at: Option<Timestamp>,
    /// Pending reviews and free seats by project.
    pub waiting: Vec<Waiting>,
    /// The running reviewers.
    pub reviewers: Vec<Reviewer>,
    /// The dedicated reviewers of open reviews, whether or not their process runs now. Their state is waiting (for their
    /// turn), queued (for a free place in the pool), working, or failed (an operator has been asked).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dedicated: Vec<Reviewer>,
    /// Seats whose own reviewer waits for a free place in the pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<QueuedSeat>,
    /// The reviewers that ended last, the latest first.
    pub ended: Vec<Reviewer>,
    /// The number of reviewers that have ended, on all pages. Absent for a token of one project.
    pub ended_total: Option<u64>,
    /// The number of dedicated reviewers, if more than are listed.
    pub dedicated_total: Option<usize>,
    /// The number of queued seats, if more than are listed.
    pub queued_total: Option<usize>,
    /// Pass it as `cursor` for the next page of `ended`. Absent on the last page.
    pub next_cursor: Option<String>,
    /// The last output lines of the last reviewer that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
}

/// A pause of the pool. It lasts until an operator ends it, also over a restart of the broker.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PoolPause {
    pub since: Timestamp,
    /// Absent if the operator gave no name.
    pub by: Option<String>,
}

/// What changes in the pool. At least one of paused and max_size is needed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ControlPoolRequest {
    /// true: no reviewer is started, running ones continue. false: reviewers are started again.
    pub paused: Option<bool>,
    /// The most reviewers at once, 1 to 10, until the broker ends. Running ones beyond it are not stopped. The setting
    /// pool.max_size lasts.
    #[schemars(range(min = 1, max = 10))]
    pub max_size: Option<usize>,
    /// Your name, for the log.
    pub caller_id: Option<String>,
}

/// Response of control_pool: the pool after the change.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ControlPoolResponse {
    /// As in list_reviewers.
    #[schemars(with = "String")]
    pub state: PoolState,
    /// What the state means, and what to do about it.
    pub message: Option<String>,
    pub paused: Option<PoolPause>,
    /// The most reviewers at once.
    pub max_size: usize,
    /// The setting pool.max_size: what applies after the next start of the broker.
    pub configured_max_size: usize,
    /// Live reviewers, including those that are ending.
    pub running: usize,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StopReviewersRequest {
    /// Stop them now instead of after their current reviews. Default false.
    pub force: Option<bool>,
    /// Your name, for the log.
    pub caller_id: Option<String>,
}

/// Response of stop_reviewers: the reviewers that are ending.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StopReviewersResponse {
    pub reviewers: Vec<Reviewer>,
}

/// The work that waits in one project.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    pub project: Option<String>,
    pub pending: u64,
    /// Free seats, including those of reviews that other reviewers have started.
    pub free_seats: u64,
}

/// A seat whose one-shot or dedicated reviewer is to be started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QueuedSeat {
    pub review: String,
    pub persona: String,
}

/// One reviewer process and its statistics. Response of spawn_reviewer and kill_reviewer.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reviewer {
    pub reviewer_id: String,
    /// The short name, for example codex-r1.
    pub name: String,
    /// starting, idle, busy, draining, stopping or ended. Of a dedicated reviewer also waiting, queued, working, failed,
    /// finished or stopped.
    pub state: Cow<'static, str>,
    pub runtime: String,
    pub project: Option<String>,
    /// Why it was started: cold_start, backlog, operator, one_shot (for one seat of one review), or dedicated (for one seat
    /// until the review ends).
    pub why: Cow<'static, str>,
    /// The seat that a one-shot or dedicated reviewer was started for.
    pub persona: Option<String>,
    /// The review that a one-shot or dedicated reviewer was started for.
    pub review: Option<String>,
    /// The branch of that review, for a dedicated reviewer.
    pub branch: Option<String>,
    /// Turns of a dedicated reviewer so far.
    pub turns: Option<u32>,
    /// The session that the client of a dedicated reviewer continues in every turn.
    pub reviewer_session_id: Option<String>,
    /// How often a dedicated reviewer had to begin a new session, because the old one could not be continued.
    pub fresh_starts: Option<u32>,
    pub spawned_at: jiff::Timestamp,
    pub age_seconds: Option<u64>,
    pub idle_seconds: Option<u64>,
    /// The shim process between the broker and the reviewer.
    pub pid: u32,
    /// Numbers of the reviews it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<String>,
    /// Number of reviews it has voted on.
    pub completed: u64,
    pub approvals: u64,
    pub rejections: u64,
    pub changes_requested: u64,
    pub comments: u64,
    /// Mean time from claim to vote.
    pub average_ms: Option<u64>,
    /// As its client reports them.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub ended_at: Option<jiff::Timestamp>,
    /// How it ended, for example "exit code 0" or "killed by SIGKILL".
    pub exit: Option<String>,
    /// Its last output lines, if it failed. For a running reviewer: its client's last error, until it recovers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpawnReviewerRequest {
    /// The project to review for. Default: the repository the broker was started in.
    pub project: Option<String>,
    /// Only for seats of this persona, if it has agents of its own.
    pub persona: Option<String>,
    /// Your name.
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct KillReviewerRequest {
    /// The reviewer's id or its short name (codex-r1).
    pub reviewer_id: String,
    /// Default false.
    pub force: Option<bool>,
    /// Your name.
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerLogRequest {
    /// The reviewer's id, a prefix of it, or its short name.
    pub reviewer_id: String,
    /// Number of lines from the end. Default 200, if there is no `from`.
    #[schemars(range(min = 1, max = 10_000))]
    pub lines: Option<usize>,
    /// Read from this byte on, counted since the log began; 0 is its beginning. What is not kept any more is skipped.
    pub from: Option<u64>,
    /// With `from`: the most bytes of text, 1024 to 1048576. Default 65536.
    #[schemars(range(min = 1024, max = 1_048_576))]
    pub bytes: Option<u64>,
}

/// A part of a reviewer's output: whole lines, as far as possible. A file that continues a full one begins with the line
/// `--- continues at byte N`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerLogResponse {
    pub reviewer_id: String,
    /// Untrusted text. The broker has escaped its control characters.
    pub text: String,
    /// The offset of the first byte of `text` since the log began. It is larger than asked for if the beginning was dropped.
    pub from: u64,
    /// The offset after `text`. Pass it as `from` to continue.
    pub next: u64,
    /// Bytes since the log began.
    pub total_bytes: u64,
    /// How many of them, at the beginning, are not kept any more.
    pub dropped_bytes: u64,
    /// Whether the log holds more than `text`.
    pub truncated: bool,
    /// The reviewer has ended: nothing follows `total_bytes`.
    pub ended: bool,
}
