//! The pool and its reviewers as answers show them.

use super::moment;
use actors::pool::{LiveReviewer, PoolView};
use schemars::JsonSchema;
use serde::Serialize;
use store::{ProjectQueue, ReviewerRow};

/// The answer of list_reviewers.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Pool<'a> {
    /// disabled, starting, ready, backing_off, crash_loop or unavailable.
    pub state: &'static str,
    /// What that means, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub runtime: &'static str,
    pub max_size: usize,
    /// Reviews that are pending and seats that are free, by project.
    pub waiting: Vec<WaitingRow<'a>>,
    /// Those that live.
    pub reviewers: Vec<Reviewer<'a>>,
    /// The last that have ended, the latest first.
    pub ended: Vec<Reviewer<'a>>,
    /// The last lines of the last reviewer that failed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub last_words: &'a [String],
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct WaitingRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    pub pending: u64,
    /// Seats to be taken, also those of reviews that others have begun.
    pub free_seats: u64,
}

impl<'a> Pool<'a> {
    pub(in crate::mcp) fn of(view: &'a PoolView, pending: &'a [ProjectQueue], ended: &'a [ReviewerRow]) -> Self {
        let waiting = |ProjectQueue { project, reviews, free_seats }: &'a ProjectQueue| WaitingRow {
            project: project.as_deref(),
            pending: *reviews,
            free_seats: *free_seats,
        };
        Self {
            state: view.state.as_str(),
            message: view.state.words(),
            runtime: view.runtime,
            max_size: view.max_size,
            waiting: pending.iter().map(waiting).collect(),
            reviewers: view.live.iter().map(Reviewer::live).collect(),
            ended: ended.iter().map(Reviewer::ended).collect(),
            last_words: &view.last_words,
        }
    }
}

/// One reviewer process, and what it has done.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Reviewer<'a> {
    pub reviewer_id: &'a str,
    /// For people: codex-r1.
    pub name: &'a str,
    /// starting, idle, busy, draining, stopping or ended.
    pub state: &'static str,
    pub runtime: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    /// Why it was started: cold_start, backlog, operator, or one_shot (for one seat of one review).
    pub why: &'static str,
    /// The seat that a one-shot reviewer was started for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<&'a str>,
    /// The review that it was started for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    pub spawned_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
    /// The process that stands between the broker and it.
    pub pid: u32,
    /// The numbers of the reviews it holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<String>,
    /// Reviews it has voted on.
    pub completed: u64,
    pub approvals: u64,
    pub rejections: u64,
    pub changes_requested: u64,
    pub comments: u64,
    /// From claim to vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_ms: Option<u64>,
    /// As its client reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How it ended: "exit code 0", "killed by SIGKILL".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<&'a str>,
    /// Its last lines; of one that lives, what its client last failed with and has not got over.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub last_words: &'a [String],
}

impl<'a> Reviewer<'a> {
    pub(in crate::mcp) fn live(live: &'a LiveReviewer) -> Self {
        Self {
            state: live.state.as_str(),
            age_seconds: Some(live.age_ms / 1000),
            idle_seconds: live.idle_ms.map(|ms| ms / 1000),
            reviews: live.reviews.iter().map(ToString::to_string).collect(),
            last_words: &live.last_words,
            ..Self::ended(&live.row)
        }
    }

    fn ended(row: &'a ReviewerRow) -> Self {
        let end = row.end.as_ref();
        Self {
            reviewer_id: &row.id,
            name: &row.name,
            state: "ended",
            runtime: &row.runtime,
            project: row.project.as_deref(),
            why: row.why.as_str(),
            persona: row.seat.as_ref().map(|seat| seat.persona.as_str()),
            review: row.seat.as_ref().map(|seat| seat.review.to_string()),
            spawned_at: moment(row.spawned_at),
            age_seconds: None,
            idle_seconds: None,
            pid: row.process.pid,
            reviews: Vec::new(),
            completed: row.work.completed(),
            approvals: row.work.approvals,
            rejections: row.work.rejections,
            changes_requested: row.work.changes_requested,
            comments: row.work.comments,
            average_ms: row.work.average_ms(),
            input_tokens: row.work.input_tokens,
            output_tokens: row.work.output_tokens,
            cost_usd: row.work.cost_usd,
            ended_at: end.map(|end| moment(end.at)),
            exit: end.map(|end| end.exit.as_str()),
            last_words: end.map_or(&[], |end| end.last_words.as_slice()),
        }
    }
}
