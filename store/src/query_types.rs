//! Types for database queries: the filters they take, and the rows they return.

use crate::tokens::Token;
use domain::{
    credential::SecretHash,
    event_kind::EventKind,
    finding::{Finding, FindingKind, FindingNumber, FindingStatus, Location, Severity},
    ids::{ReviewId, ReviewNumber},
    review::{Category, ReviewTarget, Status},
    reviewer_pool::{SessionState, VerdictCounts, scaling::SpawnReason},
    search::{SearchKind, SearchWords},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Opaque cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
}

/// A counter-patch with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterPatchRow {
    pub id: u64,
    pub round: u32,
    pub persona: String,
    pub by: String,
    pub diff: String,
    /// `pending`, `accepted`, `rejected` or, after a revision, `dropped`.
    pub status: String,
    pub at: Timestamp,
}

/// The contents of a round.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RoundRow {
    pub number: u32,
    /// The active content.
    pub content_hash: String,
    /// The content it was submitted with, if an accepted counter-patch replaced it.
    pub submitted_hash: Option<String>,
    /// The branch, commit or range that the submitted diff was taken from.
    pub target: Option<Box<ReviewTarget>>,
    pub submitted_at: Timestamp,
}

/// Which reviews to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ReviewFilter {
    /// Pending reviews are listed in the order of the queue, unless `newest_first` is set.
    pub status: Option<Status>,
    pub newest_first: bool,
    /// In the order of the queue, whatever the status: by priority, then oldest first.
    pub by_priority: bool,
    pub branch: Option<String>,
    /// Only reviews that this identity proposed or holds a seat of.
    pub participant: Option<String>,
    pub proposer: Option<String>,
    /// Only reviews with a seat of this persona.
    pub persona: Option<String>,
    pub search: Option<ReviewSearch>,
    /// Leaves out reviews in which it cannot be the turn of this identity.
    pub turn_of: Option<String>,
    pub category: Option<Category>,
    pub project: Option<String>,
    /// Only reviews without a project.
    pub without_project: bool,
    /// Only reviews that this identity can claim. With `status` pending it hides reviews whose free seats are all
    /// reserved for others, and adds reviews in review that have a free seat.
    pub open_to: Option<String>,
    /// With `open_to`: personas whose free seats belong to reviewers of the pool, so this identity cannot claim them.
    pub kept_for_pool: Vec<String>,
    /// Hides reviews that this identity proposed.
    pub not_by: Option<String>,
    /// Only reviews that entered the queue after this event.
    pub queued_after: Option<u64>,
}

/// What a person types to find a review.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReviewSearch {
    /// Part of the intent, in lower case.
    text: String,
    /// The number of the review, if the text is one.
    number: Option<ReviewNumber>,
}

impl ReviewSearch {
    /// `given` is part of an intent, in any case, or a number: `R-12` or `12`.
    pub fn new(given: &str) -> Self {
        let given = given.trim();
        let number = ReviewNumber::parse(given).or_else(|| ReviewNumber::parse(&format!("R-{given}")));
        Self { text: given.to_lowercase(), number }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A number that no review has if the text is not one.
    pub(crate) fn number(&self) -> i64 {
        self.number.map_or(0, |number| number.0)
    }
}

/// What a list shows of a review beside its snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedDetails {
    pub file_count: u64,
    pub added: u64,
    pub removed: u64,
    /// The severities of its open issues, with their number.
    pub open_issues: Vec<(Severity, u64)>,
}

/// The numbers of reviews that match a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewCounts {
    pub by_status: HashMap<Status, u64>,
    /// Reviews that wait for an operator.
    pub escalated: u64,
}

/// Claimable reviews are listed in the order of the queue, all others newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// Claimable reviews by priority, then oldest first.
    Queue,
    /// Any reviews in the order of the queue.
    Priority,
    Newest,
}

impl ReviewFilter {
    pub fn order(&self) -> ListOrder {
        let is_queue = self.status == Some(Status::Pending) || self.wants_started_reviews();
        match (is_queue && !self.newest_first, self.by_priority) {
            (true, _) => ListOrder::Queue,
            (false, true) => ListOrder::Priority,
            (false, false) => ListOrder::Newest,
        }
    }

    /// Lists free seats of reviews that other reviewers have started.
    pub(crate) fn wants_started_reviews(&self) -> bool {
        self.status == Some(Status::InReview) && self.open_to.is_some()
    }
}

/// Which events to list.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub review: Option<ReviewNumber>,
    pub actor: Option<String>,
    /// Only these kinds; all if it is empty.
    pub kinds: Vec<EventKind>,
    /// Only kinds that belong in the activity feed.
    pub activity: bool,
    /// Only this project; with `None` inside, only events without a project.
    pub project: Option<Option<String>>,
    pub since: Option<Timestamp>,
    /// Exclusive.
    pub until: Option<Timestamp>,
}

