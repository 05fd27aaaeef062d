//! The verdicts that a reviewer can give, and the rules for what each must contain: a reason, findings, and the tokens and
//! money that the review cost.

use crate::finding::{BadFinding, NewFinding, RawFinding, validate_findings};
use crate::vote_signature::VoteSignature;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

crate::string_enum! {
    Verdict {
        Approved = "approved" | "approve",
        ChangesRequested = "changes_requested" | "request_changes",
        Comment = "comment",
        Rejected = "rejected" | "reject",
    }
}

impl Verdict {
    /// A comment is not a vote; the seat still owes one.
    pub const fn is_vote(self) -> bool {
        !matches!(self, Self::Comment)
    }

    pub const fn needs_reason(self) -> bool {
        !matches!(self, Self::Approved)
    }

    /// An approval with a counter-patch would be ambiguous: either of the two diffs could be meant.
    pub const fn may_offer_patch(self) -> bool {
        matches!(self, Self::ChangesRequested | Self::Comment)
    }
}

impl ReviewMetrics {
    /// The cost in millionths of a dollar, which can be added without rounding.
    pub fn cost_micro_usd(&self) -> u64 {
        self.cost_usd.map_or(0, |cost| (cost.clamp(0.0, 1e6) * 1e6).round() as u64)
    }
}

/// What a review cost, as reported by the reviewer.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewMetrics {
    pub files_reviewed: Option<u32>,
    pub lines_analyzed: Option<u32>,
    pub duration_ms: Option<u64>,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub model: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerdictRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// "rejected" ends the review: the whole idea is wrong. "comment" does not change the status.
    pub verdict: Verdict,
    /// Why, and what to change. Required for every verdict except "approved".
    pub reason: Option<String>,
    /// A better diff against the same base, only with "changes_requested" or "comment".
    pub counter_patch: Option<String>,
    /// From claim_review: proves that the claim is still yours.
    pub claim_generation: Option<u32>,
    /// The name you claimed with. Required without claim_generation.
    pub reviewer_id: Option<String>,
    /// The content_hash of what you read.
    pub content_hash: Option<String>,
    /// The review in one or two sentences.
    pub summary: Option<String>,
    /// Problems, each with its location. An open critical issue blocks approval if the policy says so.
    pub issues: Option<Vec<RawFinding>>,
    /// Improvements that never block, with the fields of an issue, or plain strings.
    pub suggestions: Option<Vec<RawFinding>>,
    /// Effort of the review, as far as you know it.
    pub metrics: Option<ReviewMetrics>,
    /// A person's SSH signature on this vote, as `countersign respond --sign` makes it.
    pub signature: Option<VoteSignature>,
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
            signature: None,
        }
    }
    /// Takes out the issues and suggestions, checked.
    pub fn take_findings(&mut self) -> Result<Vec<NewFinding>, BadFinding> {
        validate_findings(self.issues.take(), self.suggestions.take())
    }
}
