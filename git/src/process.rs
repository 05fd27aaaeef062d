//! Starts git processes. No other module does.
//!
//! A command states its environment: [`Env::Clean`] for the broker's own work, [`Env::Caller`] for work that the user
//! could do in a shell.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::GitError;
use crate::history::is_plain_ssh;

/// How much of stderr is kept, and of stdout unless the command asks for more.
const DEFAULT_OUTPUT_LIMIT: usize = 8 * 1024;

const CLEAN_CONFIG: [&str; 7] = [
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    // Without the warning that git prints because GIT_GRAFT_FILE is set below.
    "advice.graftFileDeprecated=false",
    // The objects are temporary: they need be neither durable nor small.
    "core.fsync=none",
    "core.looseCompression=0",
];

const CLEAN_VARIABLES: [(&str, &str); 9] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A partial clone would run programs from its config to reach its remote.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // Other parents for commits, which any process in the repository can write.
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("LC_ALL", "C"),
];

const CALLER_VARIABLES: [(&str, &str); 3] = [
    // There is no terminal to answer a prompt or to leave a pager.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    // Read the commits themselves, not their replacements in refs/replace.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// What a git process sees of its surroundings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Env {
    /// No variables except `PATH`, no user or system configuration, no hooks. `HOME` is the empty folder it starts in.
    Clean,
    /// The environment of the calling process, including the variables that git sets for its hooks.
    Caller,
    /// The environment of the calling process without `GIT_*`, which may point to another repository.
    CallerWithoutGitVariables,
    /// Like `CallerWithoutGitVariables`, for a question to a remote: in a process group of its own, and with the
    /// caller's ssh command if that runs nothing but ssh.
    CallerAtRemote,
}

/// A git command line with its environment.
#[derive(Debug)]
pub(crate) struct GitCommand {
    /// Describes the command in error messages.
    pub(crate) task: Cow<'static, str>,
    command: Command,
    stdout_limit: usize,
}

impl GitCommand {
    pub(crate) fn new(task: impl Into<Cow<'static, str>>, program: &Path, env: Env, dir: &Path) -> Self {
        let mut command = Command::new(program);
        match env {
            Env::Clean => {
                command.env_clear().envs(CLEAN_VARIABLES).env("HOME", dir);
                command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
                command.args(CLEAN_CONFIG.iter().flat_map(|setting| ["-c", setting]));
                // A group of its own, so that a timeout also kills the children of git.
                command.process_group(0);
            }
            Env::Caller => {
                command.envs(CALLER_VARIABLES);
            }
            Env::CallerWithoutGitVariables | Env::CallerAtRemote => {
                for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
                    command.env_remove(name);
                }
                command.envs(CALLER_VARIABLES);
                if matches!(env, Env::CallerAtRemote) {
                    let ssh = env::var("GIT_SSH_COMMAND").ok().filter(|ssh| is_plain_ssh(ssh));
                    command.envs(ssh.map(|ssh| ("GIT_SSH_COMMAND", ssh))).process_group(0);
                }
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(dir).kill_on_drop(true);
        Self { task: task.into(), command, stdout_limit: DEFAULT_OUTPUT_LIMIT }
    }

    pub(crate) fn git_dir(mut self, git_dir: &Path) -> Self {
        self.command.arg("--git-dir").arg(git_dir);
        self
    }

    /// Sets the working tree, and runs git in it.
    pub(crate) fn work_tree(mut self, folder: &Path) -> Self {
        self.command.arg("--work-tree").arg(folder).current_dir(folder);
        self
    }

    /// Keeps at most this many bytes of stdout.
    pub(crate) fn stdout_limit(self, bytes: usize) -> Self {
        Self { stdout_limit: bytes, ..self }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn spawn(&mut self) -> Result<Child, GitError> {
        self.command.spawn().map_err(|error| {
            let command = self.command.as_std();
            // A missing working folder gives this error too.
            let is_missing = error.kind() == ErrorKind::NotFound && command.get_current_dir().is_some_and(Path::exists);
            let program = command.get_program().into();
            if is_missing { GitError::Missing { program } } else { self.failed(error) }
        })
    }

    pub(crate) fn failed(&self, error: impl std::fmt::Display) -> GitError {
        GitError::failed(self.task.clone(), error)
    }

    /// Writes `stdin` while reading both outputs, then waits for the end of the process.
    ///
    /// The process is reaped only after its pipes are closed. Until then the system cannot reuse its process id, which
    /// is also the id of its group.
    pub(crate) async fn communicate(&self, child: &mut Child, stdin: &[&[u8]]) -> Result<Output, GitError> {
        let (mut input, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async move {
            for part in stdin {
                if let Some(pipe) = &mut input
                    && pipe.write_all(part).await.is_err()
                {
                    // Git stopped reading; its exit status and stderr say why.
                    break;
                }
            }
        };
        let ((), stdout, stderr) =
            tokio::join!(feed, drain(stdout, self.stdout_limit), drain(stderr, DEFAULT_OUTPUT_LIMIT));
        let failed = |error| self.failed(error);
        let (stdout, stderr) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
        let status = child.wait().await.map_err(failed)?;
        Ok(Output { success: status.success(), killed: status.code().is_none(), stdout, stderr })
    }
}

/// What a finished git process printed.
#[derive(Debug)]
pub struct Output {
    pub success: bool,
    /// A signal ended the process, so a missing message means nothing.
    pub(crate) killed: bool,
    stdout: Captured,
    stderr: Captured,
}

impl Output {
    pub fn stdout(&self) -> &[u8] {
        &self.stdout.bytes
    }

    /// The output as text, without newlines at its end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes).trim_end_matches('\n').to_owned()
    }

    /// How many bytes git printed, if they exceeded the limit.
    pub(crate) fn overflow(&self) -> Option<usize> {
        self.stdout.is_truncated().then_some(self.stdout.total)
    }

    /// Whether git reported an error. It can do so and still exit with status 0.
    pub(crate) fn reported_error(&self) -> bool {
        let mut lines = self.stderr.bytes.split(|&byte| byte == b'\n');
        self.stderr.is_truncated() || lines.any(|line| line.starts_with(b"error: "))
    }

    pub fn stderr(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.stderr.bytes).trim().to_owned();
        if self.stderr.is_truncated() {
            text.push('…');
        }
        text
    }
}

/// The beginning of an output stream.
#[derive(Debug, Default)]
struct Captured {
    bytes: Vec<u8>,
    total: usize,
}

impl Captured {
    fn is_truncated(&self) -> bool {
        self.bytes.len() < self.total
    }
}

/// Reads to the end, and keeps at most `limit` bytes.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<Captured> {
    let mut captured = Captured::default();
    let Some(mut pipe) = pipe else { return Ok(captured) };
    let mut chunk = [0; 4096];
    loop {
        let read = pipe.read(&mut chunk).await?;
        if read == 0 {
            return Ok(captured);
        }
        captured.total = captured.total.saturating_add(read);
        let kept = read.min(limit.saturating_sub(captured.bytes.len()));
        captured.bytes.extend_from_slice(chunk.get(..kept).unwrap_or_default());
    }
}