/// Which reviews to count: those submitted from `since` on and before `until`.
#[derive(Debug, Clone, Default)]
pub struct StatsPeriod {
    /// Only this project; with `None` inside, only reviews without a project.
    pub project: Option<Option<String>>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// When the current stay in a status ends.
    pub now: Timestamp,
}

/// Which findings to list.
#[derive(Debug, Clone, Default)]
pub struct FindingFilter {
    pub review: Option<ReviewNumber>,
    pub number: Option<FindingNumber>,
    /// With one of these statuses; empty: with any.
    pub statuses: Vec<FindingStatus>,
    /// With one of these severities; empty: with any.
    pub severities: Vec<Severity>,
    pub kind: Option<FindingKind>,
    /// Whether it prevents an approval.
    pub blocks: Option<bool>,
    /// Only of reviews that are neither cancelled nor closed.
    pub open_reviews: bool,
    /// The file it was raised in.
    pub file: Option<String>,
    /// Only those that name no file.
    pub without_file: bool,
    pub persona: Option<String>,
    pub reviewer: Option<String>,
    /// Only these: those that a search has found.
    pub among: Option<Vec<i64>>,
    /// Includes suggestions.
    pub suggestions: bool,
    /// Only this project's reviews; with `None` inside, only reviews without a project.
    pub project: Option<Option<String>>,
    pub order: FindingOrder,
}

/// The order of a list of findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FindingOrder {
    #[default]
    Newest,
    /// Open in an open review first, then open, then those that block, then the more severe ones.
    Blocking,
}

impl FindingFilter {
    /// Whether a finding of one review fits, as far as the finding itself says. What the review says is not compared.
    pub fn matches(&self, finding: &Finding) -> bool {
        let raised_in = finding.found.location.as_ref().and_then(Location::file);
        self.number.is_none_or(|number| number == finding.number)
            && (self.statuses.is_empty() || self.statuses.contains(&finding.status))
            && (self.severities.is_empty() || self.severities.contains(&finding.found.severity))
            && self.kind.is_none_or(|kind| kind == finding.found.kind)
            && (!self.without_file || raised_in.is_none())
            && self.file.as_deref().is_none_or(|file| raised_in == Some(file))
            && self.persona.as_ref().is_none_or(|persona| *persona == finding.persona)
            && self.reviewer.as_ref().is_none_or(|reviewer| *reviewer == finding.by)
            && self.among.as_ref().is_none_or(|among| among.contains(&finding.number.0))
            && (self.suggestions || finding.found.is_issue)
    }

    /// Whether only the index that follows the log can answer it.
    pub fn needs_index(&self) -> bool {
        self.order == FindingOrder::Blocking
            || self.kind.is_some()
            || self.blocks.is_some()
            || self.open_reviews
            || self.without_file
            || self.reviewer.is_some()
            || self.among.is_some()
    }
}

/// The counts of the findings that have something in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingGroup {
    /// What they have in common. Empty: they have none.
    pub name: String,
    pub issues: u64,
    pub open: u64,
    pub blocking: u64,
    /// In rising order of severity.
    pub open_by_severity: Vec<(Severity, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingGroups {
    pub groups: Vec<FindingGroup>,
    pub left_out: usize,
    /// Only the first findings were counted, because there are too many.
    pub is_partial: bool,
}

/// What a search asks for.
#[derive(Debug, Clone)]
pub struct TextQuery {
    pub words: SearchWords,
    /// Texts of one of these kinds; empty: of any.
    pub kinds: Vec<SearchKind>,
    pub project: Option<Option<String>>,
    pub review: Option<ReviewNumber>,
}

/// A text that a search has found, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundText {
    pub kind: SearchKind,
    pub review: ReviewId,
    pub number: ReviewNumber,
    pub status: Status,
    pub intent: String,
    /// The message, verdict or finding; 0 for a review.
    pub reference: u64,
    /// The title of a review or a finding.
    pub title: Option<String>,
    pub body: String,
    pub by: Option<String>,
    pub persona: Option<String>,
    pub round: Option<u32>,
    pub at: Timestamp,
}

/// A finding and the review it belongs to.
#[derive(Debug, Clone)]
pub struct ListedFinding {
    pub review: ReviewId,
    pub number: ReviewNumber,
    pub finding: Finding,
    /// Only in lists across reviews from the index.
    pub details: Option<FindingDetails>,
}

/// What a list across reviews says about a finding and its review.
#[derive(Debug, Clone)]
pub struct FindingDetails {
    pub review_status: Status,
    pub review_intent: String,
    pub blocks: bool,
}

