//! Decides whether a change that is about to land (the candidate: staged files or a commit) is an approved one.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::approvals::{ApprovalFilter, ReviewFiles, ReviewedContent};
use domain::diff::{self, AffectedFile, FileOperation};
use domain::glob::Globs;
use domain::ids::ReviewNumber;
use git::{GitError, RepoLocation, Repository, UserRepo, Walk};
use tempfile::TempDir;

use crate::near_misses::NearMiss;
use crate::policy::{Policy, RegisteredProject, Workflow, is_protected};
use crate::{ApprovalSource, ApprovedReview, Candidate, GateError};

/// How many of the newest reviews are compared by their file names. A patch id misses a review whose diff was made with
/// another number of context lines.
const MAX_RECENT_REVIEWS: usize = 300;
/// Most reviews that are compared because of their patch id or tree. More than one is rare.
const MAX_APPROVED: usize = 50;

/// The decision about one candidate.
#[derive(Debug)]
pub struct Decision {
    pub candidate: Candidate,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Approved(Box<Approval>),
    /// The candidate needs no approval.
    Exempt(Exemption),
    Unapproved(Vec<NearMiss>),
    /// It may not land, for a reason other than a missing approval of its own.
    Refused(RefusalReason),
    /// The candidate was not examined. It may not land.
    NotExamined(SkipReason),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalReason {
    /// A tree or a file, which no review can approve by itself.
    NotACommit,
    /// The ref for receipts may contain nothing else.
    NotReceipts,
    /// Receipts that the ref has would be lost.
    LosesReceipts,
    /// The merge itself is clean, but it brings this commit, which is not approved.
    MergesUnapproved(String),
    /// The commit landed only together with later ones, which complete it or take it back. By itself it may not become
    /// the end of a branch.
    InsideSeries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// An earlier commit of the range is not approved.
    EarlierUnapproved,
    /// The range has more commits than are examined at once.
    TooManyCommits,
}

#[derive(Debug, Clone)]
pub struct Approval {
    pub review: ApprovedReview,
    /// What the review approved: the candidate, or several commits joined, from the parent of the first to the last.
    pub change: Candidate,
    /// How many commits the review approved together.
    pub commits: usize,
    /// Exempt files in which the change differs from what the review approved.
    pub exempt: Vec<String>,
}

/// Why a candidate needs no approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exemption {
    NoChange,
    /// Git produces this tree from the two parents without conflicts.
    CleanMerge,
    /// The policy exempts all changed files.
    ExemptFiles,
    /// The project requires no approval at this point.
    NotRequired,
}

/// How the review's content differs from the candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The content is identical, but it is not approved.
    None,
    Files(Vec<String>),
    /// The review's diff does not apply to the candidate's parent.
    DoesNotApply,
}

/// The comparison of a review with a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Apart from exempt files.
    pub(crate) difference: Difference,
    /// The exempt files that differ.
    pub(crate) exempt: Vec<String>,
}

impl Decision {
    /// Whether the candidate may land.
    pub fn passes(&self) -> bool {
        matches!(self.outcome, Outcome::Approved(_) | Outcome::Exempt(_))
    }

    pub fn approval(&self) -> Option<&Approval> {
        if let Outcome::Approved(approval) = &self.outcome { Some(approval) } else { None }
    }
}

/// A repository and the source of approvals, ready for decisions.
pub struct Gate {
    pub repo: UserRepo,
    location: RepoLocation,
    pub(crate) source: ApprovalSource,
    pub git: Repository,
    exempt: Globs,
    /// The names of this repository among the broker's projects. Empty if it is not registered.
    projects: Vec<String>,
    pub(crate) workflow: Option<Workflow>,
    /// By first parent and tree.
    changes: HashMap<(Option<String>, String), Arc<Changes>>,
    recent_reviews: Option<Arc<[ReviewFiles]>>,
    /// Declared last, so that it is removed after `git` is dropped.
    _scratch: TempDir,
}

/// What a candidate changes in its first parent.
#[derive(Debug)]
pub(crate) struct Changes {
    is_empty: bool,
    /// A renamed file counts with both names.
    pub(crate) paths: BTreeSet<String>,
}

