//! Finds the approval of a candidate: among the reviews with the same patch id, tree or files, or among the receipts.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::approvals::{ApprovalFilter, ReviewFiles, ReviewedContent};
use domain::diff::{self, AffectedFile, FileOperation, ZeroContext};
use domain::ids::ReviewNumber;
use git::GitError;

use crate::{Approval, ApprovedReview, Candidate, Difference, Gate, GateError};

/// How many of the newest reviews are compared by their file names. A patch id misses a review whose diff was made with
/// another number of context lines.
const MAX_RECENT_REVIEWS: usize = 300;
/// Most reviews that are compared because of their patch id or tree. More than one is rare.
const MAX_APPROVED: usize = 50;

/// Which approvals are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    All,
    /// Those of the same base and tree. Git is not needed for them.
    SameBaseAndTree,
}

/// The comparison of a review with a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Apart from exempt files.
    pub(crate) difference: Difference,
    /// The exempt files that differ.
    pub(crate) exempt: Vec<String>,
}

impl Gate {
    /// The newest review that approved this base and tree, or a receipt for this commit. Git is not needed for it.
    pub(crate) async fn find_approval_of_tree(&mut self, candidate: &Candidate) -> Result<Option<Approval>, GateError> {
        if self.source.is_receipts() {
            return self.find_receipt(candidate).await;
        }
        let filter = ApprovalFilter { tree_id: Some(candidate.tree.clone()), ..ApprovalFilter::default() };
        for listed in self.list_approvals(filter, MAX_APPROVED).await? {
            let review = self.find_review(listed.number).await?;
            let review = review.filter(|review| review.approved && review.diff.is_some());
            if let Some(review) = review.filter(|review| has_base_and_tree(review, candidate))
                && self.is_same_repository(&review, candidate).await?
            {
                let review = ApprovedReview::from(&review);
                return Ok(Some(Approval { review, change: candidate.clone(), commits: 1, exempt: Vec::new() }));
            }
        }
        Ok(None)
    }

    /// The newest review that approved exactly this candidate: first among those with the same base and tree.
    pub(crate) async fn find_approval(&mut self, candidate: &Candidate) -> Result<Option<Approval>, GateError> {
        if let Some(approval) = self.find_approval_of_tree(candidate).await? {
            return Ok(Some(approval));
        }
        if self.source.is_receipts() {
            return Ok(None);
        }
        for number in self.list_possible_approvals(candidate).await? {
            let review = self.find_review(number).await?;
            let Some(review) = review.filter(|review| review.approved) else { continue };
            if let Some(Comparison { difference: Difference::None, exempt }) = self.compare(&review, candidate).await? {
                let review = ApprovedReview::from(&review);
                return Ok(Some(Approval { review, change: candidate.clone(), commits: 1, exempt }));
            }
        }
        Ok(None)
    }

    /// The commits from which approved reviews led to this one.
    pub(crate) async fn list_approved_bases(&mut self, end: &Candidate) -> Result<Vec<String>, GateError> {
        if self.source.is_receipts() {
            let receipts = self.receipts_of(end.commit.as_deref().unwrap_or_default()).await?;
            let parents = receipts.into_iter().flatten().map(|receipt| receipt.statement.predicate.parent);
            return Ok(parents.flatten().collect());
        }
        let filter = ApprovalFilter { tree_id: Some(end.tree.clone()), ..ApprovalFilter::default() };
        let reviews = self.list_approvals(filter, MAX_APPROVED).await?;
        Ok(reviews.into_iter().filter(|review| review.approved).filter_map(|review| review.base).collect())
    }

    /// Whether an approved review changes the same files, so that it may be this candidate.
    pub(crate) async fn has_review_of_same_files(&mut self, candidate: &Candidate) -> Result<bool, GateError> {
        if self.source.is_receipts() {
            return Ok(true);
        }
        let paths = self.changes(candidate).await?;
        let reviews = self.recent_reviews().await?;
        Ok(reviews.iter().any(|review| review.approved && paths_of(&review.files) == paths.paths))
    }

