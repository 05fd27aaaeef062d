//! The head of a review: everything but its content.

use super::{
    consensus::{Consensus, PolicyRow, dollars},
    excerpt,
    findings::Totals,
    moment, paged_excerpt,
    target::TargetRow,
};
use crate::mcp::schema;
use domain::{
    consensus::Escalation,
    content::ContentHash,
    ids::ReviewId,
    priority::Priority,
    review::{AppliesTo, Category, DiffCheck, Review, Seat, Status as ReviewStatus},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What git said of the active diff.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(in crate::mcp) struct DiffState<'a> {
    /// Whether the diff applies to its base; absent where there is no diff or nobody checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applies: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::applies_to")]
    pub applies_to: Option<AppliesTo>,
    /// Git's own words where it does not apply or could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_error: Option<String>,
    /// The proposer asked for no check of the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_validation_skipped: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<&'a str>,
    /// Git's stable patch-id of the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<&'a str>,
    /// The tree that base and diff make together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree_id: Option<&'a str>,
}

impl<'a> DiffState<'a> {
    pub(in crate::mcp) fn of(review: &'a Review) -> Self {
        let Some(facts) = &review.round.diff else {
            return Self::default();
        };
        let state =
            Self { base_commit: facts.base_commit.as_deref(), patch_id: facts.patch_id.as_deref(), ..Self::default() };
        match &facts.check {
            DiffCheck::Skipped => Self { diff_validation_skipped: Some(true), ..state },
            DiffCheck::Applies { to, tree_id } => {
                Self { applies: Some(true), applies_to: Some(*to), tree_id: tree_id.as_deref(), ..state }
            }
            DiffCheck::Fails { words } => {
                Self { applies: Some(false), validation_error: Some(excerpt(words)), ..state }
            }
            DiffCheck::Unknown { why } => Self { validation_error: Some(excerpt(why)), ..state },
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct SeatRow<'a> {
    pub persona: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
    /// This seat's vote on the current content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
    /// Kept free for this reviewer, who was asked to look again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_for: Option<&'a str>,
    /// Why a reviewer gave up on it; it is free for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub could_not_review: Option<String>,
    pub has_counter_patch: bool,
}

impl<'a> SeatRow<'a> {
    pub(super) fn of(seat: &'a Seat) -> Self {
        let claim = seat.claim.as_ref();
        Self {
            persona: &seat.persona,
            claimed_by: claim.map(|claim| claim.by.as_str()),
            claim_generation: claim.map(|claim| claim.generation),
            claimed_at: claim.map(|claim| moment(claim.at)),
            verdict: seat.vote,
            reserved_for: seat.reservation.as_ref().map(|reservation| reservation.reviewer.as_str()),
            could_not_review: seat.gave_up.as_deref().map(excerpt),
            has_counter_patch: seat.patch.is_some(),
        }
    }
}

/// The answer of get_review_status, and of every call that changes no more than the head.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Status<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: ReviewStatus,
    /// Grows with every change; give it as `since` to wait for the next one.
    pub version: u64,
    pub current_round: u32,
    pub intent: &'a str,
    pub agent_type: &'a str,
    pub agent_role: &'a str,
    pub phase: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::category")]
    pub category: Option<Category>,
    #[schemars(schema_with = "schema::priority")]
    pub priority: Priority,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<&'a str>,
    pub claim_generation: u32,
    pub seats: Vec<SeatRow<'a>>,
    pub policy: PolicyRow,
    /// How the votes stand, and whose are missing.
    pub consensus: Consensus<'a>,
    /// The last verdict on the current content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_by: Option<&'a str>,
    #[schemars(with = "String")]
    pub content_hash: &'a ContentHash,
    /// The content an approval stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approved_hash: Option<&'a ContentHash>,
    pub has_diff: bool,
    #[serde(flatten)]
    pub diff: DiffState<'a>,
    /// The branch, commit or range the diff was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow<'a>>,
    /// The broker itself sent it back because the diff does not apply.
    pub auto_rejected: bool,
    /// A person should look.
    pub escalate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::escalation")]
    pub escalate_why: Option<Escalation>,
    /// How many issues there are, and what of them blocks; list_issues has them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Totals>,
    /// What its verdicts have cost so far, as far as they say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// A counter-patch waits for the proposer's answer.
    pub has_counter_patch: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    /// Only when waiting: whether the wait ended without news.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// What can be done now.
    pub next: &'static str,
}

impl<'a> Status<'a> {
    pub(in crate::mcp) fn of(review: &'a Review) -> Self {
        let proposer = &review.proposer;
        let decision = review.decision.as_ref();
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            status: review.status,
            version: review.version,
            current_round: review.round.number,
            intent: &review.round.intent,
            agent_type: &proposer.agent_type,
            agent_role: &proposer.agent_role,
            phase: &proposer.phase,
            plan: proposer.plan.as_deref(),
            task: proposer.task.as_deref(),
            project: proposer.project.as_deref(),
            proposer_id: proposer.proposer_id.as_deref(),
            category: review.category,
            priority: review.priority,
            claimed_by: review.claimed_by(),
            claim_generation: review.claim_generation,
            seats: review.seats.iter().map(SeatRow::of).collect(),
            policy: PolicyRow::of(review.policy),
            consensus: Consensus::of(review),
            verdict: decision.map(|decision| decision.verdict),
            verdict_reason: decision.and_then(|decision| decision.reason.as_deref()).map(paged_excerpt),
            verdict_by: decision.map(|decision| decision.by.as_str()),
            content_hash: &review.round.content_hash,
            approved_hash: review.approved_hash.as_ref(),
            has_diff: review.round.diff.is_some(),
            diff: DiffState::of(review),
            target: review.round.target.as_deref().map(TargetRow::brief),
            auto_rejected: review.auto_rejected(),
            escalate: review.escalated.is_some(),
            escalate_why: review.escalated,
            issues: Totals::of(review),
            cost_usd: (review.cost > 0).then(|| dollars(review.cost)),
            has_counter_patch: has_counter_patch(review),
            cancel_reason: review.cancel_reason.as_deref().map(excerpt),
            created_at: moment(review.created_at),
            updated_at: moment(review.updated_at),
            timed_out: None,
            next: next(review),
        }
    }
}

