//! The signed statement of a receipt: an in-toto Statement v1 about one commit (docs/receipts.md).

use std::collections::BTreeMap;

use domain::approvals::ReviewedContent;
use domain::consensus::RuleName;
use domain::content::{Content, ContentHash};
use domain::ids::{ReviewId, ReviewNumber};
use domain::verdict::Verdict;
use domain::vote_signature::VoteSignature;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Approval, GateError};

pub(crate) const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
pub(crate) const PREDICATE_TYPE: &str = "tag:countersign,2026:receipt/v1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The commit and its tree.
    pub subject: Vec<Subject>,
    pub predicate_type: String,
    pub predicate: Predicate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub name: String,
    /// `gitCommit` or `gitTree`.
    pub digest: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicate {
    pub signed_at: Timestamp,
    /// The commit that the approved change was applied to. Everything from there to the subject is the approved content.
    /// `None` for the first commit of a history.
    pub parent: Option<String>,
    /// Files in which the commit differs from what the review approved. They were exempt where the receipt was signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<String>,
    pub review: ApprovedReview,
}

/// A review that approved a change, as the database or a receipt describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedReview {
    pub id: ReviewId,
    pub number: ReviewNumber,
    pub project: Option<String>,
    pub proposer: String,
    pub rounds: u32,
    pub content_hash: ContentHash,
    pub patch_id: Option<String>,
    /// The commit that the diff was made against.
    pub base: Option<String>,
    /// The tree that the diff produces on its base.
    pub tree: Option<String>,
    pub policy: ApprovalPolicy,
    /// The vote of each seat on this content.
    pub votes: Vec<SeatVote>,
    /// Present if a vote has a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<SignedContent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalPolicy {
    pub rule: RuleName,
    pub seats: usize,
    /// How many approvals the review needed.
    pub needed: usize,
    /// Personas that had to approve.
    pub required: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatVote {
    pub persona: String,
    pub reviewer: String,
    pub verdict: Verdict,
    pub at: Timestamp,
    /// The person's own signature on the vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<VoteSignature>,
}

/// The content that a person has signed. Its hash is `contentHash`, and its diff leads to the tree of the commit: so a
/// signature on the hash proves the commit, whatever the broker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedContent {
    pub intent: String,
    pub description: Option<String>,
    pub diff: String,
    pub base: Option<String>,
}

impl SignedContent {
    pub(crate) fn hash(&self) -> ContentHash {
        let Self { intent, description, diff, base } = self.clone();
        Content { intent, description, diff: Some(diff), base_commit: base, ..Content::default() }.hash()
    }
}

impl ApprovedReview {
    /// The votes that approve.
    pub fn approvals(&self) -> impl Iterator<Item = &SeatVote> {
        self.votes.iter().filter(|vote| vote.verdict == Verdict::Approved)
    }
}

impl From<&ReviewedContent> for ApprovedReview {
    fn from(content: &ReviewedContent) -> Self {
        let policy = ApprovalPolicy {
            rule: content.rule,
            seats: content.seats,
            needed: content.needed,
            required: content.required.clone(),
        };
        let votes = content.votes.iter().map(|vote| SeatVote {
            persona: vote.persona.clone(),
            reviewer: vote.reviewer.clone(),
            verdict: vote.verdict,
            at: vote.at,
            signature: vote.signature.clone(),
        });
        let is_signed = content.votes.iter().any(|vote| vote.signature.is_some());
        let signed = content.diff.clone().filter(|_| is_signed).map(|diff| SignedContent {
            intent: content.intent.clone(),
            description: content.description.clone(),
            diff,
            base: content.base_commit.clone(),
        });
        Self {
            id: content.review_id,
            number: content.number,
            project: content.proposer.project.clone(),
            proposer: content.proposer.identity().to_owned(),
            rounds: content.round,
            content_hash: content.content_hash.clone(),
            patch_id: content.patch_id.clone(),
            base: content.base_commit.clone(),
            tree: content.tree_id.clone(),
            policy,
            votes: votes.collect(),
            content: signed,
        }
    }
}

impl Statement {
    /// The statement about an approved commit, or about the last of several that were approved together.
    pub(crate) fn new(approval: &Approval, signed_at: Timestamp) -> Result<Self, GateError> {
        let missing = || GateError::Receipt("a receipt needs a commit".to_owned());
        let commit = approval.change.commit.clone().ok_or_else(missing)?;
        let subject = |name: &str, digest: &str, id: String| Subject {
            name: name.to_owned(),
            digest: BTreeMap::from([(digest.to_owned(), id)]),
        };
        let tree = approval.change.tree.clone();
        Ok(Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![subject("commit", "gitCommit", commit), subject("tree", "gitTree", tree)],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Predicate {
                signed_at,
                parent: approval.change.parents.first().cloned(),
                exempt: approval.exempt.clone(),
                review: approval.review.clone(),
            },
        })
    }

    pub fn commit(&self) -> Option<&str> {
        self.digest("gitCommit")
    }

    pub fn tree(&self) -> Option<&str> {
        self.digest("gitTree")
    }

    /// The id of this kind. `None` if the statement has none, or several.
    fn digest(&self, kind: &str) -> Option<&str> {
        let mut found = self.subject.iter().filter_map(|subject| subject.digest.get(kind));
        found.next().filter(|_| found.next().is_none()).map(String::as_str)
    }

    /// Whether both say the same, apart from the time of the signature.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let mut other = other.clone();
        other.predicate.signed_at = self.predicate.signed_at;
        *self == other
    }
}
