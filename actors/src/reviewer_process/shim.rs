//! The shim: a small process between the broker and one reviewer process. It is the same executable, run with a hidden
//! subcommand.
//!
//! The broker can be killed at any moment, and a reviewer may start any number of processes. The shim outlives the
//! broker and, as subreaper, adopts every orphan of the reviewer, so it can always kill the whole tree.
//!
//! ```text
//! broker ══ lifeline ══► shim (own session, subreaper) ──► shim-exec, then the reviewer ──► …
//! ```
//!
//! The lifeline is the shim's stdin. Its first line is the [`ProcessSpec`] to run, as JSON. The line `stop MILLIS` asks
//! the whole tree to exit. When the pipe closes, because the broker closed it or died, the shim kills the tree.
//!
//! Exit codes: the reviewer's own, or 128 + the signal that killed it; 127 if its program was not found, 126 if it
//! cannot be run, 125 if the shim itself failed.

use super::{ProcessSpec, Sandbox, own_executable, procfs};
use nix::errno::Errno;
use nix::sys::signal::{Signal as SignalNumber, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, setsid};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

const SHIM_FAILED_CODE: u8 = 125;
const NOT_RUNNABLE_CODE: u8 = 126;
const NOT_FOUND_CODE: u8 = 127;

/// The grace period if the shim itself gets a signal, which only a person sends.
const SIGNAL_GRACE_DELAY: Duration = Duration::from_secs(10);

/// A process that survives SIGKILL for this long hangs in the kernel; waiting longer does not help.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const KILL_RETRY_DELAY: Duration = Duration::from_millis(5);

/// Runs one reviewer until it has exited. Call it on the main thread, outside of any runtime.
pub fn run() -> ExitCode {
    // One thread, because the kernel kills a reviewer when the thread that started it ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let code = runtime.and_then(|runtime| runtime.block_on(supervise()));
    ExitCode::from(code.unwrap_or_else(|error| report(SHIM_FAILED_CODE, &format!("no reviewer: {error}"))))
}

/// Replaces this process by the reviewer.
///
/// A separate step, because a process can request the parent-death signal only for itself.
pub fn exec(parent: u32, sandbox: Option<&str>, argv: &[OsString]) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_pdeathsig(SignalNumber::SIGKILL) {
        return ExitCode::from(report(SHIM_FAILED_CODE, &format!("no reviewer: {error}")));
    }
    // The parent may have died before the signal was requested.
    if u32::try_from(Pid::parent().as_raw()) != Ok(parent) {
        return ExitCode::from(signal_code(SignalNumber::SIGKILL));
    }
    let Some((program, arguments)) = argv.split_first() else {
        return ExitCode::from(report(NOT_RUNNABLE_CODE, "no program given"));
    };
    if let Some(Err(error)) = sandbox.map(enter_sandbox) {
        return ExitCode::from(report(SHIM_FAILED_CODE, &format!("no reviewer: its sandbox failed: {error}")));
    }
    #[expect(clippy::disallowed_methods, reason = "this process runs nothing else that could be blocked")]
    let error = Command::new(program).args(arguments).exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND_CODE } else { NOT_RUNNABLE_CODE };
    ExitCode::from(report(code, &format!("cannot run {}: {error}", program.display())))
}

fn enter_sandbox(sandbox: &str) -> io::Result<()> {
    let sandbox: Sandbox = serde_json::from_str(sandbox)?;
    sandbox.enter().map_err(io::Error::other)
}

/// A command on the lifeline.
enum Order {
    Launch(ProcessSpec),
    Stop(Duration),
    /// The lifeline was closed.
    Kill,
}

type LifeLine = Lines<BufReader<pipe::Receiver>>;

async fn supervise() -> io::Result<u8> {
    // Away from the terminal's ^C: the broker decides when to stop. Fails for a group leader, for example a shim that was
    // started by hand.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_child_subreaper(true)?;
        // The default would be "exe".
        let _ = nix::sys::prctl::set_name(c"countersign");
    }
    let mut child_exited = signal(SignalKind::child())?;
    let mut stop_signals = StopSignals::listen()?;
    let pipe = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?);
    let pipe = pipe.map_err(|_| io::Error::other("only the broker runs this command: its stdin must be a pipe"))?;
    let mut life_line = BufReader::new(pipe).lines();

    let spec = tokio::select! {
        order = next_order(&mut life_line) => match order? {
            Order::Launch(spec) => spec,
            Order::Stop(_) => return Ok(signal_code(SignalNumber::SIGTERM)),
            Order::Kill => return Ok(signal_code(SignalNumber::SIGKILL)),
        },
        () = stop_signals.next() => return Ok(signal_code(SignalNumber::SIGTERM)),
    };
    let mut tree = match start(spec) {
        Ok(reviewer) => ProcessTree { reviewer, code: None },
        Err((code, message)) => return Ok(report(code, &message)),
    };

    let mut kill_at: Option<Instant> = None;
    loop {
        let grace = tokio::select! {
            order = next_order(&mut life_line) => match order {
                Ok(Order::Stop(grace)) => grace,
                Ok(Order::Launch(_) | Order::Kill) | Err(_) => break,
            },
            () = stop_signals.next() => SIGNAL_GRACE_DELAY,
            _ = child_exited.recv() => {
                if tree.reap() && tree.code.is_none() {
                    continue;
                }
                break;
            }
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => break,
        };
        if kill_at.is_none() {
            tree.terminate();
        }
        let deadline = Instant::now() + grace;
        kill_at = Some(kill_at.map_or(deadline, |earlier| earlier.min(deadline)));
    }
    tree.kill().await;
    Ok(tree.code.unwrap_or(signal_code(SignalNumber::SIGKILL)))
}

