//! Compares candidates with approved reviews.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::diff::{self, AffectedFile, Operation};
use domain::glob::Globs;
use domain::ids::ReviewNumber;
use git::{GitError, GitSettings, Repository, UserRepo};
use store::read_only::{ReviewFiles, ReviewedContent};
use tempfile::TempDir;

use crate::{Approvals, Candidate, GateError, NearMiss};

/// How many of the newest reviews are compared by their file names. A patch id misses a review whose diff was made with
/// another number of context lines.
const MAX_RECENT_REVIEWS: i64 = 300;

/// The decision about one candidate.
#[derive(Debug)]
pub struct Decision {
    pub candidate: Candidate,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    Approved(Box<Approval>),
    /// The candidate needs no approval.
    Exempt(Exemption),
    Unapproved(Vec<NearMiss>),
    /// The candidate was not examined. It may not land.
    NotExamined(SkipReason),
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
    pub review: ReviewedContent,
    /// How many commits the review approved together.
    pub commits: usize,
}

/// Why a candidate needs no approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exemption {
    NoChange,
    /// Git produces this tree from the two parents without conflicts.
    CleanMerge,
    /// The policy exempts all changed files.
    ExemptFiles,
}

impl Decision {
    /// Whether the candidate may land.
    pub fn passes(&self) -> bool {
        match self.outcome {
            Outcome::Approved(_) | Outcome::Exempt(_) => true,
            Outcome::Unapproved(_) | Outcome::NotExamined(_) => false,
        }
    }

