//! Holds what lands against what was approved.

use super::{
    landing::Landing,
    nearest::{Near, nearest},
};
use crate::{broker::DATABASE, config::Config};
use anyhow::Context as _;
use domain::{glob::Globs, ids::ReviewNumber};
use git::UserRepo;
use git::{GitError, GitSettings, Repository};
use std::{collections::BTreeSet, sync::Arc};
use store::read_only::{ReadOnlyStore, ReviewFiles, ReviewedContent};
use tempfile::TempDir;

/// How far back reviews are looked at file by file, for those whose diff was made with other context lines.
const RECENT: i64 = 300;

/// What a change was found to be.
#[derive(Debug)]
pub(in crate::cli) struct Judgement {
    pub landing: Landing,
    pub answer: Answer,
}

#[derive(Debug)]
pub(in crate::cli) enum Answer {
    Approved(Box<Approval>),
    Needless(Needless),
    Unapproved(Vec<Near>),
    Unseen(Unseen),
}

/// Why nobody looked: the answer is no without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Unseen {
    /// A commit before it is not approved.
    AfterNo,
    /// It is the last of more commits than are looked at.
    TooMany,
}

#[derive(Debug, Clone)]
pub(in crate::cli) struct Approval {
    pub case: ReviewedContent,
    /// How many commits the review approved as one.
    pub commits: usize,
}

/// Why nothing has to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Needless {
    /// It changes nothing.
    Empty,
    /// It is what git itself makes of its parents.
    Merge,
    /// It touches only what the settings exempt.
    Exempt,
}

impl Judgement {
    pub(in crate::cli) fn passes(&self) -> bool {
        match self.answer {
            Answer::Approved(_) | Answer::Needless(_) => true,
            Answer::Unapproved(_) | Answer::Unseen(_) => false,
        }
    }

    pub(in crate::cli) fn approval(&self) -> Option<&Approval> {
        match &self.answer {
            Answer::Approved(approval) => Some(approval),
            Answer::Needless(_) | Answer::Unapproved(_) | Answer::Unseen(_) => None,
        }
    }
}

/// The repository and the database, open for comparing.
pub(in crate::cli) struct Judge {
    pub repo: UserRepo,
    pub ledger: ReadOnlyStore,
    git: Repository,
    exempt: Globs,
    /// Read once: a range asks for every commit.
    touched: Option<Arc<[ReviewFiles]>>,
    /// Goes last: git works in it.
    _scratch: TempDir,
}

/// How a review's content relates to what lands.
pub(super) enum Relation {
    /// In these files, none that are exempt, the two differ.
    Differs(Vec<String>),
    DoesNotApply,
    /// The review is of another repository, or of a commit that is gone.
    Elsewhere,
}

impl Judge {
    pub(in crate::cli) async fn open(repo: &UserRepo, config: &Config) -> anyhow::Result<Self> {
        Self::with(repo, config, ReadOnlyStore::open(&config.server.data_dir.join(DATABASE)).await?).await
    }