/// Reads the next order. Cancel safe.
async fn next_order(life_line: &mut LifeLine) -> io::Result<Order> {
    let Some(line) = life_line.next_line().await? else { return Ok(Order::Kill) };
    if let Some(millis) = line.strip_prefix("stop ") {
        let millis = millis.parse().map_err(|_| io::Error::other(format!("not a number of milliseconds: {millis}")))?;
        return Ok(Order::Stop(Duration::from_millis(millis)));
    }
    // The line may contain a token, so the error must not quote it.
    let spec = serde_json::from_str(&line);
    spec.map(Order::Launch).map_err(|error| io::Error::other(format!("cannot parse the process to run: {error}")))
}

/// Starts the reviewer and writes its prompt to it. On failure returns the exit code and a message.
fn start(spec: ProcessSpec) -> Result<Pid, (u8, String)> {
    let ProcessSpec { argv, env, cwd, prompt, sandbox } = spec;
    let sandbox = sandbox.map(|sandbox| serde_json::to_string(&sandbox)).transpose();
    let sandbox = sandbox.map_err(|error| (SHIM_FAILED_CODE, format!("no reviewer: {error}")))?;
    if !cwd.is_dir() {
        return Err((NOT_RUNNABLE_CODE, format!("cannot run in {}: no such folder", cwd.display())));
    }
    #[expect(clippy::disallowed_methods, reason = "tokio would reap the child instead of the process tree")]
    let mut command = Command::new(own_executable());
    command.arg0("countersign").arg("shim-exec").arg("--parent").arg(Pid::this().to_string());
    // Not a secret: these are names of folders.
    command.args(sandbox.map(|sandbox| format!("--sandbox={sandbox}"))).arg("--").args(argv);
    command.env_clear().envs(env).current_dir(cwd).process_group(0).stdin(Stdio::piped());
    let spawned = command.spawn().and_then(|mut child| {
        let reviewer = i32::try_from(child.id()).map_err(io::Error::other)?;
        if let Some(stdin) = child.stdin.take() {
            write_prompt(stdin.into(), prompt)?;
        }
        Ok(Pid::from_raw(reviewer))
    });
    spawned.map_err(|error| (NOT_RUNNABLE_CODE, format!("cannot start a process: {error}")))
}

/// Writes the prompt and closes the pipe, in a task because the reviewer may never read it.
fn write_prompt(stdin: OwnedFd, prompt: String) -> io::Result<()> {
    let mut stdin = pipe::Sender::from_owned_fd(stdin)?;
    tokio::spawn(async move {
        // A reviewer may exit or close its stdin without reading everything.
        let _ = stdin.write_all(prompt.as_bytes()).await;
    });
    Ok(())
}

/// The signals by which people and init ask a process to exit.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignals {
    fn listen() -> io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, hang_up: signal(SignalKind::hangup())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// The exit code that stands for this signal.
fn signal_code(signal: SignalNumber) -> u8 {
    u8::try_from(128 + signal as i32).unwrap_or(SHIM_FAILED_CODE)
}

/// Writes a message to stderr, which goes to the reviewer's log. Not by `eprintln`, which panics if the pipe is closed.
fn report(code: u8, message: &str) -> u8 {
    let _ = writeln!(io::stderr(), "countersign: {message}");
    code
}

/// The processes below the shim. As a subreaper it stays the ancestor of every process, even of those that fork twice or
/// change their session. The tree is gone when the shim has no child left.
struct ProcessTree {
    reviewer: Pid,
    /// The exit code of the reviewer, once it has exited.
    code: Option<u8>,
}

impl ProcessTree {
    /// Reaps all processes that have exited, including adopted orphans. Returns whether any process is left.
    fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.reviewer => {
                    self.code = Some(u8::try_from(code & 0xff).unwrap_or_default());
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.reviewer => {
                    self.code = Some(signal_code(signal))
                }
                Ok(_) | Err(Errno::EINTR) => {}
                // A process was killed by a signal unknown to nix, which does not report its pid.
                Err(Errno::EINVAL) => {
                    if kill(self.reviewer, None) == Err(Errno::ESRCH) {
                        self.code.get_or_insert(signal_code(SignalNumber::SIGKILL));
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Sends SIGTERM to all processes. Call it once: some programs abort their cleanup on a second SIGTERM.
    fn terminate(&self) {
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, SignalNumber::SIGTERM);
        }
        for entry in descendants() {
            let _ = kill(entry.pid, SignalNumber::SIGTERM);
        }
    }

    /// Kills until no process is left. Kills whole process groups, which a fork cannot escape. Only the shim's own group
    /// has members outside the tree.
    async fn kill(&mut self) {
        let give_up_at = Instant::now() + KILL_TIMEOUT;
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, SignalNumber::SIGKILL);
        }
        while self.reap() && Instant::now() < give_up_at {
            let processes = descendants();
            let groups: HashSet<_> = processes.iter().map(|entry| entry.group).collect();
            for group in groups.into_iter().filter(|group| *group != getpgrp() && group.as_raw() > 1) {
                let _ = killpg(group, SignalNumber::SIGKILL);
            }
            for entry in processes {
                let _ = kill(entry.pid, SignalNumber::SIGKILL);
            }
            sleep(KILL_RETRY_DELAY).await;
        }
    }
}

fn descendants() -> Vec<procfs::Entry> {
    procfs::descendants(&procfs::all(), &[Pid::this()], None)
}
