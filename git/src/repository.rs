//! The git repository of a project: opens it, resolves commits, and starts sessions of git processes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::GitError;
use crate::discovery::{self, ClientRepo, RepoLayout};
use crate::process::GitCommand;
use crate::scratch_repo::ScratchRepo;
use crate::session::Session;

/// One registered repository. Cheap to clone; dropping the last clone removes the scratch folder.
#[derive(Debug, Clone)]
pub struct Repository(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) layout: RepoLayout,
    pub(crate) scratch: ScratchRepo,
    pub(crate) trusted: bool,
    pub(crate) settings: Arc<GitSettings>,
}

#[derive(Debug)]
pub struct GitSettings {
    /// A bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Limits one call to a [`Repository`], including all its git processes.
    pub time_limit: Duration,
    pub max_diff_bytes: usize,
    /// The maximum number of concurrent git processes of all repositories that share these settings.
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

/// Limits the number of git processes. Created on first use from [`GitSettings::concurrency`].
#[derive(Debug, Default)]
pub struct Permits(OnceLock<Arc<Semaphore>>);

impl Repository {
    /// Finds the repository that contains `dir` and creates a scratch folder for it under `scratch_root`.
    ///
    /// Removes what earlier processes left in `scratch_root`, so two brokers cannot share one.
    pub async fn open(
        dir: &Path,
        scratch_root: &Path,
        trusted: bool,
        settings: Arc<GitSettings>,
    ) -> Result<Repository, GitError> {
        let layout = discovery::find(dir)?;
        let scratch = ScratchRepo::claim(scratch_root, &layout.root)?;
        let mut session = Session::new(acquire_permit(&settings).await?, settings.clone());
        let git = scratch.command("reading the object format").git_dir(&layout.git_dir);
        let output = session.run(git.args(["rev-parse", "--show-object-format"]), &[]).await?;
        let format = output.text();
        if !output.success || !matches!(format.as_str(), "sha1" | "sha256") {
            return Err(GitError::failed("opening the repository", output.stderr()));
        }
        scratch.build(&layout.objects, &format)?;
        let layout = RepoLayout { format, ..layout };
        Ok(Repository(Arc::new(Inner { layout, scratch, trusted, settings })))
    }

    /// The top folder of the working tree, or the repository itself if it is bare.
    pub fn root(&self) -> &Path {
        &self.0.layout.root
    }

    /// Whether `client` is a working tree of this repository.
    pub fn is_same_repository(&self, client: &ClientRepo) -> bool {
        self.0.layout.objects == client.objects
    }

    /// Returns the id of the commit that `base` names now; `None` means HEAD.
    ///
    /// `Ok(None)` stands for the empty tree of a repository without commits. An unknown name is an error.
    pub async fn resolve_base(&self, base: Option<&str>) -> Result<Option<String>, GitError> {
        let name = base.unwrap_or("HEAD");
        discovery::check_name(name).map_err(|why| GitError::BadBase { base: name.to_owned(), why })?;
        let mut session = self.session().await?;
        let message = match self.find_commit(&mut session, name).await? {
            Ok(id) => return Ok(Some(id)),
            Err(message) => message,
        };
        if base.is_none() && self.is_unborn(&mut session).await? {
            return Ok(None);
        }
        Err(GitError::UnknownBase { base: name.to_owned(), message })
    }

    /// The id of the commit that a checked name resolves to, or git's error message.
    pub(crate) async fn find_commit(
        &self,
        session: &mut Session,
        name: &str,
    ) -> Result<Result<String, String>, GitError> {
        let commit = format!("{name}^{{commit}}");
        let git = self.registered("resolving the base").args(["rev-parse", "--verify", "--end-of-options", &commit]);
        let output = session.run(git, &[]).await?;
        let id = output.text();
        Ok(if output.success && self.0.layout.is_id(&id) { Ok(id) } else { Err(output.stderr()) })
    }

    /// Whether HEAD is a branch without commits.
    async fn is_unborn(&self, session: &mut Session) -> Result<bool, GitError> {
        let git = self.registered("reading HEAD").args(["symbolic-ref", "--quiet", "HEAD"]);
        let head = session.run(git, &[]).await?;
        let branch = head.text();
        if !head.success || branch.is_empty() {
            return Ok(false);
        }
        let git = self.registered("reading HEAD").args(["show-ref", "--verify", "--quiet", "--", &branch]);
        Ok(!session.run(git, &[]).await?.success)
    }

    /// A command in the scratch repository.
    pub(crate) fn scratch(&self, task: &'static str) -> GitCommand {
        self.0.scratch.command(task)
    }

    /// A command in the registered repository, which knows its refs, worktrees and shallow commits.
    pub(crate) fn registered(&self, task: &'static str) -> GitCommand {
        self.scratch(task).git_dir(&self.0.layout.git_dir)
    }

    pub(crate) async fn session(&self) -> Result<Session, GitError> {
        let permit = acquire_permit(&self.0.settings).await?;
        self.0.scratch.rebuild_if_missing(&self.0.layout)?;
        Ok(Session::new(permit, self.0.settings.clone()))
    }

    /// A session with its own index and object folder.
    pub(crate) async fn session_with_index(&self) -> Result<Session, GitError> {
        let mut session = self.session().await?;
        self.0.scratch.add_session_folder(&mut session, &self.0.layout.objects)?;
        Ok(session)
    }

    /// Accepts only full ids. Names are resolved once, so that a moving branch cannot change the answer.
    pub(crate) fn check_id(&self, base: Option<&str>) -> Result<(), GitError> {
        match base {
            Some(base) if !self.0.layout.is_id(base) => {
                Err(GitError::BadBase { base: base.to_owned(), why: "not a full commit id" })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn check_size(&self, diff: &str) -> Result<(), GitError> {
        let limit = self.0.settings.max_diff_bytes;
        if diff.len() > limit { Err(GitError::TooLarge { bytes: diff.len(), limit }) } else { Ok(()) }
    }
}

async fn acquire_permit(settings: &GitSettings) -> Result<OwnedSemaphorePermit, GitError> {
    let permits = settings.permits.0.get_or_init(|| Arc::new(Semaphore::new(settings.concurrency.max(1))));
    // The time limit includes the wait for other calls: the caller waits either way.
    let permit = tokio::time::timeout(settings.time_limit, permits.clone().acquire_owned()).await;
    let permit = permit.map_err(|_| GitError::TimedOut { after: settings.time_limit })?;
    permit.map_err(|error| GitError::failed("waiting for git", error))
}