    pub(in crate::cli) async fn with(repo: &UserRepo, config: &Config, ledger: ReadOnlyStore) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("countersign-gate-").tempdir()?;
        let settings = GitSettings {
            program: config.git.program.clone(),
            time_limit: config.git.time_limit,
            max_diff_bytes: config.limits.diff_bytes,
            concurrency: 1,
            ..GitSettings::default()
        };
        let git = Repository::open(repo.root(), scratch.path(), false, Arc::new(settings)).await?;
        let exempt = config.gate.exempt()?;
        Ok(Self { repo: repo.clone(), ledger, git, exempt, touched: None, _scratch: scratch })
    }

    /// What is staged: as a new commit or, where that is not approved, in the place of the last one.
    pub(in crate::cli) async fn judge_staged(&mut self) -> anyhow::Result<Judgement> {
        let staged = Landing::staged(&self.repo).await?;
        let amended = staged.amending(&self.repo).await?;
        let judged = self.judge(staged).await?;
        if let (Answer::Unapproved(_), Some(amended)) = (&judged.answer, amended)
            && let Some(approval) = self.find_approval(&amended).await?
        {
            return Ok(Judgement { landing: amended, answer: Answer::Approved(Box::new(approval)) });
        }
        Ok(judged)
    }

    pub(in crate::cli) async fn judge(&mut self, landing: Landing) -> anyhow::Result<Judgement> {
        let mut judged = self.judge_plainly(landing).await?;
        self.look_around(&mut judged).await?;
        Ok(judged)
    }

    /// Without what is nearest, which takes longer than the answer.
    pub(super) async fn judge_plainly(&mut self, landing: Landing) -> anyhow::Result<Judgement> {
        let answer = match self.needless(&landing).await? {
            Some(why) => Answer::Needless(why),
            None => match self.find_approval(&landing).await? {
                Some(approval) => Answer::Approved(Box::new(approval)),
                None => Answer::Unapproved(Vec::new()),
            },
        };
        Ok(Judgement { landing, answer })
    }

    pub(super) async fn look_around(&mut self, judged: &mut Judgement) -> anyhow::Result<()> {
        if let Answer::Unapproved(near) = &mut judged.answer {
            *near = nearest(self, &judged.landing).await?;
        }
        Ok(())
    }

    pub(super) async fn needless(&self, landing: &Landing) -> anyhow::Result<Option<Needless>> {
        if let [one, others @ ..] = landing.parents.as_slice()
            && !others.is_empty()
            && self.merged(one, others).await?.as_ref() == Some(&landing.tree)
        {
            return Ok(Some(Needless::Merge));
        }
        if self.tree_before(landing).await? == landing.tree {
            return Ok(Some(Needless::Empty));
        }
        let paths = self.paths(landing).await?;
        let is_exempt = !paths.is_empty() && paths.iter().all(|path| self.exempt.matches(path));
        Ok(is_exempt.then_some(Needless::Exempt))
    }

    /// The tree that git makes of two parents without anybody's help.
    async fn merged(&self, one: &str, others: &[String]) -> anyhow::Result<Option<String>> {
        let [other] = others else { return Ok(None) };
        Ok(self.git.merged_tree(one, other).await?)
    }

    /// The review that approved exactly this; the newest, where several did.
    pub(in crate::cli) async fn find_approval(&mut self, landing: &Landing) -> anyhow::Result<Option<Approval>> {
        for number in self.candidates(landing).await? {
            let Some(case) = self.ledger.find_reviewed_content(number).await?.filter(|case| case.approved) else {
                continue;
            };
            if let Relation::Differs(files) = self.relate(&case, landing).await?
                && files.is_empty()
            {
                return Ok(Some(Approval { case, commits: 1 }));
            }
        }
        Ok(None)
    }

    /// Approved reviews that may be of this change: by patch-id, by tree, and by the files they touch, since a patch-id
    /// depends on how many context lines a diff was made with.
    async fn candidates(&mut self, landing: &Landing) -> anyhow::Result<Vec<ReviewNumber>> {
        let parent = landing.parents.first().map(String::as_str);
        let patch_id = match self.git.patch_id_between(parent, &landing.tree).await {
            Ok(id) => id,
            // Then the files are all there is to go by.
            Err(GitError::TooLarge { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let mut found = self.ledger.list_approved(patch_id.as_deref(), &landing.tree).await?;
        let recent = self.touched().await?;
        let counts = |path: &String| !self.exempt.matches(path);
        let paths: BTreeSet<String> = self.paths(landing).await?.into_iter().filter(counts).collect();
        for touched in recent.iter().filter(|touched| touched.approved) {
            let same = paths_of(touched).into_iter().filter(counts).collect::<BTreeSet<_>>() == paths;
            if same && !found.contains(&touched.number) {
                found.push(touched.number);
            }
        }
        Ok(found)
    }

    pub(super) async fn touched(&mut self) -> anyhow::Result<Arc<[ReviewFiles]>> {
        if let Some(touched) = &self.touched {
            return Ok(touched.clone());
        }
        let touched: Arc<[ReviewFiles]> = self.ledger.list_review_files(RECENT).await?.into();
        Ok(self.touched.insert(touched).clone())
    }

    pub(super) async fn relate(&self, case: &ReviewedContent, landing: &Landing) -> anyhow::Result<Relation> {
        let Some(diff) = &case.diff else { return Ok(Relation::Elsewhere) };
        if !self.is_here(case, landing).await? {
            return Ok(Relation::Elsewhere);
        }
        let parent = landing.parents.first();
        if case.tree_id.as_ref() == Some(&landing.tree) && case.base.as_ref() == parent {
            return Ok(Relation::Differs(Vec::new()));
        }
        match self.git.differing_files(parent.map(String::as_str), diff, &landing.tree).await {
            Ok(files) => Ok(Relation::Differs(files.into_iter().filter(|path| !self.exempt.matches(path)).collect())),
            Err(GitError::DoesNotApply { .. } | GitError::TooLarge { .. }) => Ok(Relation::DoesNotApply),
            Err(error) => Err(error).context("cannot apply an approved diff"),
        }
    }

    /// Whether a diff makes exactly this commit. One that touches other files is not tried.
    pub(in crate::cli) async fn makes(&self, diff: &str, landing: &Landing) -> anyhow::Result<bool> {
        let touched = ReviewFiles {
            number: ReviewNumber(0),
            approved: false,
            base: None,
            files: domain::diff::summarize(diff).files,
        };
        if self.paths(landing).await?.into_iter().collect::<BTreeSet<_>>() != paths_of(&touched) {
            return Ok(false);
        }
        let parent = landing.parents.first().map(String::as_str);
        match self.git.differing_files(parent, diff, &landing.tree).await {
            Ok(files) => Ok(files.is_empty()),
            Err(GitError::DoesNotApply { .. } | GitError::TooLarge { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A review is of this repository if its base is a commit here: names of projects may be anything. Only where it
    /// has none, being the first of all, its project must at least be called like this.
    async fn is_here(&self, case: &ReviewedContent, landing: &Landing) -> anyhow::Result<bool> {
        let folder = self.repo.root().file_name().and_then(|name| name.to_str());
        match &case.base {
            Some(base) => Ok(self.repo.has_commit(base).await?),
            None => Ok(landing.parents.is_empty() || case.project.is_none() || case.project.as_deref() == folder),
        }
    }

    async fn tree_before(&self, landing: &Landing) -> Result<String, GitError> {
        match landing.parents.first() {
            Some(parent) => self.repo.git(["rev-parse", "--verify", &format!("{parent}^{{tree}}")]).await,
            None => self.repo.git(["hash-object", "-t", "tree", "--stdin"]).await,
        }
    }

    /// The files that differ from the first parent; a renamed one counts with both its names.
    pub(super) async fn paths(&self, landing: &Landing) -> anyhow::Result<Vec<String>> {
        let from = self.tree_before(landing).await?;
        // Settings may hide what a submodule is moved to; a commit takes it all the same.
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let args = options.into_iter().chain([from.as_str(), &landing.tree, "--"]);
        let output = self.repo.git_with_input(args, &[]).await?;
        let names = output.stdout().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }
}

/// What a review touches, as [`Judge::paths`] names it.
pub(super) fn paths_of(touched: &ReviewFiles) -> BTreeSet<String> {
    use domain::diff::Operation;
    let names = touched.files.iter().flat_map(|file| {
        let old = match file.operation {
            Operation::Rename => file.old_path.clone(),
            Operation::Create | Operation::Modify | Operation::Delete | Operation::Copy | Operation::Mode => None,
        };
        [Some(file.path.clone()), old]
    });
    names.flatten().collect()
}
