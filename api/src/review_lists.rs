//! Request and response types for listing and counting reviews.

use crate::{
    consensus::dollars,
    issues::OpenBySeverity,
    reviews::{CounterPatchState, MessageTotals, ReviewHead, SeatState},
};
use domain::{
    consensus::Escalation,
    credential::Authority,
    finding::Severity,
    ids::ReviewId,
    priority::Priority,
    review::{Category, Proposer, Review, Status},
    text::{short_commit, truncate},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

const INTENT_CHARS: usize = 160;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewsRequest {
    /// Only this status. "pending" with caller_id: every review that you may claim.
    pub status: Option<Status>,
    /// Only reviews with one of these statuses, newest first. Not allowed with status.
    pub statuses: Option<Vec<Status>>,
    /// Only reviews that are neither cancelled nor closed. Not allowed with status or statuses.
    pub open: Option<bool>,
    /// "priority": in the order of the queue, whatever the status. Default: "pending" in that order, others newest first.
    pub order: Option<ListedOrder>,
    /// Only reviews of this branch.
    pub branch: Option<String>,
    /// Only reviews that this name proposed or holds a seat of.
    pub participant: Option<String>,
    /// Only reviews that this name proposed.
    pub proposer: Option<String>,
    /// Only reviews with a seat of this persona.
    pub persona: Option<String>,
    /// Only reviews whose intent contains this text, in any case, or whose number it is (R-12 or 12).
    pub q: Option<String>,
    /// Only this kind of proposal.
    pub category: Option<Category>,
    /// Only this project. Not allowed with projects.
    pub project: Option<String>,
    /// Only these projects. Not allowed with project.
    pub projects: Option<Vec<String>>,
    /// Maximum number of rows. Default 50.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
    /// Adds seats, counts of open issues, the size of the diff, cost and escalation to each row. Default false.
    pub details: Option<bool>,
    /// Only reviews in which it is your turn (waiting_on). Requires caller_id or a token.
    pub my_turn: Option<bool>,
    /// With my_turn, the role you act in. "operator" also lists reviews that wait for an operator. Default: the role of
    /// your token or endpoint, else proposer and reviewer.
    pub role: Option<Authority>,
    /// Wait until there is a review to claim (status "pending"), or one in which it is your turn (my_turn).
    pub wait: Option<bool>,
    /// The seq of your last response: only a newer event ends the wait.
    pub since: Option<u64>,
    /// Seconds to wait, 1 to {wait_max}. Default {wait_default}.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Your own id.
    pub caller_id: Option<String>,
}

/// The order of a list of reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListedOrder {
    Newest,
    Priority,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewsResponse {
    /// With status "pending" in queue order: critical, normal, low; oldest first. Otherwise newest first. With a
    /// caller_id also reviews in_review that have a free seat.
    pub reviews: Vec<ReviewRow>,
    /// The position in the broker's log. Pass it as `since` when you wait again.
    pub seq: u64,
    /// The number of reviews that match, on all pages. Absent with my_turn, and for a reviewer's list of what it may claim.
    pub total: Option<u64>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
    /// Only after a wait: whether it ended without news.
    pub timed_out: Option<bool>,
    /// Only for a reviewer that the broker is stopping: true, and no more reviews will come.
    pub draining: Option<bool>,
    /// What to do next.
    pub next: Option<Cow<'static, str>>,
}

/// One row of list_reviews.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRow {
    /// Equal to review_id.
    pub id: ReviewId,
    #[serde(flatten)]
    pub head: ReviewHead,
    /// The start of the intent.
    pub intent: String,
    #[serde(flatten)]
    pub proposer: Proposer,
    /// The branch that the proposal was taken from.
    pub branch: Option<String>,
    pub category: Option<Category>,
    pub priority: Priority,
    pub claimed_by: Option<String>,
    /// All free seats are reserved for this reviewer.
    pub reserved_for: Option<String>,
    /// Personas of the seats that can be claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_seats: Vec<String>,
    pub has_diff: bool,
    #[serde(flatten)]
    pub messages: MessageTotals,
    #[serde(flatten)]
    pub counter_patch: CounterPatchState,
    pub created_at: jiff::Timestamp,
    pub updated_at: jiff::Timestamp,
    /// Only with details=true.
    #[serde(flatten)]
    pub details: Option<RowDetails>,
}

