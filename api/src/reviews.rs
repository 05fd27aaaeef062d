//! Request and response types for creating, revising, listing, waiting for, closing and cancelling reviews.

pub use domain::content::{CreateReviewRequest, TargetRequest};

use crate::{
    consensus::{Consensus, Policy, dollars},
    diffs::{DiffState, Files},
    issues::{IssueTotals, OpenBySeverity},
    next_field::next_step,
    truncation::{excerpt, paged_excerpt},
};
use domain::{
    consensus::Escalation,
    content::{Content, ContentHash},
    credential::Authority,
    diff::AffectedFile,
    finding::Severity,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Category, CounterPatch, PatchStatus, Proposer, Review, Role, Seat, Status},
    text::{short_commit, truncate},
    verdict::Verdict,
    waiting_on::{Turn, waiting_on},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

/// Commits listed in a response about something else.
const FEW_COMMITS: usize = 20;

const INTENT_CHARS: usize = 160;

/// Files listed beside a pending counter-patch. get_proposal returns its diff.
const MAX_PATCH_FILES: usize = 20;

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CreateReviewResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    pub priority: Priority,
    /// The content that an approval will be bound to.
    pub content_hash: ContentHash,
    #[serde(flatten)]
    pub diff: DiffState,
    #[serde(flatten)]
    pub files: Files,
    /// The requested reviewers, one seat each.
    pub personas: Vec<String>,
    /// The panel rules of the broker's settings that chose these personas. Absent if you named the personas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panel_because: Vec<String>,
    pub policy: Policy,
    /// True if this is a new round of an existing review.
    pub revised: bool,
    /// A person should look at the review.
    pub escalate: bool,
    pub escalate_why: Option<Escalation>,
    /// What to do next.
    pub next: Cow<'static, str>,
}

impl CreateReviewResponse {
    pub fn new(review: &Review, content: &Content, revised: bool, panel_because: Vec<String>) -> Self {
        Self {
            head: review.into(),
            priority: review.priority,
            content_hash: review.round.content_hash.clone(),
            diff: DiffState::new(review, FEW_COMMITS),
            files: Files::from(content),
            personas: review.personas(),
            panel_because,
            policy: review.policy.into(),
            revised,
            escalate: review.escalation().is_some(),
            escalate_why: review.escalation(),
            next: next_step(review),
        }
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewsRequest {
    /// Only reviews with this status. Default: all. "pending" with caller_id: every review that you may claim.
    pub status: Option<Status>,
    /// Only reviews with one of these statuses, newest first. Not allowed with status.
    pub statuses: Option<Vec<Status>>,
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
    /// Wait until there is a review to claim (status "pending"), or one in which it is your turn (my_turn). Default
    /// false.
    pub wait: Option<bool>,
    /// The seq of your last response: only a newer event ends the wait. Default: any pending review ends it.
    pub since: Option<u64>,
    /// How long to wait, in seconds, from 1 to {wait_max}. Default {wait_default}.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Your reviewer_id. With status "pending" the list then holds what you may claim: without reviews reserved for
    /// another reviewer, but with reviews that others have started and that have a free seat for you (free_seats).
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListReviewsResponse {
    /// With status "pending" in queue order: critical, normal, low; oldest first. Otherwise newest first. With a
    /// caller_id also reviews in_review that have a free seat.
    pub reviews: Vec<ReviewRow>,
    /// The position in the broker's log. Pass it as `since` when you wait again.
    pub seq: u64,
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

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReviewStatusRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Wait until the review changes. Returns at once if it is your turn (waiting_on). Default false.
    pub wait: Option<bool>,
    /// The version of your last response: only a newer version ends the wait, so no change is missed.
    pub since: Option<u64>,
    /// How long to wait, in seconds, from 1 to {wait_max}. Default {wait_default}.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Your own id. With it the broker knows when it is your turn, and counts your unread messages.
    pub caller_id: Option<String>,
    /// With wait, the role you act in: "operator" also ends the wait when an operator must act. Default: the role of your
    /// token or endpoint, else proposer and reviewer.
    pub role: Option<Authority>,
}

/// How many messages a review has, and which are new to the caller.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MessageTotals {
    /// Messages of all rounds and seats. get_discussion returns them.
    pub message_count: u32,
    pub last_message_by: Option<String>,
    pub last_message_id: Option<u64>,
    /// Messages since you last wrote or decided in this review. Only with caller_id or a token.
    pub unread_messages: Option<u32>,
}

impl MessageTotals {
    fn new(review: &Review, caller: Option<&str>) -> Self {
        let messages = &review.messages;
        Self {
            message_count: messages.total,
            last_message_by: messages.last_by.clone(),
            last_message_id: messages.last_id,
            unread_messages: caller.and_then(|caller| review.unread(caller)),
        }
    }
}

/// The last counter-patch of the active round.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CounterPatchState {
    /// A counter-patch waits for the proposer's decision.
    pub has_counter_patch: bool,
    /// What became of the last counter-patch.
    pub counter_patch_status: Option<PatchStatus>,
    /// The files that a pending counter-patch changes.
    pub counter_patch_affected_files: Option<Vec<AffectedFile>>,
}

impl From<&Review> for CounterPatchState {
    fn from(review: &Review) -> Self {
        let pending = review.seats.iter().find_map(Seat::pending_patch);
        let offered = review.seats.iter().filter_map(|seat| seat.patch.as_ref());
        let last = pending.or_else(|| offered.max_by_key(|patch| patch.id));
        let files = |patch: &CounterPatch| patch.files.iter().take(MAX_PATCH_FILES).cloned().collect();
        Self {
            has_counter_patch: pending.is_some(),
            counter_patch_status: last.map(|patch| patch.status),
            counter_patch_affected_files: pending.map(files),
        }
    }
}

/// What every response about a review starts with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReviewHead {
    pub review_id: ReviewId,
    pub number: ReviewNumber,
    pub status: Status,
    /// Grows with every change. Pass it as `since` to get_review_status(wait=true).
    pub version: u64,
    pub current_round: u32,
    /// Who must act next, and why. Empty once the review is closed.
    pub waiting_on: Vec<Turn>,
}

