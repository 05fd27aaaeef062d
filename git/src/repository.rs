//! Opens the git repository of a project, resolves commits in it, and starts sessions: the git processes of one call, with
//! one time limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::git_engine_mode::EngineMode;
use domain::review::HeadCheck;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::apply::Checked;
use crate::diff_check_cache::Checks;
use crate::discovery::{self, ClientRepo, RepoLayout, RepoLocation};
use crate::engine::{self, Declined, Engine};
use crate::process::{Env, GitCommand, Output};
use crate::scratch_repo::ScratchRepo;
use crate::{EngineState, GitError};

/// One registered repository. Cheap to clone; dropping the last clone removes the scratch folder.
#[derive(Debug, Clone)]
pub struct Repository(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) layout: RepoLayout,
    pub(crate) scratch: ScratchRepo,
    pub(crate) trusted: bool,
    pub(crate) settings: Arc<GitSettings>,
    /// `None` until git has said what the object format is.
    pub(crate) engine: Option<Arc<Engine>>,
    pub(crate) base_checks: Checks<Checked>,
    pub(crate) head_checks: Checks<Option<HeadCheck>>,
}

#[derive(Debug)]
pub struct GitSettings {
    /// A bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Limits one call to a [`Repository`], including all its git processes.
    pub time_limit: Duration,
    pub max_diff_bytes: usize,
    /// The maximum number of concurrent git processes of all repositories that share these settings, and of concurrent
    /// calls of the engine.
    pub concurrency: usize,
    pub engine: EngineMode,
    pub engine_state: EngineState,
    /// Limits the number of git processes. Created on first use from `concurrency`.
    pub permits: OnceLock<Arc<Semaphore>>,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            time_limit: Duration::from_secs(30),
            max_diff_bytes: 10 * 1024 * 1024,
            concurrency: 4,
            engine: EngineMode::Auto,
            engine_state: EngineState::default(),
            permits: OnceLock::new(),
        }
    }
}

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
        Self::open_layout(discovery::find(dir)?, scratch_root, trusted, None, settings).await
    }

    /// Opens the repository at a location that is known already, and the objects that a push brings. Git is started only
    /// if HEAD does not show the object format.
    pub async fn open_at(
        location: &RepoLocation,
        scratch_root: &Path,
        settings: Arc<GitSettings>,
    ) -> Result<Repository, GitError> {
        let layout = location.layout.clone();
        let format = match settings.engine {
            EngineMode::Auto => engine::find_object_format(&layout),
            EngineMode::Git | EngineMode::Both => None,
        };
        let repository = Self::open_layout(layout, scratch_root, false, format, settings).await?;
        repository.0.scratch.copy_shallow_commits(&repository.0.layout)?;
        Ok(repository)
    }

    async fn open_layout(
        layout: RepoLayout,
        scratch_root: &Path,
        trusted: bool,
        format: Option<&str>,
        settings: Arc<GitSettings>,
    ) -> Result<Repository, GitError> {
        let scratch = ScratchRepo::claim(scratch_root, &layout.root)?;
        let (base_checks, head_checks) = (Checks::default(), Checks::default());
        let mut inner = Inner { layout, scratch, trusted, settings, engine: None, base_checks, head_checks };
        inner.layout.format = match format {
            Some(format) => format.to_owned(),
            None => Session::start(&inner).await?.object_format().await?,
        };
        inner.scratch.build(&inner.layout)?;
        let further = inner.layout.incoming_objects.iter().cloned().chain([inner.scratch.repo().join("objects")]);
        let engine = Engine::new(&inner.layout, further.collect(), inner.settings.engine_state.cache());
        inner.engine = engine.map(Arc::new);
        Ok(Repository(Arc::new(inner)))
    }

    /// The top folder of the working tree, or the repository itself if it is bare.
    pub fn root(&self) -> &Path {
        &self.0.layout.root
    }

    /// The object folder, which all working trees of the repository share.
    pub fn objects(&self) -> &Path {
        &self.0.layout.objects
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
        let message = match self.find_commit(name).await? {
            Ok(id) => return Ok(Some(id)),
            Err(message) => message,
        };
        if base.is_none() && self.session().await?.is_unborn().await? {
            return Ok(None);
        }
        Err(GitError::UnknownBase { base: name.to_owned(), message })
    }

    /// The id of the commit that a checked name resolves to, or git's error message.
    pub(crate) async fn find_commit(&self, name: &str) -> Result<Result<String, String>, GitError> {
        let git = async { self.session().await?.find_commit_with_git(name).await };
        self.0.ask("name", resolve_in_process(name), git).await
    }

    pub(crate) async fn session(&self) -> Result<Session<'_>, GitError> {
        let session = Session::start(&self.0).await?;
        self.0.scratch.rebuild_if_missing(&self.0.layout)?;
        Ok(session)
    }

    /// A session with its own index and object folder.
    pub(crate) async fn session_with_index(&self) -> Result<Session<'_>, GitError> {
        let mut session = self.session().await?;
        self.0.scratch.add_session_folder(&mut session)?;
        Ok(session)
    }
}