impl Gate {
    pub async fn open(
        location: &RepoLocation,
        source: impl Into<ApprovalSource>,
        policy: Policy,
    ) -> Result<Self, GateError> {
        let scratch = create_scratch(&policy.scratch)?;
        let git = Repository::open_at(location, scratch.path(), Arc::new(policy.git)).await?;
        let is_here = |project: &&RegisteredProject| project.objects == location.objects();
        let projects = match policy.project {
            Some(project) => vec![project],
            None => policy.projects.iter().filter(is_here).map(|project| project.name.clone()).collect(),
        };
        Ok(Self {
            repo: UserRepo::at(location.root().to_owned()),
            location: location.clone(),
            source: source.into(),
            git,
            exempt: policy.exempt,
            projects,
            workflow: policy.workflow,
            changes: HashMap::new(),
            recent_reviews: None,
            _scratch: scratch,
        })
    }

    /// What `git commit` would commit from this index; `None` is the index of the working tree.
    pub async fn staged(&self, index: Option<&Path>) -> Result<Candidate, GateError> {
        let mut parents: Vec<String> = self.git.resolve_base(None).await?.into_iter().collect();
        if let Ok(heads) = fs::read_to_string(self.location.git_dir().join("MERGE_HEAD")) {
            parents.extend(heads.lines().map(str::to_owned));
        }
        let index = index.map_or_else(|| self.location.git_dir().join("index"), Path::to_owned);
        let tree = self.git.staged_tree(&index).await.map_err(GateError::Staged)?;
        Ok(Candidate { commit: None, subject: String::new(), parents, tree })
    }

    /// This tree as an amendment of the last commit. Git does not tell its hooks that a commit is amended.
    pub async fn as_amendment(&self, staged: &Candidate) -> Result<Option<Candidate>, GateError> {
        let [head] = staged.parents.as_slice() else { return Ok(None) };
        let last = self.list(std::slice::from_ref(head), &[], Walk::TipsOnly).await?;
        Ok(last.into_iter().next().map(|last| Candidate { parents: last.parents, ..staged.clone() }))
    }

    /// The commit that a name stands for.
    pub async fn commit(&self, name: &str) -> Result<Candidate, GateError> {
        let unknown = || GateError::UnknownCommit(name.to_owned());
        let id = self.git.resolve_commit(name).await?.ok_or_else(unknown)?;
        self.list(&[id], &[], Walk::TipsOnly).await?.into_iter().next().ok_or_else(unknown)
    }

    /// The content of a file in the HEAD commit.
    pub async fn read_at_head(&self, path: &str) -> Result<Option<Vec<u8>>, GateError> {
        match self.git.resolve_base(None).await? {
            Some(head) => Ok(self.git.read_committed_file(&head, path).await?),
            None => Ok(None),
        }
    }

    pub(crate) async fn list(
        &self,
        tips: &[String],
        excluded: &[String],
        walk: Walk,
    ) -> Result<Vec<Candidate>, GateError> {
        let commits = self.git.list_commits(tips, excluded, walk).await?;
        Ok(commits.into_iter().map(Candidate::from).collect())
    }

    /// Decides about the staged changes, as a new commit and then as an amendment of the last one.
    pub async fn decide_staged(&mut self, index: Option<&Path>) -> Result<Decision, GateError> {
        let staged = self.staged(index).await?;
        let amendment = self.as_amendment(&staged).await?;
        let decision = self.decide(staged).await?;
        if let (Outcome::Unapproved(_), Some(candidate)) = (&decision.outcome, amendment)
            && let Some(approval) = self.find_approval(&candidate).await?
        {
            return Ok(Decision { candidate, outcome: Outcome::Approved(Box::new(approval)) });
        }
        Ok(decision)
    }

    /// Decides about one candidate by itself. A merge also needs approvals for the commits that it brings.
    pub async fn decide(&mut self, candidate: Candidate) -> Result<Decision, GateError> {
        let mut decision = self.decide_without_near_misses(candidate).await?;
        if decision.passes()
            && let [first, merged @ ..] = decision.candidate.parents.as_slice()
            && !merged.is_empty()
        {
            let (merged, first) = (merged.to_vec(), first.clone());
            let brought = self.decide_commits(&merged, &[first]).await?;
            if let Some(refused) = brought.iter().find(|decision| !decision.passes()) {
                let id = refused.candidate.commit.clone().unwrap_or_default();
                decision.outcome = Outcome::Refused(RefusalReason::MergesUnapproved(id));
            }
        }
        self.add_near_misses(&mut decision).await?;
        Ok(decision)
    }

