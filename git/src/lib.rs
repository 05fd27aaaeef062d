//! The git check: does a diff apply, and to which tree does it lead?
//!
//! Answered in a scratch repository of the broker's own that borrows the project's objects. No
//! command that could run the project's filters, hooks or fsmonitor ever sees its config, and
//! what a check writes goes to a folder that is removed when the check ends, however it ends.

mod command;
mod discovery;
mod file_reader;
mod index_cache;
mod process;
mod scratch_repo;
mod targets;
mod tree_diff;
mod tree_match;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::diff::{ApplyPart, ZeroContext, apply_parts};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use file_reader::{FileSides, Stored};
pub use targets::Pinned;

use discovery::Project;
use process::{Git, Job, Output};
use scratch_repo::Scratch;

/// A repository as somebody who works in it sees it. Found by looking at files; git is not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRepo {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// The same for all working trees of a repository.
    pub objects: PathBuf,
}

impl ClientRepo {
    /// The repository that holds `dir`, if one does.
    pub fn find(dir: &Path) -> Option<Self> {
        let Project { root, objects, .. } = discovery::find(dir).ok()?;
        Some(Self { root, objects })
    }
}

/// One registered repository. Cheap to clone; the last clone removes the scratch folder.
#[derive(Debug, Clone)]
pub struct Repository(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    project: Project,
    scratch: Scratch,
    trusted: bool,
    settings: Arc<GitSettings>,
}

#[derive(Debug)]
pub struct GitSettings {
    /// A name is looked up in `PATH`.
    pub program: PathBuf,
    /// For one call of this module, all its git processes together.
    pub time_limit: Duration,
    pub max_diff_bytes: usize,
    /// How many git processes may run at once for all repositories that share these settings.
    pub concurrency: usize,
    pub permits: Permits,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            time_limit: Duration::from_secs(30),
            max_diff_bytes: 10 * 1024 * 1024,
            concurrency: 4,
            permits: Permits::default(),
        }
    }
}

