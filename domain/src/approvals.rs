//! Types for what the gate reads about reviews: their active content, and whether it is approved.

use crate::{
    consensus::RuleName,
    content::ContentHash,
    diff::AffectedFile,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Proposer, Review, Status, TargetName},
    verdict::Verdict,
    vote_signature::VoteSignature,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A review with its active content, and whether that content is approved.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedContent {
    pub number: ReviewNumber,
    pub review_id: ReviewId,
    pub status: Status,
    pub priority: Priority,
    pub proposer: Proposer,
    pub intent: String,
    pub description: Option<String>,
    pub content_hash: ContentHash,
    /// The branch, commit or range that the diff was taken from.
    pub target: Option<TargetName>,
    pub base_commit: Option<String>,
    pub patch_id: Option<String>,
    /// The tree that results from applying the diff to its base.
    pub tree_id: Option<String>,
    pub diff: Option<String>,
    pub files: Vec<AffectedFile>,
    /// The active content is approved.
    pub approved: bool,
    /// An earlier content was approved.
    pub approved_before: bool,
    pub round: u32,
    /// How votes are counted.
    pub rule: RuleName,
    pub seats: usize,
    /// How many approvals are needed.
    pub needed: usize,
    /// Personas that must approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// The votes on this content, by seat.
    pub votes: Vec<ApprovalVote>,
    /// The reason of the latest verdict.
    pub reason: Option<String>,
    /// The commit in which the approved content landed, as the proposer said.
    pub landed_as: Option<String>,
}

/// The parts of a content that are stored apart from its review.
#[derive(Debug, Clone, Default)]
pub struct ContentTexts {
    pub description: Option<String>,
    pub diff: Option<String>,
    pub files: Vec<AffectedFile>,
}

impl ReviewedContent {
    pub fn new(
        review: Review,
        texts: ContentTexts,
        ever_approved: bool,
        seats: usize,
        votes: Vec<ApprovalVote>,
    ) -> Self {
        let approved = review.approved_hash.as_ref() == Some(&review.round.content_hash);
        Self {
            number: review.number,
            review_id: review.id,
            status: review.status,
            priority: review.priority,
            base_commit: review.base_commit().map(str::to_owned),
            patch_id: review.patch_id().map(str::to_owned),
            tree_id: review.tree_id().map(str::to_owned),
            reason: review.reason().map(str::to_owned),
            proposer: review.proposer,
            intent: review.round.intent,
            content_hash: review.round.content_hash,
            target: review.round.target.map(|target| target.requested),
            landed_as: review.landed_as,
            description: texts.description,
            diff: texts.diff,
            files: texts.files,
            approved,
            approved_before: ever_approved && !approved,
            round: review.round.number,
            rule: review.policy.rule.name(),
            seats,
            needed: review.policy.needed(seats),
            required: review.round.required.into_vec(),
            votes,
        }
    }
}

/// The vote that a seat has now.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalVote {
    pub persona: String,
    pub reviewer: String,
    pub verdict: Verdict,
    pub at: jiff::Timestamp,
    /// The person's signature on it.
    pub signature: Option<VoteSignature>,
}

/// The files that a review changes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewFiles {
    pub number: ReviewNumber,
    /// Its active content is approved.
    pub approved: bool,
    pub base: Option<String>,
    pub files: Vec<AffectedFile>,
}

/// Which reviews with a diff are listed. Every given field must fit, and of `patch_id` and `tree_id` one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub project: Option<String>,
    pub patch_id: Option<String>,
    pub tree_id: Option<String>,
    pub content_hash: Option<String>,
    /// Approved and not closed: they wait to land.
    pub open: bool,
    /// Only older reviews.
    pub before: Option<ReviewNumber>,
}
