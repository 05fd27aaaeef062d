//! Starts and stops one reviewer process from the broker's side, and reports how it ended. All control goes through the
//! [shim], a small process between the two.

pub mod confinement;
pub mod orphans;
pub mod output;
mod procfs;
pub mod runtime;
pub(crate) mod session_home;
pub(crate) mod session_output;
pub mod shim;
mod socket_owner;
pub mod token_usage;

pub use socket_owner::SocketHolder;
pub use store::ProcessIdentity;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
pub use sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

/// How long a shim may take to kill its tree. It gives up on processes that cannot be killed earlier than this.
const SHIM_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A process to run: by argv, never through a shell.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpec {
    pub argv: Vec<String>,
    /// The complete environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// Written to stdin, which is then closed.
    pub prompt: String,
    /// The files that it may use; `None`: all files of its user.
    pub sandbox: Option<Sandbox>,
}

/// Shows only the names of variables, because a value may be a secret.
impl fmt::Debug for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        let spec = &mut f.debug_struct("ProcessSpec");
        spec.field("argv", &self.argv).field("env", &names).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// How a process exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// The shim did not exit by itself, so processes of the reviewer may still run; see [`orphans`].
    Lost(String),
}

impl ProcessExit {
    fn from_shim(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => match Signal::try_from(code - 128) {
                Ok(signal) => Self::Signal(signal as i32),
                Err(_) => Self::Code(code),
            },
            None => {
                let signal = signal_name(status.signal().unwrap_or_default());
                Self::Lost(format!("lost: its shim was killed by {signal}"))
            }
        }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by {}", signal_name(*signal)),
            Self::Lost(message) => f.write_str(message),
        }
    }
}

fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string())
}

/// The path of the running program. On Linux it still works after the file was replaced by a newer version.
pub fn own_executable() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| "countersign".into())
    }
}

/// A reviewer and every process it starts. All of them are killed when this is dropped or the broker exits.
pub struct Process {
    // Not killed on drop: the shim has to outlive the lifeline to kill the others. Tokio reaps it afterwards.
    shim: Child,
    /// The write end of the shim's stdin. Closing it makes the shim kill everything below it.
    life_line: Option<ChildStdin>,
    output: Option<(ChildStdout, ChildStderr)>,
    identity: ProcessIdentity,
    /// The shim is killed if it still runs at this time.
    deadline: Option<Instant>,
}

impl Process {
    /// Starts the shim only. The reviewer starts with [`launch`](Self::launch), so that the identity of the shim can be
    /// made durable first. `shim` is the program to run, [`own_executable`] except in tests.
    pub fn start(shim: &Path) -> io::Result<Self> {
        let mut command = Command::new(shim);
        command.arg0("countersign").arg("shim").env_clear();
        let mut shim = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // Taken out, because tokio closes the stdin of a child that is waited for.
        let life_line = shim.stdin.take();
        let output = shim.stdout.take().zip(shim.stderr.take());
        let identity = identify(shim.id().unwrap_or_default());
        Ok(Self { shim, life_line, output, identity, deadline: None })
    }

    /// The identity of the shim.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Starts the reviewer. If its program cannot be run, the shim reports this by its exit code and on stderr.
    pub async fn launch(&mut self, spec: &ProcessSpec) -> io::Result<()> {
        let mut line = serde_json::to_vec(spec)?;
        line.push(b'\n');
        self.send(&line).await
    }

    /// Sends SIGTERM to the tree now and SIGKILL after `grace`.
    pub async fn stop(&mut self, grace: Duration) {
        let line = format!("stop {}\n", grace.as_millis());
        self.set_deadline(grace + SHIM_EXIT_TIMEOUT);
        if timeout(SHIM_EXIT_TIMEOUT, self.send(line.as_bytes())).await.is_err() {
            self.kill();
        }
    }

    /// Sends SIGKILL to the tree now.
    pub fn kill(&mut self) {
        self.life_line = None;
        self.set_deadline(SHIM_EXIT_TIMEOUT);
    }

    /// Waits until the whole tree has exited. Cancel safe, and can be called again.
    pub async fn wait(&mut self) -> ProcessExit {
        if let Some(deadline) = self.deadline
            && timeout_at(deadline, self.shim.wait()).await.is_err()
        {
            // The shim may have been stopped. The reviewer dies with it; the orphan sweep finds the rest.
            let _ = self.shim.start_kill();
        }
        match self.shim.wait().await {
            Ok(status) => ProcessExit::from_shim(status),
            Err(error) => ProcessExit::Lost(format!("lost: {error}")),
        }
    }

    /// Stdout and stderr, on the first call. The caller has to drain them.
    pub fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.output.take()
    }

    async fn send(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.life_line {
            Some(life_line) => life_line.write_all(line).await,
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn set_deadline(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
    }
}

/// Identifies a process that cannot have been reaped yet.
fn identify(pid: u32) -> ProcessIdentity {
    let entry = i32::try_from(pid).ok().and_then(|pid| procfs::find(Pid::from_raw(pid)));
    let start_time = entry.map(|entry| entry.start_time).unwrap_or_default();
    ProcessIdentity { pid, start_time, boot_id: procfs::boot_id() }
}

#[cfg(test)]
#[path = "reviewer_process_tests.rs"]
mod tests;
