//! Decides, before `countersign land` makes the commit, whether the branch plus the approved diff gives exactly the tree
//! that was approved.

use domain::ids::ReviewNumber;
use domain::review::DiffCheck;
use git::{GitError, Walk};

use crate::approval_search::is_without_place;
use crate::{Approval, Candidate, Decision, Difference, Gate, GateError, Outcome, ReviewedContent};

/// How far back a landed change is looked for.
const MAX_COMMITS: usize = 300;

/// A review, and what landing it on a branch would do.
#[derive(Debug)]
pub struct Landing {
    pub review: ReviewedContent,
    pub outcome: LandingOutcome,
}

#[derive(Debug)]
pub enum LandingOutcome {
    /// It can land as this commit, which has no id yet.
    Ready(Candidate),
    /// The branch has this commit, which is the approved content.
    Landed(String),
    Refused(LandingRefusal),
}

#[derive(Debug)]
pub enum LandingRefusal {
    NotApproved,
    /// A plan or a report.
    NoDiff,
    OtherProject,
    /// Git's message.
    DoesNotApply(String),
    /// The branch has the change, but no single commit of it is the approved content.
    NoEffect,
    /// The gate would refuse the commit.
    Gate(Box<Decision>),
}

impl Gate {
    /// Reviews with this name: `R-12`, `12`, an id, or the start of an id. At most six.
    pub async fn find_reviews(&mut self, name: &str) -> Result<Vec<ReviewNumber>, GateError> {
        match self.source.reviews() {
            Some(reviews) => reviews.find_by_name(name).await,
            None => Ok(Vec::new()),
        }
    }

    /// Compares a review with the commit `tip` of a branch. `None` if there is no such review.
    pub async fn plan_landing(&mut self, number: ReviewNumber, tip: &str) -> Result<Option<Landing>, GateError> {
        let Some(review) = self.find_review(number).await? else { return Ok(None) };
        let outcome = self.decide_landing(&review, tip).await?;
        Ok(Some(Landing { review, outcome }))
    }

    async fn decide_landing(&mut self, review: &ReviewedContent, tip: &str) -> Result<LandingOutcome, GateError> {
        let refused = |refusal| Ok(LandingOutcome::Refused(refusal));
        if !review.approved {
            return refused(LandingRefusal::NotApproved);
        }
        let Some(diff) = review.diff.as_deref() else { return refused(LandingRefusal::NoDiff) };
        let tree = self.git.tree_of(Some(tip)).await?;
        let unchanged = Candidate { commit: None, subject: String::new(), parents: vec![tip.to_owned()], tree };
        if !self.is_same_repository(review, &unchanged).await? {
            return refused(LandingRefusal::OtherProject);
        }
        if let Some(landed) = self.find_landed(review, diff, tip).await? {
            return Ok(LandingOutcome::Landed(landed));
        }
        if is_without_place(diff, review.base_commit.as_deref(), Some(tip)) {
            let why = "it was made without context lines (-U0), so it counts only on the commit that it was made for";
            return refused(LandingRefusal::DoesNotApply(why.to_owned()));
        }
        let tree = match self.git.check(Some(tip), diff).await {
            Ok(DiffCheck::Applies { tree_id: Some(tree), .. }) => tree,
            Ok(DiffCheck::Fails { message }) => return refused(LandingRefusal::DoesNotApply(message)),
            Ok(DiffCheck::Applies { tree_id: None, .. } | DiffCheck::Skipped) => {
                return refused(LandingRefusal::DoesNotApply("git names no tree for it".to_owned()));
            }
            Ok(DiffCheck::Unknown { why }) => {
                return Err(GitError::Failed { task: "git apply".into(), message: why }.into());
            }
            Err(error) => return Err(error.into()),
        };
        if tree == unchanged.tree {
            return refused(LandingRefusal::NoEffect);
        }
        Ok(LandingOutcome::Ready(Candidate { tree, ..unchanged }))
    }

    /// Judges the commit that was made for a landing, before a branch has it, as every other place will.
    pub async fn check_landing(
        &mut self,
        landing: &Landing,
        commit: &str,
    ) -> Result<Result<Decision, LandingRefusal>, GateError> {
        let candidate = self.commit(commit).await?;
        let decision = self.decide(candidate.clone()).await?;
        // An exempt change passes too, but here it must be the approved content.
        let comparison = self.compare(&landing.review, &candidate).await?;
        let is_proven = comparison
            .is_some_and(|comparison| comparison.difference == Difference::None && comparison.exempt.is_empty());
        if !decision.passes() || !is_proven {
            return Ok(Err(LandingRefusal::Gate(Box::new(decision))));
        }
        let review = (&landing.review).into();
        let approval = Approval { review, change: candidate.clone(), commits: 1, exempt: Vec::new() };
        Ok(Ok(Decision { candidate, outcome: Outcome::Approved(Box::new(approval)) }))
    }

    /// The commit of `tip` that is the approved content, or the last of several that are it together. Reverted commits do
    /// not count.
    async fn find_landed(
        &mut self,
        review: &ReviewedContent,
        diff: &str,
        tip: &str,
    ) -> Result<Option<String>, GateError> {
        let base: Vec<String> = review.base_commit.clone().into_iter().collect();
        let base = self.git.known_commits(&base).await?;
        let tips = [tip.to_owned()];
        let mut commits = self.list(&tips, &base, Walk::Ancestors { max: MAX_COMMITS }).await?;
        let reverted = self.git.list_reverted(tip, &base).await?;
        commits.retain(|commit| commit.commit.as_ref().is_some_and(|id| !reverted.contains(id)));
        for candidate in commits.into_iter().rev() {
            let is_approved_tree = review.tree_id.as_ref() == Some(&candidate.tree);
            if is_approved_tree || (candidate.parents.len() < 2 && self.produces(diff, &candidate).await?) {
                return Ok(candidate.commit);
            }
        }
        Ok(None)
    }
}
