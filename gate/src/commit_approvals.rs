//! Verifies the commits of a range: which are approved, and which only claim to be.

use git::UserRepo;

use crate::{CommitRange, Decision, Gate, GateError, Outcome, Trailer, list_receipts};

#[derive(Debug)]
pub struct VerifiedCommit {
    pub decision: Decision,
    pub standing: Standing,
}

/// How a commit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The database or a signed receipt approves exactly this commit.
    Proven,
    /// There is nothing to approve.
    Clear,
    /// A receipt or a trailer says that this review approved the commit, and nothing proves it.
    Unproven {
        review: String,
    },
    None,
}

impl Standing {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Clear => "clear",
            Self::Unproven { .. } => "unproven",
            Self::None => "none",
        }
    }

    pub const fn passes(&self) -> bool {
        matches!(self, Self::Proven | Self::Clear)
    }
}

impl VerifiedCommit {
    /// The review that approved the commit, or that a receipt or trailer names.
    pub fn review(&self) -> Option<String> {
        match &self.standing {
            Standing::Proven => self.decision.approval().map(|approval| approval.review.number.to_string()),
            Standing::Unproven { review } => Some(review.clone()),
            Standing::Clear | Standing::None => None,
        }
    }
}

impl Gate {
    /// Verifies every commit of the range.
    pub async fn verify(&mut self, range: &CommitRange) -> Result<Vec<VerifiedCommit>, GateError> {
        let mut commits = Vec::new();
        for mut decision in self.decide_each(range).await? {
            let standing = match &decision.outcome {
                Outcome::Approved(_) => Standing::Proven,
                Outcome::Exempt(_) => Standing::Clear,
                Outcome::Unapproved(_) | Outcome::Refused(_) | Outcome::NotExamined(_) => {
                    self.find_claim(&decision).await?
                }
            };
            // Of many commits without an approval only some have near misses, but a fault of a receipt costs nothing.
            if self.source.is_receipts() {
                self.add_near_misses(&mut decision).await?;
            }
            commits.push(VerifiedCommit { decision, standing });
        }
        Ok(commits)
    }

    async fn find_claim(&self, decision: &Decision) -> Result<Standing, GateError> {
        let commit = decision.candidate.commit.as_deref().unwrap_or_default();
        if let Some(receipt) = list_receipts(&self.repo, commit).await?.into_iter().next() {
            let review = receipt.map(|receipt| receipt.statement.predicate.review.number.to_string());
            return Ok(Standing::Unproven { review: review.unwrap_or_default() });
        }
        let trailer = Trailer::list(&self.repo, commit).await?.into_iter().next();
        Ok(trailer.map_or(Standing::None, |trailer| Standing::Unproven { review: trailer.review }))
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