pub(super) fn has_counter_patch(review: &Review) -> bool {
    review.seats.iter().any(|seat| seat.patch.is_some())
}

/// One sentence for whoever asks, since the next call is what a model needs most.
pub(in crate::mcp) fn next(review: &Review) -> &'static str {
    let several = review.seats.len() > 1;
    match review.status {
        ReviewStatus::Pending if several && review.returned => {
            "Back in the queue: every seat is for another reviewer, who takes it with claim_review; the proposer can wait with get_review_status(wait=true) or revise."
        }
        ReviewStatus::Pending if several => {
            "In the queue: every seat is for another reviewer, who takes it with claim_review; the proposer can wait with get_review_status(wait=true)."
        }
        ReviewStatus::InReview if review.free_seats().next().is_some() => {
            "Being reviewed, and a seat is free: a reviewer that holds none can claim_review; who holds one reads with get_proposal and answers with submit_verdict; the proposer waits with get_review_status(wait=true)."
        }
        ReviewStatus::InReview => {
            "Being reviewed: who has not voted reads with get_proposal and answers with submit_verdict; the proposer waits with get_review_status(wait=true)."
        }
        ReviewStatus::ChangesRequested if several && !review.auto_rejected() => {
            "The proposer reads what each reviewer wants (iterations in get_proposal), then revises with create_review(review_id=...), or answers a counter-patch with accept_counter_patch or reject_counter_patch, or asks one of them with add_message(persona=...)."
        }
        ReviewStatus::Pending if review.returned => {
            "Back in the queue: a reviewer can claim_review; the proposer can wait with get_review_status(wait=true) or revise."
        }
        ReviewStatus::Pending => {
            "In the queue: a reviewer can claim_review; the proposer can wait with get_review_status(wait=true)."
        }
        ReviewStatus::Claimed => {
            "Being reviewed: the reviewer reads with get_proposal and answers with submit_verdict; the proposer waits with get_review_status(wait=true)."
        }
        ReviewStatus::ChangesRequested if has_counter_patch(review) => {
            "The proposer can accept_counter_patch or reject_counter_patch, revise with create_review(review_id=...), or ask with add_message."
        }
        ReviewStatus::ChangesRequested => {
            "The proposer reads verdict_reason, then revises with create_review(review_id=...) or asks with add_message."
        }
        ReviewStatus::Approved => "Approved: the proposer lands exactly this content, then calls close_review.",
        ReviewStatus::Rejected => "Rejected as a whole: the proposer calls close_review and takes another way.",
        ReviewStatus::Cancelled => "Cancelled: it can be closed with close_review; nothing else is left to do.",
        ReviewStatus::Closed => "Closed for good: make a new proposal with create_review.",
    }
}