/// What a row of list_reviews has beside its other fields with details=true.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RowDetails {
    pub seats: Vec<SeatState>,
    /// Counts of open issues.
    pub open_issues: OpenBySeverity,
    /// The base as the proposer named it, or else the start of the base commit. Absent without a diff.
    pub base: Option<String>,
    /// The number of files that the diff changes. Absent without a diff, like additions and deletions.
    pub files: Option<u64>,
    /// Added lines.
    pub additions: Option<u64>,
    /// Removed lines.
    pub deletions: Option<u64>,
    /// Cost of the verdicts so far. Absent if no reviewer has reported one.
    pub cost_usd: Option<f64>,
    /// A person should look at the review.
    pub escalate: bool,
    pub escalate_why: Option<Escalation>,
    /// From this round on, a request for changes also escalates to a person.
    pub max_rounds: u32,
    /// The last verdict on this content.
    pub verdict: Option<Verdict>,
}

impl RowDetails {
    /// `size`: the size of the diff; `open_issues`: the number of open issues by severity.
    pub fn new(review: &Review, size: DiffSize, open_issues: &[(Severity, u64)]) -> Self {
        let open = |severity| {
            let counts = open_issues.iter().filter(|(one, _)| *one == severity);
            counts.map(|(_, count)| usize::try_from(*count).unwrap_or(usize::MAX)).sum()
        };
        let has_diff = review.round.diff.is_some();
        let target = review.round.target.as_deref();
        let base_commit = review.base_commit().or(target.and_then(|target| target.base.as_deref()));
        let base = target.and_then(|target| target.requested.base_name.clone());
        Self {
            seats: review.seats.iter().map(SeatState::from).collect(),
            open_issues: OpenBySeverity {
                critical: open(Severity::Critical),
                high: open(Severity::High),
                medium: open(Severity::Medium),
                low: open(Severity::Low),
            },
            base: base.or_else(|| base_commit.map(short_commit).map(str::to_owned)).filter(|_| has_diff),
            files: has_diff.then_some(size.files),
            additions: has_diff.then_some(size.additions),
            deletions: has_diff.then_some(size.deletions),
            cost_usd: (review.cost_micro_usd > 0).then(|| dollars(review.cost_micro_usd)),
            escalate: review.escalation().is_some(),
            escalate_why: review.escalation(),
            max_rounds: review.policy.max_rounds,
            verdict: review.decision.as_ref().map(|decision| decision.verdict),
        }
    }
}

/// The number of files and lines that a diff changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffSize {
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
}

impl ReviewRow {
    /// `claimant` can claim the free seats that are listed; `caller` has unread messages.
    pub fn new(review: &Review, claimant: Option<&str>, caller: Option<&str>) -> Self {
        Self {
            id: review.id,
            head: review.into(),
            intent: truncate(&review.round.intent, INTENT_CHARS).to_owned(),
            proposer: review.proposer.clone(),
            branch: review.branch.clone(),
            category: review.category,
            priority: review.priority,
            claimed_by: review.claimed_by().map(str::to_owned),
            reserved_for: review.reserved_for().map(str::to_owned),
            free_seats: review.claimable_by(claimant),
            has_diff: review.round.diff.is_some(),
            messages: MessageTotals::new(review, caller),
            counter_patch: review.into(),
            created_at: review.created_at.into(),
            updated_at: review.updated_at.into(),
            details: None,
        }
    }
}

/// Arguments of count_reviews: the filters of list_reviews, except for the status.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CountReviewsRequest {
    /// Only reviews of this branch.
    pub branch: Option<String>,
    /// Only reviews that this name proposed or holds a seat of.
    pub participant: Option<String>,
    /// Only reviews that this name proposed.
    pub proposer: Option<String>,
    /// Only reviews with a seat of this persona.
    pub persona: Option<String>,
    /// Only reviews whose intent contains this text, in any case, or whose number it is (R-12 or 12).
    pub q: Option<String>,
    /// Only this kind of proposal.
    pub category: Option<Category>,
    /// Only this project. Not allowed with projects.
    pub project: Option<String>,
    /// Only these projects. Not allowed with project.
    pub projects: Option<Vec<String>>,
    /// The role you act in. "operator" also counts reviews that wait for an operator in my_turn. Default: the role of your
    /// token, else proposer and reviewer.
    pub role: Option<Authority>,
    /// Your own id. With it, or with a token, the response has my_turn.
    pub caller_id: Option<String>,
}

/// The highest number in my_turn. It stands for this many or more.
pub const MAX_COUNTED_TURNS: usize = 1_000;

/// Response of count_reviews.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CountReviewsResponse {
    pub by_status: StatusCounts,
    /// Reviews that wait for an operator.
    pub escalated: u64,
    /// Reviews in which it is your turn; 1000 stands for 1000 or more. Absent if the broker does not know who you are.
    pub my_turn: Option<u64>,
}

/// The number of reviews in each status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCounts {
    pub pending: u64,
    pub claimed: u64,
    pub in_review: u64,
    pub changes_requested: u64,
    pub approved: u64,
    pub rejected: u64,
    pub cancelled: u64,
    pub closed: u64,
}
