//! Runs several git processes for one call, with a shared time limit and temporary folder.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::GitError;
use crate::process::{Env, GitCommand, Output};
use crate::repository::Inner;

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
        let result = timeout_at(self.deadline, git.communicate(child, stdin)).await;
        if let Ok(Ok(_)) = result {
            self.cleanup.child = None;
        } else {
            self.cleanup.kill_child().await;
        }
        result.unwrap_or(Err(GitError::TimedOut { after: self.repo.settings.time_limit }))
    }
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
