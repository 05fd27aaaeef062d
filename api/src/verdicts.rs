//! Request and response for submitting a verdict with its issues and suggestions.

use crate::{
    consensus::Consensus,
    issues::Issue,
    next_step::next_step,
    reviews::{ReviewHead, SeatState, has_counter_patch},
};
use domain::{
    consensus::Escalation,
    content::ContentHash,
    finding::{FindingNumber, RawFinding},
    review::Review,
    verdict::{ReviewMetrics, Verdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerdictRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// "approved" signs this content. "changes_requested" asks for another round. "rejected" rejects the whole idea and
    /// ends the review. "comment" does not change the status.
    pub verdict: Verdict,
    /// Why, and what to change. Required for every verdict except "approved".
    pub reason: Option<String>,
    /// A better diff against the same base, only with "changes_requested" or "comment". The proposer accepts or rejects
    /// it.
    pub counter_patch: Option<String>,
    /// The claim_generation from claim_review. It proves that the claim is still yours.
    pub claim_generation: Option<u32>,
    /// The name you claimed with. Required without claim_generation.
    pub reviewer_id: Option<String>,
    /// The content_hash of what you read. The verdict is refused if the content has changed.
    pub content_hash: Option<String>,
    /// The review in one or two sentences.
    pub summary: Option<String>,
    /// Problems, each with its location. The broker checks the location and tracks the issue until it is resolved. An
    /// open critical issue blocks approval if the policy says so.
    pub issues: Option<Vec<RawFinding>>,
    /// Improvements that never block: objects with the fields of an issue, or plain strings.
    pub suggestions: Option<Vec<RawFinding>>,
    /// Effort of the review, as far as you know it.
    pub metrics: Option<ReviewMetrics>,
}

impl VerdictRequest {
    /// A verdict without any texts.
    pub fn new(review_id: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            review_id: review_id.into(),
            verdict,
            reason: None,
            counter_patch: None,
            claim_generation: None,
            reviewer_id: None,
            content_hash: None,
            summary: None,
            issues: None,
            suggestions: None,
            metrics: None,
        }
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerdictResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    /// Your verdict as recorded.
    pub verdict: Verdict,
    pub consensus: Consensus,
    /// The issues that your seat raised in this round, as the broker recorded them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    pub seats: Vec<SeatState>,
    pub content_hash: ContentHash,
    pub approved_hash: Option<ContentHash>,
    /// A person should look at the review.
    pub escalate: bool,
    pub escalate_why: Option<Escalation>,
    pub has_counter_patch: bool,
    /// What to do next.
    pub next: Cow<'static, str>,
}

impl VerdictResponse {
    /// `raised`: the findings that the seat has raised in this round.
    pub fn new(review: &Review, verdict: Verdict, raised: &[FindingNumber]) -> Self {
        let raised = raised.iter().filter_map(|number| review.finding(*number));
        Self {
            head: review.into(),
            verdict,
            consensus: review.into(),
            issues: Issue::most_severe(review, raised),
            seats: review.seats.iter().map(SeatState::from).collect(),
            content_hash: review.round.content_hash.clone(),
            approved_hash: review.approved_hash.clone(),
            escalate: review.escalated.is_some(),
            escalate_why: review.escalated,
            has_counter_patch: has_counter_patch(review),
            next: next_step(review),
        }
    }
}