/// The places for git processes; made on first use, from `concurrency`.
#[derive(Debug, Default)]
pub struct Permits(OnceLock<Arc<Semaphore>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    Applies {
        /// The tree after the change; `None` where only the working tree took the diff.
        tree_id: Option<String>,
        applies_to: AppliesTo,
    },
    Fails {
        /// What git said, at most a few kilobytes of it.
        words: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AppliesTo {
    Base,
    Worktree,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{} is not in a git repository", dir.display())]
    NotARepository { dir: PathBuf },
    /// No such commit here, or its objects are gone.
    #[error("no commit {base}: {words}")]
    UnknownBase { base: String, words: String },
    /// Not a name that is ever handed to git.
    #[error("bad base {base:?}: {why}")]
    BadBase { base: String, why: &'static str },
    /// A branch, commit or range that leads nowhere.
    #[error("bad target {target:?}: {why}")]
    BadTarget { target: String, why: String },
    /// Nothing is wrong with git; the diff and its base do not fit.
    #[error("the diff does not apply: {words}")]
    DoesNotApply { words: String },
    #[error("the diff has {bytes} bytes, the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("git took longer than {} ms", after.as_millis())]
    TimedOut { after: Duration },
    #[error("cannot run {}: not found", program.display())]
    Missing { program: PathBuf },
    /// The machine's fault, not the diff's: worth another try.
    #[error("{what} failed: {words}")]
    Failed { what: &'static str, words: String },
}

impl GitError {
    fn failed(what: &'static str, error: impl std::fmt::Display) -> Self {
        GitError::Failed { what, words: error.to_string() }
    }

    fn bad_target(target: &str, why: &str) -> Self {
        GitError::BadTarget { target: target.to_owned(), why: why.to_owned() }
    }
}

impl Repository {
    /// Finds the repository that holds `dir` and makes a scratch folder for it under `scratch_root`.
    ///
    /// Wipes what earlier runs left there, so one `scratch_root` serves one broker.
    pub async fn open(
        dir: &Path,
        scratch_root: &Path,
        trusted: bool,
        settings: Arc<GitSettings>,
    ) -> Result<Repository, GitError> {
        let found = discovery::find(dir)?;
        let scratch = Scratch::claim(scratch_root, &found.root)?;
        let mut job = Job::new(permit(&settings).await?, settings.clone());
        let git = Git::new("asking for the object format", &scratch).git_dir(&found.git_dir);
        let asked = job.run(git.args(["rev-parse", "--show-object-format"]), &[]).await?;
        let format = asked.line();
        if !asked.success || !matches!(format.as_str(), "sha1" | "sha256") {
            return Err(GitError::failed("opening the repository", asked.words()));
        }
        scratch.build(&found.objects, &format)?;
        let project = Project { format, ..found };
        Ok(Repository(Arc::new(Inner { project, scratch, trusted, settings })))
    }

    /// The top folder of the working tree, or the repository itself where it is bare.
    pub fn root(&self) -> &Path {
        &self.0.project.root
    }

    /// Whether these are its objects, in whichever of its working trees.
    pub fn is_of(&self, workplace: &ClientRepo) -> bool {
        self.0.project.objects == workplace.objects
    }

    /// The commit that `base` names now; `None` asks for HEAD.
    ///
    /// `Ok(None)` is the empty tree of a repository without commits, never an unknown name.
    pub async fn resolve_base(&self, base: Option<&str>) -> Result<Option<String>, GitError> {
        let name = base.unwrap_or("HEAD");
        discovery::check_name(name).map_err(|why| GitError::BadBase { base: name.to_owned(), why })?;
        let mut job = self.job().await?;
        let words = match self.find_commit(&mut job, name).await? {
            Ok(id) => return Ok(Some(id)),
            Err(words) => words,
        };
        if base.is_none() && self.is_unborn(&mut job).await? {
            return Ok(None);
        }
        Err(GitError::UnknownBase { base: name.to_owned(), words })
    }

    /// The commit that a checked name leads to, or what git says of it.
    async fn find_commit(&self, job: &mut Job, name: &str) -> Result<Result<String, String>, GitError> {
        let commit = format!("{name}^{{commit}}");
        let git = self.in_project("resolving the base").args(["rev-parse", "--verify", "--end-of-options", &commit]);
        let resolved = job.run(git, &[]).await?;
        let id = resolved.line();
        Ok(if resolved.success && self.0.project.is_id(&id) { Ok(id) } else { Err(resolved.words()) })
    }

    async fn is_unborn(&self, job: &mut Job) -> Result<bool, GitError> {
        let head = job.run(self.in_project("reading HEAD").args(["symbolic-ref", "--quiet", "HEAD"]), &[]).await?;
        let branch = head.line();
        if !head.success || branch.is_empty() {
            return Ok(false);
        }
        let git = self.in_project("reading HEAD").args(["show-ref", "--verify", "--quiet", "--", &branch]);
        Ok(!job.run(git, &[]).await?.success)
    }

    /// Whether `diff` applies to the commit `base`, a full id from [`Self::resolve_base`] or `None`
    /// for the empty tree.
    ///
    /// Dropping the future kills git and removes what it wrote.
    pub async fn check(&self, base: Option<&str>, diff: &str) -> Result<CheckOutcome, GitError> {
        self.check_size(diff)?;
        self.check_id(base)?;
        let parts = apply_parts(diff);
        let mut job = self.furnished_job().await?;
        if let Some(base) = base {
            self.0.scratch.place_index(&mut job, base).await?;
        }
        for part in &parts {
            if let Some(words) = self.apply(&mut job, *part).await? {
                return self.check_worktree(&mut job, *part, diff, words).await;
            }
        }
        let tree_id = Some(self.write_tree(&mut job).await?);
        Ok(CheckOutcome::Applies { tree_id, applies_to: AppliesTo::Base })
    }

    /// Writes the files of `base`, with `diff` applied, into the empty folder `to`. A diff that does not apply is
    /// an error.
    ///
    /// As in a check, nothing of the project's config or filters runs; links come out as plain files that hold
    /// their target, so that nobody who reads the copy is led out of it.
    pub async fn check_out(&self, base: Option<&str>, diff: Option<&str>, to: &Path) -> Result<(), GitError> {
        let mut job = self.furnished_job().await?;
        self.fill_index(&mut job, base, diff).await?;
        let git = Git::new("copying the files", &self.0.scratch).work_tree(to);
        let copied =
            job.run(git.args(["-c", "core.symlinks=false", "checkout-index", "--all", "--force"]), &[]).await?;
        if copied.success { Ok(()) } else { Err(GitError::failed("copying the files", copied.words())) }
    }

    /// git's stable patch id, equal for diffs that differ only in line numbers and white space.
    ///
    /// `None` where there is not exactly one: no change in the text, or mails of several commits.
    pub async fn patch_id(&self, diff: &str) -> Result<Option<String>, GitError> {
        self.check_size(diff)?;
        let mut job = self.job().await?;
        let git = Git::new("computing the patch id", &self.0.scratch).args(["patch-id", "--stable"]);
        let answer = job.run(git, &stdin_of(diff)).await?;
        if !answer.success {
            return Err(GitError::failed("computing the patch id", answer.words()));
        }
        let printed = answer.line();
        let one = (printed.lines().count() == 1).then(|| printed.split(' ').next()).flatten();
        Ok(one.map(str::to_owned))
    }

    /// Applies to the private index; gives git's words where it refuses.
    async fn apply(&self, job: &mut Job, part: ApplyPart<'_>) -> Result<Option<String>, GitError> {
        let certain = part.zero_context == ZeroContext::Certain;
        let refused = self.apply_once(job, part, certain).await?;
        if refused.is_none() || part.zero_context != ZeroContext::Possible {
            return Ok(refused);
        }
        // a hunk that is not the whole file after all; git leaves an index alone when it refuses
        let refused_again = self.apply_once(job, part, true).await?;
        Ok(refused_again.and(refused))
    }

    async fn apply_once(&self, job: &mut Job, part: ApplyPart<'_>, zero: bool) -> Result<Option<String>, GitError> {
        let git = Git::new("applying the diff", &self.0.scratch).args(["apply", "--cached"]);
        refusal(&job.run(git.args(how_to_apply(part, zero)), &stdin_of(part.text)).await?)
    }

    async fn write_tree(&self, job: &mut Job) -> Result<String, GitError> {
        // borrowed objects may be missing (a partial clone), and the id does not depend on them
        let git = Git::new("writing the tree", &self.0.scratch).args(["write-tree", "--missing-ok"]);
        let written = job.run(git, &[]).await?;
        let id = written.line();
        if !written.success || !self.0.project.is_id(&id) {
            return Err(GitError::failed("writing the tree", written.words()));
        }
        Ok(id)
    }

    /// The second chance of a trusted project; `refused` is what git said of the base.
    ///
    /// Reads the working tree through the scratch repository, so that even here no filter runs.
    async fn check_worktree(
        &self,
        job: &mut Job,
        part: ApplyPart<'_>,
        diff: &str,
        refused: String,
    ) -> Result<CheckOutcome, GitError> {
        if self.0.trusted && !self.0.project.bare {
            let git = Git::new("checking the working tree", &self.0.scratch).work_tree(self.root());
            let git = git.args(["apply", "--check"]).args(how_to_apply(part, part.zero_context != ZeroContext::No));
            if refusal(&job.run(git, &stdin_of(diff)).await?)?.is_none() {
                return Ok(CheckOutcome::Applies { tree_id: None, applies_to: AppliesTo::Worktree });
            }
        }
        Ok(CheckOutcome::Fails { words: refused })
    }

    fn in_project(&self, what: &'static str) -> Git {
        Git::new(what, &self.0.scratch).git_dir(&self.0.project.git_dir)
    }

    async fn job(&self) -> Result<Job, GitError> {
        let permit = permit(&self.0.settings).await?;
        self.0.scratch.heal(&self.0.project)?;
        Ok(Job::new(permit, self.0.settings.clone()))
    }

    /// A job with an index and an object folder of its own.
    async fn furnished_job(&self) -> Result<Job, GitError> {
        let mut job = self.job().await?;
        self.0.scratch.furnish(&mut job, &self.0.project.objects)?;
        Ok(job)
    }

    /// Only an id is handed to git where a commit is meant; names are resolved once, and then pinned.
    fn check_id(&self, base: Option<&str>) -> Result<(), GitError> {
        match base {
            Some(base) if !self.0.project.is_id(base) => {
                Err(GitError::BadBase { base: base.to_owned(), why: "not a full commit id" })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_size(&self, diff: &str) -> Result<(), GitError> {
        let limit = self.0.settings.max_diff_bytes;
        if diff.len() > limit { Err(GitError::TooLarge { bytes: diff.len(), limit }) } else { Ok(()) }
    }
}

fn how_to_apply(part: ApplyPart<'_>, zero_context: bool) -> [&'static str; 4] {
    let strip = if part.strip == 0 { "-p0" } else { "-p1" };
    let context = if zero_context { "--unidiff-zero" } else { "--no-unidiff-zero" };
    ["--whitespace=nowarn", strip, context, "-"]
}

/// `None` when git took the whole diff.
fn refusal(output: &Output) -> Result<Option<String>, GitError> {
    let words = output.words();
    // git stops at a corrupt binary patch, keeps what came before it, and calls that a success
    if output.success && !output.complained() {
        return Ok(None);
    }
    // its word for trouble that is not the diff's
    if output.killed || words.lines().any(|line| line.starts_with("fatal: ")) {
        return Err(GitError::Failed { what: "git apply", words });
    }
    Ok(Some(words))
}

/// The diff and, where agents trimmed it, the newline without which git calls the last line
/// corrupt, and the empty line that ends a binary patch.
fn stdin_of(diff: &str) -> [&[u8]; 2] {
    let end: &[u8] = if diff.ends_with('\n') { b"" } else { b"\n\n" };
    [diff.as_bytes(), end]
}

async fn permit(settings: &GitSettings) -> Result<OwnedSemaphorePermit, GitError> {
    let places = settings.permits.0.get_or_init(|| Arc::new(Semaphore::new(settings.concurrency.max(1))));
    // Waiting behind other checks counts, too: the caller waits either way.
    let place = tokio::time::timeout(settings.time_limit, places.clone().acquire_owned()).await;
    let place = place.map_err(|_| GitError::TimedOut { after: settings.time_limit })?;
    place.map_err(|error| GitError::failed("waiting for git", error))
}

#[cfg(test)]
mod tests;
