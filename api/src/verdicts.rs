//! Request and response types for submitting a verdict with its issues and suggestions.

pub use domain::verdict::VerdictRequest;

use crate::{
    consensus::Consensus,
    issues::Issue,
    next_step::next_step,
    reviews::{CounterPatchState, ReviewHead, SeatState},
};
use domain::{consensus::Escalation, content::ContentHash, finding::FindingNumber, review::Review, verdict::Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

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
    #[serde(flatten)]
    pub counter_patch: CounterPatchState,
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
            escalate: review.escalation().is_some(),
            escalate_why: review.escalation(),
            counter_patch: review.into(),
            next: next_step(review),
        }
    }
}
