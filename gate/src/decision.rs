//! Decides whether a change that is about to land (the candidate: staged files or a commit) is an approved one, and names
//! the reviews whose content differs least from it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::diff::{self, AffectedFile, FileOperation};
use domain::glob::Globs;
use domain::ids::ReviewNumber;
use git::{GitError, GitSettings, Repository, UserRepo};
use store::read_only_database::{ReadOnlyStore, ReviewFiles, ReviewedContent};
use tempfile::TempDir;

use crate::{Candidate, GateError};

/// How many of the newest reviews are compared by their file names. A patch id misses a review whose diff was made with
/// another number of context lines.
const MAX_RECENT_REVIEWS: i64 = 300;
const MAX_NEAR_MISSES: usize = 3;

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

/// A review that changes some of the candidate's files.
#[derive(Debug, Clone)]
pub struct NearMiss {
    pub review: ReviewedContent,
    pub difference: Difference,
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

impl Decision {
    /// Whether the candidate may land.
    pub fn passes(&self) -> bool {
        matches!(self.outcome, Outcome::Approved(_) | Outcome::Exempt(_))
    }

    pub fn approval(&self) -> Option<&Approval> {
        if let Outcome::Approved(approval) = &self.outcome { Some(approval) } else { None }
    }
}

#[derive(Debug, Default)]
pub struct Policy {
    /// Files whose changes need no approval.
    pub exempt: Globs,
    pub git: GitSettings,
}

/// A repository and the database with the approvals, ready for decisions.
pub struct Gate {
    pub repo: UserRepo,
    /// `None` approves nothing: there is no database.
    pub(crate) store: Option<ReadOnlyStore>,
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
struct Changes {
    is_empty: bool,
    /// A renamed file counts with both names.
    paths: BTreeSet<String>,
}

impl Gate {
    pub async fn open(repo: &UserRepo, store: Option<ReadOnlyStore>, policy: Policy) -> Result<Self, GateError> {
        let scratch = tempfile::Builder::new().prefix("countersign-gate-").tempdir().map_err(GateError::Scratch)?;
        let git = Repository::open(repo.root(), scratch.path(), false, Arc::new(policy.git)).await?;
        Ok(Self {
            repo: repo.clone(),
            store,
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
            let review = self.find_review(number).await?;
            let Some(review) = review.filter(|review| review.approved) else { continue };
            if self.compare(&review, candidate).await? == Some(Difference::None) {
                return Ok(Some(Approval { review, commits: 1 }));
            }
        }
        Ok(None)
    }

    async fn find_review(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, GateError> {
        match &mut self.store {
            Some(store) => Ok(store.find_reviewed_content(number).await?),
            None => Ok(None),
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
        let mut numbers = match &mut self.store {
            Some(store) => store.list_approved(patch_id.as_deref(), &candidate.tree).await?,
            None => return Ok(Vec::new()),
        };
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

    async fn recent_reviews(&mut self) -> Result<Arc<[ReviewFiles]>, GateError> {
        if let Some(reviews) = &self.recent_reviews {
            return Ok(reviews.clone());
        }
        let reviews = match &mut self.store {
            Some(store) => store.list_review_files(MAX_RECENT_REVIEWS).await?,
            None => Vec::new(),
        };
        Ok(self.recent_reviews.insert(reviews.into()).clone())
    }

    /// How the content of a review differs from the candidate, apart from exempt files. `None` if the review belongs to
    /// another repository, or its base no longer exists.
    async fn compare(&self, review: &ReviewedContent, candidate: &Candidate) -> Result<Option<Difference>, GateError> {
        let Some(diff) = &review.diff else { return Ok(None) };
        if !self.is_same_repository(review, candidate).await? {
            return Ok(None);
        }
        let parent = candidate.parents.first().map(String::as_str);
        if review.tree_id() == Some(&candidate.tree) && review.base_commit() == parent {
            return Ok(Some(Difference::None));
        }
        let mut difference = self.difference(diff, candidate).await?;
        if let Difference::Files(files) = &mut difference {
            files.retain(|path| !self.exempt.matches(path));
            if files.is_empty() {
                difference = Difference::None;
            }
        }
        Ok(Some(difference))
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

    pub(crate) async fn add_near_misses(&mut self, decision: &mut Decision) -> Result<(), GateError> {
        if let Outcome::Unapproved(near_misses) = &mut decision.outcome {
            *near_misses = self.find_near_misses(&decision.candidate).await?;
        }
        Ok(())
    }

    async fn find_near_misses(&mut self, candidate: &Candidate) -> Result<Vec<NearMiss>, GateError> {
        let changes = self.changes(candidate).await?;
        let recent = self.recent_reviews().await?;
        let mut ranked: Vec<_> = recent
            .iter()
            .filter_map(|review| {
                let paths = paths_of(&review.files);
                let shared = paths.intersection(&changes.paths).count();
                let unshared = paths.union(&changes.paths).count() - shared;
                (shared > 0).then_some((unshared, Reverse(review.number.0), review.number))
            })
            .collect();
        ranked.sort_unstable();
        let mut near_misses = Vec::new();
        for (.., number) in ranked {
            let Some(review) = self.find_review(number).await? else { continue };
            let Some(difference) = self.compare(&review, candidate).await? else { continue };
            near_misses.push(NearMiss { review, difference });
            if near_misses.len() == MAX_NEAR_MISSES {
                break;
            }
        }
        near_misses.sort_by_key(|near_miss| near_miss.difference != Difference::None);
        Ok(near_misses)
    }

    /// Computed once per candidate.
    async fn changes(&mut self, candidate: &Candidate) -> Result<Arc<Changes>, GateError> {
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
fn paths_of(files: &[AffectedFile]) -> BTreeSet<String> {
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
