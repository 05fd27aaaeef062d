//! One reviewer process, as the broker holds it: by the [shim](shim) that stands by it.

pub mod orphans;
pub mod output;
mod procfs;
pub mod runtime;
pub mod shim;
pub mod usage;

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

/// What a shim needs to kill a tree; it gives up on the unkillable before.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be run: by argv, never through a shell. Not `Debug`: it holds a token.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    pub argv: Vec<String>,
    /// All of the environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// What the reviewer reads on its stdin.
    pub prompt: String,
}

/// Names a process beyond the reuse of its pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// Ticks since the boot.
    pub start_time: u64,
    pub boot_id: String,
}

impl ProcessIdentity {
    /// To be asked while the process cannot have been reaped.
    fn of(pid: u32) -> Self {
        let entry = i32::try_from(pid).ok().and_then(|pid| procfs::find(Pid::from_raw(pid)));
        Self { pid, start_time: entry.map(|entry| entry.start_time).unwrap_or_default(), boot_id: procfs::boot_id() }
    }
}

/// How a reviewer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// Its shim did not end by itself, so that something of the reviewer may still run: to be swept.
    Lost(String),
}

impl Exit {
    fn of(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => match Signal::try_from(code - 128) {
                Ok(signal) => Self::Signal(signal as i32),
                Err(_) => Self::Code(code),
            },
            None => Self::Lost(format!("lost: its shim was killed by {}", name(status.signal().unwrap_or_default()))),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by {}", name(*signal)),
            Self::Lost(words) => f.write_str(words),
        }
    }
}

fn name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string())
}

/// This program, also after its file was replaced by a newer one.
pub fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| "countersign".into())
    }
}

/// A reviewer and all that it starts. Dropped, or with the end of the broker, all of it is killed.
pub struct Process {
    // Not killed on drop: the shim has to outlive the life line to kill the others. Tokio reaps it then.
    shim: Child,
    life_line: Option<ChildStdin>,
    output: Option<(ChildStdout, ChildStderr)>,
    identity: ProcessIdentity,
    /// When the shim has to be gone.
    due: Option<Instant>,
}

impl Process {
    /// Starts the shim only. The reviewer itself starts with [`begin`](Self::begin), so that its identity
    /// can be made durable first. `shim` is the program to run, [`this_program`] outside of tests.
    pub fn start(shim: &Path) -> io::Result<Self> {
        let mut command = Command::new(shim);
        command.arg0("countersign").arg("shim").env_clear();
        let mut shim = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // taken: waiting for a tokio child closes its stdin
        let life_line = shim.stdin.take();
        let output = shim.stdout.take().zip(shim.stderr.take());
        let identity = ProcessIdentity::of(shim.id().unwrap_or_default());
        Ok(Self { shim, life_line, output, identity, due: None })
    }

    /// The shim's.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Starts the reviewer. That it cannot be run is told by its exit, in words on stderr.
    pub async fn begin(&mut self, plan: &Plan) -> io::Result<()> {
        let mut line = serde_json::to_vec(plan)?;
        line.push(b'\n');
        self.tell(&line).await
    }

    /// SIGTERM to the tree now, SIGKILL after `grace`.
    pub async fn stop(&mut self, grace: Duration) {
        let line = format!("stop {}\n", grace.as_millis());
        self.due_in(grace + PATIENCE);
        if timeout(PATIENCE, self.tell(line.as_bytes())).await.is_err() {
            self.kill();
        }
    }

    /// SIGKILL to the tree now.
    pub fn kill(&mut self) {
        self.life_line = None;
        self.due_in(PATIENCE);
    }

    /// Waits for the end, which is that of the whole tree. Cancel safe, and can be asked again.
    pub async fn ended(&mut self) -> Exit {
        if let Some(due) = self.due
            && timeout_at(due, self.shim.wait()).await.is_err()
        {
            // Stopped, perhaps. The reviewer dies with it, and the rest is found by its mark.
            let _ = self.shim.start_kill();
        }
        match self.shim.wait().await {
            Ok(status) => Exit::of(status),
            Err(error) => Exit::Lost(format!("lost: {error}")),
        }
    }

    /// Both pipes, the first time: whoever takes them has to drain them.
    pub fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.output.take()
    }

    async fn tell(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.life_line {
            Some(life_line) => life_line.write_all(line).await,
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn due_in(&mut self, time: Duration) {
        let due = Instant::now() + time;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }
}

#[cfg(test)]
#[path = "reviewer_process_tests.rs"]
mod tests;
