//! Git processes: fed, drained, timed, and gone when nobody waits for them any more.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

pub(crate) use crate::command::Git;
use crate::{GitError, GitSettings};

/// Enough of what git says to act on, and no more memory than that for a flood of it.
const KEPT_OUTPUT: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) success: bool,
    /// Ended by a signal, so what it did not say means nothing.
    pub(crate) killed: bool,
    stdout: Kept,
    stderr: Kept,
}

impl Output {
    /// What git printed, for commands that print one word.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes).trim_end().to_owned()
    }

    /// All that git printed, as far as the command was to keep it.
    pub(crate) fn printed(&self) -> &[u8] {
        &self.stdout.bytes
    }

    /// How much git printed in all, where that is more than was to be kept.
    pub(crate) fn overflow(&self) -> Option<usize> {
        self.stdout.cut.then_some(self.stdout.seen)
    }

    /// Whether it reported an error, whatever its exit status.
    pub(crate) fn complained(&self) -> bool {
        self.stderr.cut || self.stderr.bytes.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"error: "))
    }

    /// What git complained of.
    pub(crate) fn words(&self) -> String {
        let mut words = String::from_utf8_lossy(&self.stderr.bytes).trim_end().to_owned();
        if self.stderr.cut {
            words.push('…');
        }
        words
    }
}

/// A turn at running git: a place among the processes, a deadline, and perhaps a folder.
///
/// Dropped in the middle, it kills the process group at once, and gives back the place and the
/// folder only after git is gone: a dying process could still write.
#[derive(Debug)]
pub(crate) struct Job {
    settings: Arc<GitSettings>,
    deadline: Instant,
    remains: Remains,
}

impl Job {
    pub(crate) fn new(permit: OwnedSemaphorePermit, settings: Arc<GitSettings>) -> Self {
        let deadline = Instant::now() + settings.time_limit;
        let remains = Remains { child: None, folder: None, permit: Some(permit), handed_on: false };
        Self { settings, deadline, remains }
    }

    /// Makes `folder` the job's own, to be removed with it.
    pub(crate) fn own(&mut self, folder: PathBuf) {
        self.remains.folder = Some(folder);
    }

    /// The job's own folder; an empty path in a job without one.
    pub(crate) fn folder(&self) -> PathBuf {
        self.remains.folder.clone().unwrap_or_default()
    }

    /// The private index, in a job with a folder.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder().join("index")
    }

    /// Runs to the end or to the deadline; `stdin` is written while the output is read.
    pub(crate) async fn run(&mut self, git: Git, stdin: &[&[u8]]) -> Result<Output, GitError> {
        let spawned = git.command(&self.settings.program, self.remains.folder.as_deref()).spawn();
        let child = match spawned {
            Ok(child) => self.remains.child.insert(child),
            // the same error also says that the working folder is gone
            Err(error) if error.kind() == ErrorKind::NotFound && git.home.exists() => {
                return Err(GitError::Missing { program: self.settings.program.clone() });
            }
            Err(error) => return Err(GitError::failed(git.what, error)),
        };
        let ended = timeout_at(self.deadline, converse(child, stdin, git.keep.unwrap_or(KEPT_OUTPUT))).await;
        if let Ok(Ok(_)) = ended {
            self.remains.child = None;
        } else {
            self.remains.end_child().await;
        }
        match ended {
            Ok(conversed) => conversed.map_err(|error| GitError::failed(git.what, error)),
            Err(_) => Err(GitError::TimedOut { after: self.settings.time_limit }),
        }
    }
}

/// The pipes are read to their ends before the process is reaped: until then its id, and so the
/// id of its group, cannot belong to anybody else.
async fn converse(child: &mut Child, stdin: &[&[u8]], keep: usize) -> io::Result<Output> {
    let (mut input, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async move {
        for part in stdin {
            if let Some(pipe) = &mut input
                && pipe.write_all(part).await.is_err()
            {
                // git stopped reading; its exit status and words say why
                break;
            }
        }
    };
    let ((), stdout, stderr) = tokio::join!(feed, drain(stdout, keep), drain(stderr, KEPT_OUTPUT));
    let (stdout, stderr) = (stdout?, stderr?);
    let status = child.wait().await?;
    Ok(Output { success: status.success(), killed: status.code().is_none(), stdout, stderr })
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    seen: usize,
    cut: bool,
}

/// Reads to the end, keeps the beginning.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, keep: usize) -> io::Result<Kept> {
    let mut kept = Kept::default();
    let Some(mut pipe) = pipe else { return Ok(kept) };
    let mut chunk = [0; 4096];
    loop {
        let read = pipe.read(&mut chunk).await?;
        if read == 0 {
            return Ok(kept);
        }
        kept.seen = kept.seen.saturating_add(read);
        let room = read.min(keep.saturating_sub(kept.bytes.len()));
        kept.cut |= room < read;
        kept.bytes.extend_from_slice(chunk.get(..room).unwrap_or_default());
    }
}

/// What a job leaves behind: cleared in this order.
#[derive(Debug)]
struct Remains {
    child: Option<Child>,
    folder: Option<PathBuf>,
    permit: Option<OwnedSemaphorePermit>,
    /// Already moved to a task of its own; a runtime that is shutting down drops that task too.
    handed_on: bool,
}

impl Remains {
    fn kill_group(&self) {
        let unreaped = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        if let Some(id) = unreaped {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }

    async fn end_child(&mut self) {
        self.kill_group();
        if let Some(child) = &mut self.child {
            let _ = child.wait().await;
        }
        self.child = None;
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        self.kill_group();
        if self.child.is_some()
            && !self.handed_on
            && let Ok(runtime) = Handle::try_current()
        {
            let (child, folder, permit) = (self.child.take(), self.folder.take(), self.permit.take());
            let mut rest = Remains { child, folder, permit, handed_on: true };
            runtime.spawn(async move { rest.end_child().await });
        } else if let Some(folder) = self.folder.take() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