    /// Finding near misses takes longer than the decision.
    pub(crate) async fn decide_without_near_misses(&mut self, candidate: Candidate) -> Result<Decision, GateError> {
        let outcome = match self.find_exemption(&candidate).await? {
            Some(exemption) => Outcome::Exempt(exemption),
            None => match self.find_approval(&candidate).await? {
                Some(approval) => Outcome::Approved(Box::new(approval)),
                None => Outcome::Unapproved(Vec::new()),
            },
        };
        Ok(Decision { candidate, outcome })
    }

    pub(crate) async fn find_exemption(&mut self, candidate: &Candidate) -> Result<Option<Exemption>, GateError> {
        if let [one, other] = candidate.parents.as_slice()
            && self.git.merged_tree(one, other).await?.as_ref() == Some(&candidate.tree)
        {
            return Ok(Some(Exemption::CleanMerge));
        }
        let changes = self.changes(candidate).await?;
        if changes.is_empty {
            return Ok(Some(Exemption::NoChange));
        }
        let is_exempt = !changes.paths.is_empty() && changes.paths.iter().all(|path| self.is_exempt(path));
        Ok(is_exempt.then_some(Exemption::ExemptFiles))
    }

    /// Like [`Self::decide_without_near_misses`], with the approvals of the same base and tree only.
    pub(crate) async fn decide_by_tree(&mut self, candidate: Candidate) -> Result<Decision, GateError> {
        let outcome = match self.find_exemption(&candidate).await? {
            Some(exemption) => Outcome::Exempt(exemption),
            None => match self.find_approval_of_tree(&candidate).await? {
                Some(approval) => Outcome::Approved(Box::new(approval)),
                None => Outcome::Unapproved(Vec::new()),
            },
        };
        Ok(Decision { candidate, outcome })
    }

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

    /// Whether changes of this file need no approval.
    pub(crate) fn is_exempt(&self, path: &str) -> bool {
        self.exempt.matches(path) && !is_protected(path)
    }

    /// Whether the candidate changes a file that decides about the gate itself.
    pub(crate) async fn changes_protected_files(&mut self, candidate: &Candidate) -> Result<bool, GateError> {
        Ok(self.changes(candidate).await?.paths.iter().any(|path| is_protected(path)))
    }

    /// Computed once per candidate.
    pub(crate) async fn changes(&mut self, candidate: &Candidate) -> Result<Arc<Changes>, GateError> {
        let key = (candidate.parents.first().cloned(), candidate.tree.clone());
        if let Some(changes) = self.changes.get(&key) {
            return Ok(changes.clone());
        }
        let changes = Arc::new(self.compute_changes(candidate).await?);
        self.changes.insert(key, changes.clone());
        Ok(changes)
    }

    async fn compute_changes(&self, candidate: &Candidate) -> Result<Changes, GateError> {
        let tree_before = self.git.tree_of(candidate.parents.first().map(String::as_str)).await?;
        if tree_before == candidate.tree {
            return Ok(Changes { is_empty: true, paths: BTreeSet::new() });
        }
        let paths = self.git.changed_paths(&tree_before, &candidate.tree).await?;
        Ok(Changes { is_empty: false, paths: paths.into_iter().collect() })
    }
}

/// Whether the review led from the candidate's parent to its tree.
fn has_base_and_tree(review: &ReviewedContent, candidate: &Candidate) -> bool {
    let parent = candidate.parents.first().map(String::as_str);
    review.tree_id.as_deref() == Some(&candidate.tree) && review.base_commit.as_deref() == parent
}

/// A folder that only this user can read, in the first of the folders that allows it.
fn create_scratch(folders: &[PathBuf]) -> Result<TempDir, GateError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("countersign-gate-");
    let mut error = None;
    for folder in folders {
        match builder.tempdir_in(folder) {
            Ok(scratch) => return Ok(scratch),
            Err(failed) => error = Some(failed),
        }
    }
    match error {
        Some(error) => Err(GateError::Scratch(error)),
        None => builder.tempdir().map_err(GateError::Scratch),
    }
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
