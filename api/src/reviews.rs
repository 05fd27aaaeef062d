//! Request and response types for creating, revising, waiting for, closing and cancelling reviews.

pub use domain::content::{CreateReviewRequest, TargetRequest};

use crate::{
    consensus::{Consensus, Policy, dollars},
    diffs::{DiffState, Files},
    issues::IssueTotals,
    next_step::next_step,
    truncation::{excerpt, paged_excerpt},
};
use domain::{
    consensus::Escalation,
    content::{Content, ContentHash},
    credential::Authority,
    diff::AffectedFile,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Category, CounterPatch, PatchStatus, Proposer, Review, Role, Seat, Status},
    verdict::Verdict,
    waiting_on::{Turn, waiting_on},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

/// Commits listed in a response about something else.
const FEW_COMMITS: usize = 20;

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
pub struct ReviewStatusRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// Wait until the review changes, or it is your turn.
    pub wait: Option<bool>,
    /// The version of your last response: only a newer one ends the wait.
    pub since: Option<u64>,
    /// Seconds to wait, 1 to {wait_max}. Default {wait_default}.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Your own id, so that the broker knows when it is your turn.
    pub caller_id: Option<String>,
    /// With wait, the role you act in: "operator" also ends the wait when an operator must act. Default: the role of your
    /// token or endpoint, else proposer and reviewer.
    pub role: Option<Authority>,
    /// The review as it was after this event: its version in get_review_timeline. Default: as it is now.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
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
    pub(crate) fn new(review: &Review, caller: Option<&str>) -> Self {
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
    /// The commit in which it landed, if close_review named it.
    pub landed_as: Option<String>,
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
            landed_as: review.landed_as.clone(),
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
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The role you act in. Default "proposer", the only one that may close a review.
    pub closer_role: Option<Role>,
    /// Your own id, for the log [default: the name of your token, or else the proposer's].
    pub caller_id: Option<String>,
    /// The full id of the commit in which the approved change landed.
    pub landed_as: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CancelReviewRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// Why the review is no longer wanted. Its reviewers see it.
    pub reason: String,
    /// Your own id, for the log [default: the name of your token, or else the proposer's].
    pub caller_id: Option<String>,
}

/// Arguments of accept_counter_patch and reject_counter_patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CounterPatchRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The seat whose counter-patch is meant, if several offered one.
    pub persona: Option<String>,
    /// Your own id, for the log [default: the name of your token, or else the proposer's].
    pub caller_id: Option<String>,
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