impl Inner {
    /// Accepts only full ids. Names are resolved once, so that a moving branch cannot change the answer.
    pub(crate) fn check_id(&self, base: Option<&str>) -> Result<(), GitError> {
        match base {
            Some(base) if !self.layout.is_id(base) => {
                Err(GitError::BadBase { base: base.to_owned(), why: "not a full commit id" })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn check_size(&self, diff: &str) -> Result<(), GitError> {
        let limit = self.settings.max_diff_bytes;
        if diff.len() > limit { Err(GitError::TooLarge { bytes: diff.len(), limit }) } else { Ok(()) }
    }
}

/// Runs the git processes of one call, one after the other, under a common deadline.
///
/// A session holds a concurrency permit and may own a private folder. If it is dropped while git runs, it kills the
/// process group at once. It releases the folder and the permit only after git has ended, because a dying process can
/// still write.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) repo: &'a Inner,
    deadline: Instant,
    cleanup: Cleanup,
}

impl<'a> Session<'a> {
    /// Waits for a permit. The time limit includes the wait for other calls: the caller waits either way.
    pub(crate) async fn start(repo: &'a Inner) -> Result<Self, GitError> {
        let settings = &repo.settings;
        let permits = settings.permits.get_or_init(|| Arc::new(Semaphore::new(settings.concurrency.max(1))));
        let permit = timeout(settings.time_limit, permits.clone().acquire_owned()).await;
        let permit = permit.map_err(|_| GitError::TimedOut { after: settings.time_limit })?;
        let permit = permit.map_err(|error| GitError::failed("waiting for git", error))?;
        let cleanup = Cleanup { child: None, folder: None, permit: Some(permit), in_background: false };
        Ok(Self { repo, deadline: Instant::now() + settings.time_limit, cleanup })
    }

    /// A command in the scratch repository.
    pub(crate) fn scratch(&self, task: &'static str) -> GitCommand {
        self.command(task).git_dir(&self.repo.scratch.repo())
    }

    /// A command in the registered repository, which knows its refs, worktrees and shallow commits.
    pub(crate) fn registered(&self, task: &'static str) -> GitCommand {
        self.command(task).git_dir(&self.repo.layout.git_dir)
    }

    /// A command in the scratch repository with the settings of the user, for a question to a remote.
    pub(crate) fn as_user(&self, task: &'static str) -> GitCommand {
        let (program, scratch) = (&self.repo.settings.program, &self.repo.scratch);
        GitCommand::new(task, program, Env::CallerAtRemote, &scratch.empty_home()).git_dir(&scratch.repo())
    }

    fn command(&self, task: &'static str) -> GitCommand {
        GitCommand::new(task, &self.repo.settings.program, Env::Clean, &self.repo.scratch.empty_home())
    }

    /// Makes `folder` private to this session and removes it at the end. Git keeps its index and writes its objects
    /// there.
    pub(crate) fn set_folder(&mut self, folder: PathBuf) {
        self.cleanup.folder = Some(folder);
    }

    /// The private folder, or an empty path.
    pub(crate) fn folder(&self) -> PathBuf {
        self.cleanup.folder.clone().unwrap_or_default()
    }

    /// The private index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder().join("index")
    }

    /// Runs git, whose failure is an error.
    pub(crate) async fn run(&mut self, git: GitCommand, stdin: &[&[u8]]) -> Result<Output, GitError> {
        let task = git.task.clone();
        let output = self.try_run(git, stdin).await?;
        if output.success { Ok(output) } else { Err(GitError::failed(task, output.stderr())) }
    }

    /// Runs git until it ends or the deadline of the session passes. Its failure is an answer.
    pub(crate) async fn try_run(&mut self, mut git: GitCommand, stdin: &[&[u8]]) -> Result<Output, GitError> {
        if let Some(folder) = &self.cleanup.folder {
            git = git.variable("GIT_INDEX_FILE", folder.join("index"));
            git = git.variable("GIT_OBJECT_DIRECTORY", folder.join("objects"));
        }
        let child = self.cleanup.child.insert(git.spawn()?);
        // Boxed: it takes 10 KB, and every call that may need git would carry them, several times over.
        let result = timeout_at(self.deadline, Box::pin(git.communicate(child, stdin))).await;
        if let Ok(Ok(_)) = result {
            self.cleanup.child = None;
        } else {
            self.cleanup.kill_child().await;
        }
        result.unwrap_or(Err(GitError::TimedOut { after: self.repo.settings.time_limit }))
    }

    /// The object format of the registered repository.
    async fn object_format(&mut self) -> Result<String, GitError> {
        let git = self.registered("reading the object format").args(["rev-parse", "--show-object-format"]);
        let output = self.try_run(git, &[]).await?;
        let format = output.text();
        if output.success && matches!(format.as_str(), "sha1" | "sha256") {
            return Ok(format);
        }
        Err(GitError::failed("opening the repository", output.stderr()))
    }

    /// As [`Repository::find_commit`].
    pub(crate) async fn find_commit(&mut self, name: &str) -> Result<Result<String, String>, GitError> {
        self.repo.ask("name", resolve_in_process(name), self.find_commit_with_git(name)).await
    }

    pub(crate) async fn find_commit_with_git(&mut self, name: &str) -> Result<Result<String, String>, GitError> {
        let commit = format!("{name}^{{commit}}");
        let git = self.registered("resolving the base").args(["rev-parse", "--verify", "--end-of-options", &commit]);
        let output = self.try_run(git, &[]).await?;
        let id = output.text();
        Ok(if output.success && self.repo.layout.is_id(&id) { Ok(id) } else { Err(output.stderr()) })
    }

    /// Whether HEAD is a branch without commits.
    async fn is_unborn(&mut self) -> Result<bool, GitError> {
        let git = self.registered("reading HEAD").args(["symbolic-ref", "--quiet", "HEAD"]);
        let head = self.try_run(git, &[]).await?;
        let branch = head.text();
        if !head.success || branch.is_empty() {
            return Ok(false);
        }
        let git = self.registered("reading HEAD").args(["show-ref", "--verify", "--quiet", "--", &branch]);
        Ok(!self.try_run(git, &[]).await?.success)
    }
}

/// The question to the engine which commit a name means.
fn resolve_in_process(name: &str) -> impl FnOnce(&Engine) -> Result<Result<String, String>, Declined> + Send + use<> {
    let name = name.to_owned();
    move |engine| engine.resolve(&name).map(Ok)
}

/// Ends a session in this order: kill git, remove the folder, release the permit.
#[derive(Debug)]
struct Cleanup {
    child: Option<Child>,
    folder: Option<PathBuf>,
    permit: Option<OwnedSemaphorePermit>,
    /// The cleanup already runs in a task of its own. A runtime that shuts down drops that task too.
    in_background: bool,
}

impl Cleanup {
    fn kill_group(&self) {
        let unreaped = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        if let Some(id) = unreaped {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }

    async fn kill_child(&mut self) {
        self.kill_group();
        if let Some(child) = &mut self.child {
            let _ = child.wait().await;
        }
        self.child = None;
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        self.kill_group();
        if self.child.is_some()
            && !self.in_background
            && let Ok(runtime) = Handle::try_current()
        {
            let (child, folder, permit) = (self.child.take(), self.folder.take(), self.permit.take());
            let mut rest = Cleanup { child, folder, permit, in_background: true };
            runtime.spawn(async move { rest.kill_child().await });
        } else if let Some(folder) = self.folder.take() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