impl From<&Review> for ReviewHead {
    fn from(review: &Review) -> Self {
        Self {
            review_id: review.id,
            number: review.number,
            status: review.status,
            version: review.version,
            current_round: review.round.number,
            waiting_on: waiting_on(review),
        }
    }
}

/// The state of a review, as get_review_status and get_proposal return it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReviewState {
    pub intent: String,
    #[serde(flatten)]
    pub proposer: Proposer,
    pub category: Option<Category>,
    pub priority: Priority,
    pub claimed_by: Option<String>,
    pub claim_generation: u32,
    pub seats: Vec<SeatState>,
    /// The last verdict on this content. Its reason is verdict_reason.
    pub verdict: Option<Verdict>,
    /// The content that is approved.
    pub approved_hash: Option<ContentHash>,
    #[serde(flatten)]
    pub diff: DiffState,
    /// The broker sent the review back because the diff does not apply.
    pub auto_rejected: bool,
    /// A person should look at the review.
    pub escalate: bool,
    /// Counts of issues, and which of them block approval. list_issues returns the issues.
    pub issues: Option<IssueTotals>,
    pub created_at: jiff::Timestamp,
    pub updated_at: jiff::Timestamp,
    /// What to do next.
    pub next: Cow<'static, str>,
}

impl From<&Review> for ReviewState {
    fn from(review: &Review) -> Self {
        Self {
            intent: review.round.intent.clone(),
            proposer: review.proposer.clone(),
            category: review.category,
            priority: review.priority,
            claimed_by: review.claimed_by().map(str::to_owned),
            claim_generation: review.claim_generation,
            seats: review.seats.iter().map(SeatState::from).collect(),
            verdict: review.decision.as_ref().map(|decision| decision.verdict),
            approved_hash: review.approved_hash.clone(),
            diff: DiffState::new(review, 0),
            auto_rejected: review.auto_rejected(),
            escalate: review.escalation().is_some(),
            issues: IssueTotals::of_review(review),
            created_at: review.created_at.into(),
            updated_at: review.updated_at.into(),
            next: next_step(review),
        }
    }
}

