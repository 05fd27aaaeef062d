//! A bounded sequence of git processes on behalf of one call.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::process::{GitCommand, Output};
use crate::{GitError, GitSettings};

/// Runs the git processes of one call, one after the other, under a common deadline.
///
/// A session holds a concurrency permit and may own a private folder. If it is dropped while git runs, it kills the
/// process group at once. It releases the folder and the permit only after git has ended, because a dying process can
/// still write.
#[derive(Debug)]
pub(crate) struct Session {
    settings: Arc<GitSettings>,
    deadline: Instant,
    cleanup: Cleanup,
}

impl Session {
    pub(crate) fn new(permit: OwnedSemaphorePermit, settings: Arc<GitSettings>) -> Self {
        let deadline = Instant::now() + settings.time_limit;
        let cleanup = Cleanup { child: None, folder: None, permit: Some(permit), in_background: false };
        Self { settings, deadline, cleanup }
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

    /// Runs git until it ends or the deadline of the session passes.
    pub(crate) async fn run(&mut self, mut git: GitCommand, stdin: &[&[u8]]) -> Result<Output, GitError> {
        if let Some(folder) = &self.cleanup.folder {
            git = git.variable("GIT_INDEX_FILE", folder.join("index"));
            git = git.variable("GIT_OBJECT_DIRECTORY", folder.join("objects"));
        }
        let child = self.cleanup.child.insert(git.spawn(&self.settings.program)?);
        let result = timeout_at(self.deadline, git.communicate(child, stdin)).await;
        if let Ok(Ok(_)) = result {
            self.cleanup.child = None;
        } else {
            self.cleanup.kill_child().await;
        }
        result.unwrap_or(Err(GitError::TimedOut { after: self.settings.time_limit }))
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
