//! The error type of the broker: why a request failed. Every variant has a stable code.

use domain::{ids::ReviewNumber, review::Refusal, text::near_names};
use git::GitError;
use store::StoreError;

/// The code of a variant is its name in snake case, unless another one is given.
#[derive(Debug, Clone, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum BrokerError {
    /// The review's rules refuse it; repeating the call unchanged does not help.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("no review {given:?}; give a review_id, a number such as R-12, or a unique prefix of the id")]
    UnknownReview { given: String },
    #[error("{given:?} fits several reviews: {}", .candidates.join(", "))]
    AmbiguousReview { given: String, candidates: Vec<String> },
    #[error("no project {given:?}; registered: {}", if .known.is_empty() { "none".into() } else { .known.join(", ") })]
    UnknownProject { given: String, known: Vec<String> },
    /// Treating it as the broker's own project would show the proposal to the wrong reviewers.
    #[error(
        "{root} is not registered with this broker (registered: {}); run `countersign project add` in it, as its user",
        .known.join(", ")
    )]
    OtherRepository { root: String, known: Vec<String> },
    /// Another change was faster.
    #[error("{number} has version {current} by now, not {given}; read it again and decide anew")]
    VersionMismatch { number: ReviewNumber, given: u64, current: u64 },
    /// An argument that can be parsed but is not allowed.
    #[error("{field}: {problem}")]
    InvalidArgument { field: &'static str, problem: String },
    /// Its seat would wait for a reviewer that never comes.
    #[error(
        "{field}: no persona {given:?}{}; allowed: {}, or @ and the name of a person or an agent",
        did_you_mean(given, known),
        .known.join(", ")
    )]
    UnknownPersona { field: &'static str, given: String, known: Vec<String> },
    /// Readers of the text could act as the token's owner.
    #[error("{field} contains a token of this broker; revoke it and send the text without it")]
    ContainsSecret { field: &'static str },
    #[error("{field} has {actual} {unit}; the limit is {limit}")]
    TooLong { field: &'static str, actual: usize, limit: usize, unit: &'static str },
    #[error("cursor: not one of this list; begin again without it")]
    BadCursor,
    #[error("the broker has no git repository to check diffs against; start it inside one")]
    NoRepository,
    #[error("base {base:?} cannot be used: {message}")]
    BadBase { base: String, message: String },
    #[error("{field}: {given:?} cannot be reviewed: {why}")]
    BadTarget { field: &'static str, given: String, why: String },
    /// `git.refuse` forbids what the diff does.
    #[error("the diff is refused by policy (git.refuse): {}", .flags.join("; "))]
    FlaggedDiff { flags: Vec<String> },
    #[error("git could not check the diff: {why}; nothing was saved, try again")]
    CheckFailed { why: String },
    #[error("busy: {what}; nothing was saved, try again")]
    Busy { what: &'static str },
    /// The change could not be made durable, so it did not happen.
    #[error("not saved: {why}; try again")]
    NotSaved { why: String },
    #[error("the database cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the actor of this review was restarted; repeating the call is safe")]
    Restarted,
    #[error("the broker is shutting down; nothing was saved, repeat the call when it is back")]
    ShuttingDown,
    #[error("the pool of reviewers is off; set pool.enabled = true and restart the broker")]
    PoolDisabled,
    #[error("the pool is paused and starts no reviewer; resume it first (`countersign reviewer resume`)")]
    PoolPaused,
    #[error("the pool is full: {max_size} reviewers live (pool.max_size)")]
    PoolFull { max_size: usize },
    #[error("persona: {why}")]
    NotSpawnable { why: String, allowed: Vec<String> },
    #[error("the last reviewer was started a moment ago (pool.cooldown); try again in {ms} ms")]
    CoolingDown { ms: u64 },
    #[error("no reviewer can be started: {why}")]
    PoolUnavailable { why: String },
    #[error("no live reviewer {given:?} of this broker; live: {}", if .known.is_empty() { "none".into() } else { .known.join(", ") })]
    UnknownReviewer { given: String, known: Vec<String> },
    #[error("{name:?} is a reviewer of the pool; only its own pass speaks for it")]
    WrongIdentity { field: &'static str, name: String },
    #[error("{number} has no round {round}; it has 1 to {last}")]
    NoSuchRound { number: ReviewNumber, round: u32, last: u32 },
}

fn did_you_mean(given: &str, known: &[String]) -> String {
    match near_names(&given.to_lowercase(), known.iter().map(String::as_str)).as_slice() {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

impl BrokerError {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        if let Self::Refused(refusal) = self { refusal.code() } else { self.into() }
    }

    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::CheckFailed { .. }
                | Self::Busy { .. }
                | Self::NotSaved { .. }
                | Self::Restarted
                | Self::ShuttingDown
                | Self::CoolingDown { .. }
                | Self::Refused(Refusal::ContentMoved)
        )
    }
}

impl From<StoreError> for BrokerError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::BadCursor(_)) {
            return Self::BadCursor;
        }
        Self::Unreadable { why: error.to_string() }
    }
}

impl From<GitError> for BrokerError {
    fn from(error: GitError) -> Self {
        Self::CheckFailed { why: error.to_string() }
    }
}
