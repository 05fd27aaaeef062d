//! Decides whether a change that is about to land (the candidate: staged files or a commit) is an approved one.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::approvals::ReviewFiles;
use domain::glob::Globs;
use git::{RepoLocation, Repository, UserRepo, Walk};
use tempfile::TempDir;

use crate::approval_search::Search;
use crate::near_misses::NearMiss;
use crate::policy::{Policy, RegisteredProject, Workflow, is_protected};
use crate::{ApprovalSource, ApprovedReview, Candidate, GateError};

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
    /// The merge may land, but it brings this commit, which is not approved.
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
    pub(crate) projects: Vec<String>,
    pub(crate) workflow: Option<Workflow>,
    /// By first parent and tree.
    changes: HashMap<(Option<String>, String), Arc<Changes>>,
    pub(crate) recent_reviews: Option<Arc<[ReviewFiles]>>,
    /// Declared last, so that it is removed after `git` is dropped.
    scratch: TempDir,
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
            scratch,
        })
    }

    /// A folder that only this user can read.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
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
        self.decide_by(candidate, Search::All).await
    }

    /// Decides with the approvals that this search finds.
    pub(crate) async fn decide_by(&mut self, candidate: Candidate, search: Search) -> Result<Decision, GateError> {
        if let Some(exemption) = self.find_exemption(&candidate).await? {
            return Ok(Decision { candidate, outcome: Outcome::Exempt(exemption) });
        }
        let approval = match search {
            Search::All => self.find_approval(&candidate).await?,
            Search::SameBaseAndTree => self.find_approval_of_tree(&candidate).await?,
        };
        let outcome = approval.map_or(Outcome::Unapproved(Vec::new()), |found| Outcome::Approved(Box::new(found)));
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