    pub fn approval(&self) -> Option<&Approval> {
        match &self.outcome {
            Outcome::Approved(approval) => Some(approval),
            Outcome::Exempt(_) | Outcome::Unapproved(_) | Outcome::NotExamined(_) => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Policy {
    /// Files whose changes need no approval.
    pub exempt: Globs,
    pub git: GitSettings,
}

/// A repository and its approvals, ready for decisions.
pub struct Gate<A> {
    pub repo: UserRepo,
    pub approvals: A,
    git: Repository,
    exempt: Globs,
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

/// How the content of a review relates to a candidate.
pub(crate) enum Comparison {
    /// The two differ in these files. Exempt files are not listed.
    Differs(Vec<String>),
    DoesNotApply,
    /// The review belongs to another repository, or its base no longer exists.
    OtherRepository,
}

impl<A: Approvals> Gate<A> {
    pub async fn open(repo: &UserRepo, approvals: A, policy: Policy) -> Result<Self, GateError> {
        let scratch = tempfile::Builder::new().prefix("countersign-gate-").tempdir().map_err(GateError::Scratch)?;
        let git = Repository::open(repo.root(), scratch.path(), false, Arc::new(policy.git)).await?;
        Ok(Self {
            repo: repo.clone(),
            approvals,
            git,
            exempt: policy.exempt,
            changes: HashMap::new(),
            recent_reviews: None,
            _scratch: scratch,
        })
    }

    /// Decides about the staged changes, as a new commit and then as an amendment of the last one.
    pub async fn decide_staged(&mut self) -> Result<Decision, GateError> {
        let staged = Candidate::staged(&self.repo).await?;
        let amendment = staged.as_amendment(&self.repo).await?;
        let decision = self.decide(staged).await?;
        if let (Outcome::Unapproved(_), Some(candidate)) = (&decision.outcome, amendment)
            && let Some(approval) = self.find_approval(&candidate).await?
        {
            return Ok(Decision { candidate, outcome: Outcome::Approved(Box::new(approval)) });
        }
        Ok(decision)
    }

    pub async fn decide(&mut self, candidate: Candidate) -> Result<Decision, GateError> {
        let mut decision = self.decide_without_near_misses(candidate).await?;
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
        let is_exempt = !changes.paths.is_empty() && changes.paths.iter().all(|path| self.exempt.matches(path));
        Ok(is_exempt.then_some(Exemption::ExemptFiles))
    }

    /// The newest review that approved exactly this candidate.
    pub(crate) async fn find_approval(&mut self, candidate: &Candidate) -> Result<Option<Approval>, GateError> {
        for number in self.list_possible_approvals(candidate).await? {
            let review = self.approvals.find_reviewed_content(number).await?;
            let Some(review) = review.filter(|review| review.approved) else { continue };
            if let Comparison::Differs(files) = self.compare(&review, candidate).await?
                && files.is_empty()
            {
                return Ok(Some(Approval { review, commits: 1 }));
            }
        }
        Ok(None)
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
        let mut numbers = self.approvals.list_approved(patch_id.as_deref(), &candidate.tree).await?;
        let recent = self.recent_reviews().await?;
        let changes = self.changes(candidate).await?;
        let relevant = |paths: &BTreeSet<String>| -> BTreeSet<String> {
            paths.iter().filter(|path| !self.exempt.matches(path)).cloned().collect()
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
        let reviews: Arc<[ReviewFiles]> = self.approvals.list_review_files(MAX_RECENT_REVIEWS).await?.into();
        Ok(self.recent_reviews.insert(reviews).clone())
    }

    pub(crate) async fn compare(
        &self,
        review: &ReviewedContent,
        candidate: &Candidate,
    ) -> Result<Comparison, GateError> {
        let Some(diff) = &review.diff else { return Ok(Comparison::OtherRepository) };
        if !self.is_same_repository(review, candidate).await? {
            return Ok(Comparison::OtherRepository);
        }
        let parent = candidate.parents.first();
        if review.tree_id() == Some(&candidate.tree) && review.base_commit() == parent.map(String::as_str) {
            return Ok(Comparison::Differs(Vec::new()));
        }
        match self.git.differing_files(parent.map(String::as_str), diff, &candidate.tree).await {
            Ok(files) => Ok(Comparison::Differs(files.into_iter().filter(|path| !self.exempt.matches(path)).collect())),
            Err(GitError::DoesNotApply { .. } | GitError::TooLarge { .. }) => Ok(Comparison::DoesNotApply),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether `diff` produces exactly this candidate. A diff of other files is not tried.
    pub(crate) async fn produces(&mut self, diff: &str, candidate: &Candidate) -> Result<bool, GateError> {
        if self.changes(candidate).await?.paths != paths_of(&diff::summarize(diff).files) {
            return Ok(false);
        }
        let parent = candidate.parents.first().map(String::as_str);
        match self.git.differing_files(parent, diff, &candidate.tree).await {
            Ok(files) => Ok(files.is_empty()),
            Err(GitError::DoesNotApply { .. } | GitError::TooLarge { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A review belongs to this repository if its base is a commit here; project names prove nothing. A review without a
    /// base must at least have the project name of this repository, unless the candidate is a root commit.
    async fn is_same_repository(&self, review: &ReviewedContent, candidate: &Candidate) -> Result<bool, GateError> {
        let folder = self.repo.root().file_name().and_then(|name| name.to_str());
        match review.base_commit() {
            Some(base) => Ok(self.repo.has_commit(base).await?),
            None => Ok(candidate.parents.is_empty()
                || review.proposer.project.is_none()
                || review.proposer.project.as_deref() == folder),
        }
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
        let tree_before = match candidate.parents.first() {
            Some(parent) => self.repo.git(["rev-parse", "--verify", &format!("{parent}^{{tree}}")]).await?,
            None => self.repo.git(["hash-object", "-t", "tree", "--stdin"]).await?,
        };
        if tree_before == candidate.tree {
            return Ok(Changes { is_empty: true, paths: BTreeSet::new() });
        }
        // The configuration may hide changes of submodules, but a commit contains them.
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let args = options.into_iter().chain([tree_before.as_str(), &candidate.tree, "--"]);
        let output = self.repo.git_with_input(args, &[]).await?;
        let names = output.stdout().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Ok(Changes { is_empty: false, paths })
    }
}

/// The paths of a review's files, comparable with [`Changes::paths`].
pub(crate) fn paths_of(files: &[AffectedFile]) -> BTreeSet<String> {
    let paths = files.iter().flat_map(|file| {
        let old = match file.operation {
            Operation::Rename => file.old_path.clone(),
            Operation::Create | Operation::Modify | Operation::Delete | Operation::Copy | Operation::Mode => None,
        };
        [Some(file.path.clone()), old]
    });
    paths.flatten().collect()
}
