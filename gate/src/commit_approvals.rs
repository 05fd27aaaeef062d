//! Verifies the commits of a range: which are approved according to the database, and according to their receipts.

use domain::approvals::ApprovalFilter;
use git::UserRepo;

use crate::{CommitRange, Decision, Gate, GateError, Outcome, Receipt};

#[derive(Debug)]
pub struct VerifiedCommit {
    pub decision: Decision,
    pub evidence: Evidence,
}

/// What is known about the approval of a commit.
#[derive(Debug)]
pub enum Evidence {
    /// The database has an approval of exactly this commit. `receipt_matches` is `None` if the commit has no receipt.
    Approval {
        receipt_matches: Option<bool>,
    },
    /// There is nothing to approve.
    NotNeeded,
    /// The receipt fits the commit, but this database does not have its content. Anyone can write a receipt.
    ReceiptOnly(Receipt),
    /// The receipt was written for another tree.
    ReceiptOfOtherTree(Receipt),
    /// The database has the content that the receipt names, and it is not approved for this commit.
    ReceiptOfOtherContent(Receipt),
    None,
}

impl Evidence {
    /// The evidence in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "proven",
            Self::NotNeeded => "clear",
            Self::ReceiptOnly(_) => "receipted",
            Self::ReceiptOfOtherTree(_) | Self::ReceiptOfOtherContent(_) => "mismatch",
            Self::None => "none",
        }
    }

    /// Whether the evidence suffices. A receipt alone does if there is no database or the caller trusts receipts.
    pub fn passes(&self, trust_receipts: bool) -> bool {
        match self {
            Self::Approval { .. } | Self::NotNeeded => true,
            Self::ReceiptOnly(_) => trust_receipts,
            Self::ReceiptOfOtherTree(_) | Self::ReceiptOfOtherContent(_) | Self::None => false,
        }
    }
}

impl VerifiedCommit {
    /// The review that the evidence names.
    pub fn review(&self) -> Option<String> {
        match &self.evidence {
            Evidence::Approval { .. } => self.decision.approval().map(|approval| approval.review.number.to_string()),
            Evidence::ReceiptOnly(receipt)
            | Evidence::ReceiptOfOtherTree(receipt)
            | Evidence::ReceiptOfOtherContent(receipt) => Some(receipt.review.clone()),
            Evidence::NotNeeded | Evidence::None => None,
        }
    }
}

impl Gate {
    /// Verifies every commit of the range.
    pub async fn verify(&mut self, range: &CommitRange) -> Result<Vec<VerifiedCommit>, GateError> {
        let mut commits = Vec::new();
        for decision in self.decide_each(range).await? {
            let evidence = self.find_evidence(&decision).await?;
            commits.push(VerifiedCommit { decision, evidence });
        }
        Ok(commits)
    }

    async fn find_evidence(&mut self, decision: &Decision) -> Result<Evidence, GateError> {
        let commit = decision.candidate.commit.as_deref().unwrap_or_default();
        let receipts = Receipt::list(&self.repo, commit).await?;
        let receipt = match &decision.outcome {
            Outcome::Approved(approval) => {
                let matches = receipts.iter().any(|receipt| receipt.content_hash == approval.review.content_hash.0);
                return Ok(Evidence::Approval { receipt_matches: (!receipts.is_empty()).then_some(matches) });
            }
            Outcome::Exempt(_) => return Ok(Evidence::NotNeeded),
            Outcome::Unapproved(_) | Outcome::Refused(_) | Outcome::NotExamined(_) => receipts.into_iter().next(),
        };
        let Some(receipt) = receipt else { return Ok(Evidence::None) };
        if receipt.tree != decision.candidate.tree {
            return Ok(Evidence::ReceiptOfOtherTree(receipt));
        }
        let content_hash = Some(receipt.content_hash.clone());
        let is_known = !self.list_approvals(ApprovalFilter { content_hash, ..Default::default() }, 1).await?.is_empty();
        Ok(if is_known { Evidence::ReceiptOfOtherContent(receipt) } else { Evidence::ReceiptOnly(receipt) })
    }
}

/// The range to verify if the caller names none: the commits of HEAD that its upstream does not have, otherwise those
/// that the main branch does not have.
pub async fn default_range(repo: &UserRepo) -> Result<String, GateError> {
    if let Some(upstream) = repo.resolve_commit("@{upstream}").await? {
        return Ok(format!("{upstream}..HEAD"));
    }
    let current = repo.try_git(["symbolic-ref", "--quiet", "HEAD"]).await?.text();
    for main in ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"] {
        if main != current && repo.resolve_commit(main).await?.is_some() {
            return Ok(format!("{main}..HEAD"));
        }
    }
    Ok("HEAD".to_owned())
}