    pub async fn find_review(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, GateError> {
        match self.source.reviews() {
            Some(reviews) => reviews.find(number).await,
            None => Ok(None),
        }
    }

    /// Reviews of this repository, if it is registered, otherwise of all.
    pub async fn list_approvals(
        &mut self,
        filter: ApprovalFilter,
        limit: usize,
    ) -> Result<Vec<ReviewFiles>, GateError> {
        let project = if let [project] = self.projects.as_slice() { Some(project.clone()) } else { None };
        match self.source.reviews() {
            Some(reviews) => reviews.list(&ApprovalFilter { project, ..filter }, limit).await,
            None => Ok(Vec::new()),
        }
    }

    /// Approved reviews with the same patch id, tree or files.
    async fn list_possible_approvals(&mut self, candidate: &Candidate) -> Result<Vec<ReviewNumber>, GateError> {
        let parent = candidate.parents.first().map(String::as_str);
        let patch_id = match self.git.patch_id_between(parent, &candidate.tree).await {
            Ok(id) => id,
            // The files are still compared.
            Err(GitError::TooLarge { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let filter = ApprovalFilter { patch_id, tree_id: Some(candidate.tree.clone()), ..ApprovalFilter::default() };
        let approved = self.list_approvals(filter, MAX_APPROVED).await?;
        let mut numbers: Vec<_> = approved.into_iter().map(|review| review.number).collect();
        let recent = self.recent_reviews().await?;
        let changes = self.changes(candidate).await?;
        let relevant = |paths: &BTreeSet<String>| -> BTreeSet<String> {
            paths.iter().filter(|path| !self.is_exempt(path)).cloned().collect()
        };
        let paths = relevant(&changes.paths);
        for review in recent.iter().filter(|review| review.approved) {
            if relevant(&paths_of(&review.files)) == paths && !numbers.contains(&review.number) {
                numbers.push(review.number);
            }
        }
        Ok(numbers)
    }

    pub(crate) async fn recent_reviews(&mut self) -> Result<Arc<[ReviewFiles]>, GateError> {
        if let Some(reviews) = &self.recent_reviews {
            return Ok(reviews.clone());
        }
        let reviews = self.list_approvals(ApprovalFilter::default(), MAX_RECENT_REVIEWS).await?;
        Ok(self.recent_reviews.insert(reviews.into()).clone())
    }

    /// How the content of a review differs from the candidate. `None` if the review belongs to another repository, or its
    /// base no longer exists.
    pub(crate) async fn compare(
        &self,
        review: &ReviewedContent,
        candidate: &Candidate,
    ) -> Result<Option<Comparison>, GateError> {
        let Some(diff) = &review.diff else { return Ok(None) };
        if !self.is_same_repository(review, candidate).await? {
            return Ok(None);
        }
        if has_base_and_tree(review, candidate) {
            return Ok(Some(Comparison { difference: Difference::None, exempt: Vec::new() }));
        }
        if is_without_place(diff, review.base_commit.as_deref(), candidate.parents.first().map(String::as_str)) {
            return Ok(Some(Comparison { difference: Difference::DoesNotApply, exempt: Vec::new() }));
        }
        let (difference, exempt) = match self.difference(diff, candidate).await? {
            Difference::Files(files) => {
                let (exempt, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| self.is_exempt(path));
                (if files.is_empty() { Difference::None } else { Difference::Files(files) }, exempt)
            }
            other @ (Difference::None | Difference::DoesNotApply) => (other, Vec::new()),
        };
        Ok(Some(Comparison { difference, exempt }))
    }

    /// Whether `diff` produces exactly this candidate. A diff of other files is not tried.
    pub(crate) async fn produces(&mut self, diff: &str, candidate: &Candidate) -> Result<bool, GateError> {
        let has_same_paths = self.changes(candidate).await?.paths == paths_of(&diff::summarize(diff).files);
        Ok(has_same_paths && self.difference(diff, candidate).await? == Difference::None)
    }

    async fn difference(&self, diff: &str, candidate: &Candidate) -> Result<Difference, GateError> {
        let parent = candidate.parents.first().map(String::as_str);
        match self.git.differing_files(parent, diff, &candidate.tree).await {
            Ok(files) if files.is_empty() => Ok(Difference::None),
            Ok(files) => Ok(Difference::Files(files)),
            Err(GitError::DoesNotApply { .. } | GitError::TooLarge { .. }) => Ok(Difference::DoesNotApply),
            Err(error) => Err(error.into()),
        }
    }

    /// A registered repository has the reviews of its projects. In a clone that is not registered, the base of the review
    /// must at least share the history of the candidate, and a review without a base the name of the folder.
    pub(crate) async fn is_same_repository(
        &self,
        review: &ReviewedContent,
        candidate: &Candidate,
    ) -> Result<bool, GateError> {
        if !self.projects.is_empty() {
            return Ok(review.proposer.project.as_ref().is_some_and(|project| self.projects.contains(project)));
        }
        let folder = self.repo.root().file_name().and_then(|name| name.to_str());
        match (&review.base_commit, candidate.parents.first()) {
            (Some(base), Some(parent)) => Ok(base == parent || self.git.are_related(base, parent).await?),
            (Some(_), None) => Ok(false),
            (None, parent) => Ok(parent.is_none()
                || review.proposer.project.is_none()
                || review.proposer.project.as_deref() == folder),
        }
    }
}

/// Whether only line numbers say where the diff applies, and they are those of another commit. Without context lines it
/// could be applied anywhere, after an approved change has moved the lines.
pub(crate) fn is_without_place(diff: &str, base: Option<&str>, parent: Option<&str>) -> bool {
    base != parent && diff::apply_parts(diff).iter().any(|part| part.zero_context == ZeroContext::Certain)
}

/// Whether the review led from the candidate's parent to its tree.
fn has_base_and_tree(review: &ReviewedContent, candidate: &Candidate) -> bool {
    let parent = candidate.parents.first().map(String::as_str);
    review.tree_id.as_deref() == Some(&candidate.tree) && review.base_commit.as_deref() == parent
}

/// The paths of a review's files, comparable with [`Changes::paths`].
pub(crate) fn paths_of(files: &[AffectedFile]) -> BTreeSet<String> {
    let paths = files.iter().flat_map(|file| {
        let old = match file.operation {
            FileOperation::Rename => file.old_path.clone(),
            FileOperation::Create
            | FileOperation::Modify
            | FileOperation::Delete
            | FileOperation::Copy
            | FileOperation::Mode => None,
        };
        [Some(file.path.clone()), old]
    });
    paths.flatten().collect()
}