/// Response of get_review_status and of the operations that change a review without adding content.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReviewStatusResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    #[serde(flatten)]
    pub state: ReviewState,
    pub policy: Policy,
    /// Where the votes stand, and which are missing.
    pub consensus: Consensus,
    pub verdict_reason: Option<String>,
    pub verdict_by: Option<String>,
    pub content_hash: ContentHash,
    pub escalate_why: Option<Escalation>,
    /// Cost of the verdicts so far, as far as reviewers report it.
    pub cost_usd: Option<f64>,
    #[serde(flatten)]
    pub counter_patch: CounterPatchState,
    #[serde(flatten)]
    pub messages: MessageTotals,
    /// The commit that the branch of the target points at now. Absent without a branch, and if it is unknown. Only
    /// get_review_status returns it.
    pub branch_head: Option<String>,
    pub cancel_reason: Option<String>,
    /// Only after a wait: whether it ended without a change.
    pub timed_out: Option<bool>,
}

impl ReviewStatusResponse {
    /// `caller` has unread messages.
    pub fn new(review: &Review, caller: Option<&str>) -> Self {
        let decision = review.decision.as_ref();
        Self {
            head: review.into(),
            state: review.into(),
            policy: review.policy.into(),
            consensus: review.into(),
            verdict_reason: decision.and_then(|decision| decision.reason.as_deref()).map(paged_excerpt),
            verdict_by: decision.map(|decision| decision.by.clone()),
            content_hash: review.round.content_hash.clone(),
            escalate_why: review.escalation(),
            cost_usd: (review.cost_micro_usd > 0).then(|| dollars(review.cost_micro_usd)),
            counter_patch: review.into(),
            messages: MessageTotals::new(review, caller),
            branch_head: None,
            cancel_reason: review.cancel_reason.as_deref().map(excerpt),
            timed_out: None,
        }
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseReviewRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// The role you act in. Only "proposer" may close a review.
    pub closer_role: Option<Role>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CancelReviewRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Why the review is no longer wanted. Its reviewers see it.
    pub reason: String,
}

/// Arguments of accept_counter_patch and reject_counter_patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CounterPatchRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// The persona whose counter-patch is meant. Needed if several seats have offered one.
    pub persona: Option<String>,
}

/// One seat of a review.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SeatState {
    pub persona: String,
    pub claimed_by: Option<String>,
    pub claim_generation: Option<u32>,
    pub claimed_at: Option<jiff::Timestamp>,
    /// When the claim expires, unless its holder makes another call about the review. Absent while no vote is owed. Only
    /// get_review_status and list_reviews with details return it.
    pub lease_ends_at: Option<jiff::Timestamp>,
    /// This seat's vote on the current content.
    pub verdict: Option<Verdict>,
    /// The reviewer that this seat is reserved for, because it is asked to look again.
    pub reserved_for: Option<String>,
    /// Why a reviewer gave up on the seat. The seat is free for others.
    pub could_not_review: Option<String>,
    pub has_counter_patch: bool,
}

impl From<&Seat> for SeatState {
    fn from(seat: &Seat) -> Self {
        let claim = seat.claim.as_ref();
        Self {
            persona: seat.persona.clone(),
            claimed_by: claim.map(|claim| claim.by.clone()),
            claim_generation: claim.map(|claim| claim.generation),
            claimed_at: claim.map(|claim| claim.at.into()),
            lease_ends_at: None,
            verdict: seat.vote,
            reserved_for: seat.reserved_for().filter(|_| seat.is_free()).map(str::to_owned),
            could_not_review: seat.gave_up.as_deref().map(excerpt),
            has_counter_patch: seat.pending_patch().is_some(),
        }
    }
}