/// A reviewer process, running or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewerRow {
    pub id: String,
    pub name: String,
    pub runtime: String,
    pub project: Option<String>,
    pub why: SpawnReason,
    /// The operator who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<String>,
    /// An agent that takes only seats of this persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_to: Option<String>,
    /// The seat it was started for; `None` for an agent, which chooses reviews itself.
    pub seat: Option<SeatRow>,
    /// Only of a dedicated reviewer, whose row stays the same from turn to turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ReviewerSession>,
    pub process: ProcessIdentity,
    pub spawned_at: Timestamp,
    pub end: Option<ReviewerEnd>,
    pub work: ReviewerWork,
}

impl ReviewerRow {
    /// Whether `name` is its id or its short name.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.name == name
    }

    /// The pid of its process; `None` if none ran yet.
    pub fn pid(&self) -> Option<u32> {
        (self.process != ProcessIdentity::default()).then_some(self.process.pid)
    }

    /// Whether it is a dedicated reviewer that comes back for its next turn.
    pub fn is_coming_back(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.state == SessionState::Open)
    }
}

/// A seat of a review.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SeatRow {
    pub review: ReviewNumber,
    pub persona: String,
}

/// The session of a dedicated reviewer: what it keeps from turn to turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewerSession {
    pub state: SessionState,
    /// The client's own id of the session. Codex chooses it, so it is known only after the start.
    pub id: Option<String>,
    /// The client has recorded a part of the conversation, so the session can be continued.
    pub resumable: bool,
    /// Turns that were started.
    pub turns: u32,
    /// Sessions that were begun because an earlier one could not be continued.
    pub fresh_starts: u32,
    /// The last turn has not come to its end: the broker or the reviewer was stopped or killed.
    #[serde(default)]
    pub cut_short: bool,
    /// What the client has reported for this session. Clients report sums over the session.
    pub reported: SessionTotals,
    /// Why the last turn ended without a result.
    pub failure: Option<String>,
}

impl Default for ReviewerSession {
    fn default() -> Self {
        let (state, reported) = (SessionState::Open, SessionTotals::default());
        Self { state, id: None, resumable: false, turns: 0, fresh_starts: 0, cut_short: false, reported, failure: None }
    }
}

/// Sums that a client has reported for one session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionTotals {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

/// A dedicated reviewer and the state of its review.
#[derive(Debug, Clone, PartialEq)]
pub struct DedicatedReviewer {
    pub row: ReviewerRow,
    pub status: Status,
    pub branch: Option<String>,
}

/// The pool is paused: no reviewer is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolPause {
    pub at: Timestamp,
    /// The operator who paused it.
    pub by: Option<String>,
}

/// A seat that waits for a reviewer of its own. Sorts in the order of the queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeSeat {
    pub(crate) priority: i64,
    pub seat: SeatRow,
    pub id: ReviewId,
    pub project: Option<String>,
}

/// A process of one boot of the machine. A pid alone may belong to another process by now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// Ticks since the boot.
    pub start_time: u64,
    pub boot_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewerEnd {
    pub at: Timestamp,
    pub exit: String,
    /// The last lines of its output, if it failed.
    pub last_words: Vec<String>,
}

/// What a reviewer has done, measured by the broker. Tokens and cost are as its client reported them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewerWork {
    pub approvals: u64,
    pub rejections: u64,
    pub changes_requested: u64,
    pub comments: u64,
    /// Total time from claim to vote.
    pub reviewing_ms: u64,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl ReviewerWork {
    pub const fn verdicts(&self) -> VerdictCounts {
        VerdictCounts {
            approved: self.approvals,
            changes_requested: self.changes_requested,
            rejected: self.rejections,
            comments: self.comments,
        }
    }

    /// Reviews it has voted on.
    pub const fn completed(&self) -> u64 {
        self.approvals + self.rejections + self.changes_requested
    }

    pub fn average_ms(&self) -> Option<u64> {
        self.reviewing_ms.checked_div(self.completed())
    }
}

/// A review with seats that any reviewer may claim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WaitingReview {
    /// Free seats that are neither reserved nor served by a one-shot reviewer.
    pub seats: u64,
    /// Reviewers that hold a seat, whether or not they have voted.
    pub holders: Vec<String>,
}

/// The queue of one project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProjectQueue {
    pub project: Option<String>,
    /// Reviews that no reviewer has started.
    pub reviews: u64,
    /// Free seats of these and of reviews that were started.
    pub free_seats: u64,
}

/// The session of a browser that is signed in.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    /// The token that signed in, with its hash; `None`: the local operator.
    pub token: Option<(SecretHash, Token)>,
}

/// A webhook that is or was configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WebhookRow {
    pub name: String,
    pub source: String,
    /// Every event up to here was delivered, is dead, or does not match the filter.
    pub cursor: u64,
    /// Number of dead deliveries.
    pub dead: u64,
}
