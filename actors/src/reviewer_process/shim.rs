//! The process between the broker and one reviewer: this program again, under a hidden subcommand.
//!
//! A broker can be killed at any moment, and a reviewer can start what it likes. So somebody has to be
//! there who outlives the one and is told of every orphan of the other:
//!
//! ```text
//! broker ══ life line ══► shim (own session, subreaper) ──► shim-exec, then the reviewer ──► …
//! ```
//!
//! The life line is the shim's stdin. One line of JSON on it is the [`Plan`], `stop MILLIS` asks the
//! whole tree to end, and its end, which comes with the broker's whatever that was, kills it.
//!
//! Exit codes: the reviewer's, or 128 + the signal that ended it; 127 its program was not found, 126 it
//! cannot be run, 125 the shim itself failed.

mod process_tree;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal as Kind;
use nix::unistd::{Pid, setsid};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::{Plan, this_program};
use process_tree::Tree;

const FAILED: u8 = 125;
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What the tree gets if it is the shim that is asked to end, which only people do.
const GRACE: Duration = Duration::from_secs(10);

/// Stands by one reviewer to its end. To be called on the main thread, outside of every runtime.
pub fn run() -> ExitCode {
    // One thread: a reviewer is killed by the kernel when the thread that started it ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime.and_then(|runtime| runtime.block_on(stand_by()));
    ExitCode::from(ended.unwrap_or_else(|error| complain(FAILED, &format!("no reviewer: {error}"))))
}

/// The last step before the reviewer: turns this process into it.
///
/// A step of its own because the parent-death signal can only be asked for from within.
pub fn exec(parent: u32, argv: &[OsString]) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_pdeathsig(Kind::SIGKILL) {
        return ExitCode::from(complain(FAILED, &format!("no reviewer: {error}")));
    }
    // it may have died before it was asked for
    if u32::try_from(Pid::parent().as_raw()) != Ok(parent) {
        return ExitCode::from(by(Kind::SIGKILL));
    }
    let Some((program, arguments)) = argv.split_first() else {
        return ExitCode::from(complain(NOT_RUNNABLE, "no program is named"));
    };
    #[expect(clippy::disallowed_methods, reason = "nothing is left running here that could be blocked")]
    let error = Command::new(program).args(arguments).exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE };
    ExitCode::from(complain(code, &format!("cannot run {}: {error}", program.display())))
}

/// What the broker says.
enum Order {
    Begin(Plan),
    Stop(Duration),
    /// The life line has ended.
    End,
}

type LifeLine = Lines<BufReader<pipe::Receiver>>;

async fn stand_by() -> io::Result<u8> {
    // Out of reach of the terminal's ^C: when and how to end is the broker's to say. Refused to one who
    // leads a group, as when started by hand.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_child_subreaper(true)?;
        // else "exe", for which nobody would look
        let _ = nix::sys::prctl::set_name(c"countersign");
    }
    let mut child_ended = signal(SignalKind::child())?;
    let mut told_to_end = Requests::listen()?;
    let pipe = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?);
    let pipe = pipe.map_err(|_| io::Error::other("this command is the broker's: its stdin must be a pipe"))?;
    let mut life_line = BufReader::new(pipe).lines();

    let plan = tokio::select! {
        order = next(&mut life_line) => match order? {
            Order::Begin(plan) => plan,
            Order::Stop(_) => return Ok(by(Kind::SIGTERM)),
            Order::End => return Ok(by(Kind::SIGKILL)),
        },
        () = told_to_end.next() => return Ok(by(Kind::SIGTERM)),
    };
    let mut tree = match start(plan) {
        Ok(reviewer) => Tree::below_us(reviewer),
        Err((code, words)) => return Ok(complain(code, &words)),
    };

    let mut kill_at: Option<Instant> = None;
    loop {
        let grace = tokio::select! {
            order = next(&mut life_line) => match order {
                Ok(Order::Stop(grace)) => grace,
                Ok(Order::Begin(_) | Order::End) | Err(_) => break,
            },
            () = told_to_end.next() => GRACE,
            _ = child_ended.recv() => {
                if tree.reap() && tree.code().is_none() {
                    continue;
                }
                break;
            }
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => break,
        };
        if kill_at.is_none() {
            tree.terminate();
        }
        let end = Instant::now() + grace;
        kill_at = Some(kill_at.map_or(end, |earlier| earlier.min(end)));
    }
    tree.kill().await;
    Ok(tree.code().unwrap_or(by(Kind::SIGKILL)))
}

/// Cancel safe.
async fn next(life_line: &mut LifeLine) -> io::Result<Order> {
    let Some(line) = life_line.next_line().await? else { return Ok(Order::End) };
    if let Some(millis) = line.strip_prefix("stop ") {
        let millis = millis.parse().map_err(|_| io::Error::other(format!("not a time to stop in: {millis}")))?;
        return Ok(Order::Stop(Duration::from_millis(millis)));
    }
    // its text, which can hold a token, is nobody's to see
    let plan = serde_json::from_str(&line);
    plan.map(Order::Begin).map_err(|error| io::Error::other(format!("the plan cannot be read: {error}")))
}

/// Starts the reviewer and begins to feed it its prompt; else the exit code and words for it.
fn start(plan: Plan) -> Result<Pid, (u8, String)> {
    let Plan { argv, env, cwd, prompt } = plan;
    if !cwd.is_dir() {
        return Err((NOT_RUNNABLE, format!("cannot run in {}: no such folder", cwd.display())));
    }
    #[expect(clippy::disallowed_methods, reason = "a child of tokio's would be reaped by it instead of by us")]
    let mut command = Command::new(this_program());
    command.arg0("countersign").arg("shim-exec").arg("--parent").arg(Pid::this().to_string()).arg("--").args(argv);
    command.env_clear().envs(env).current_dir(cwd).process_group(0).stdin(Stdio::piped());
    let spawned = command.spawn().and_then(|mut child| {
        let reviewer = i32::try_from(child.id()).map_err(io::Error::other)?;
        if let Some(stdin) = child.stdin.take() {
            feed(stdin.into(), prompt)?;
        }
        Ok(Pid::from_raw(reviewer))
    });
    spawned.map_err(|error| (NOT_RUNNABLE, format!("cannot start a process: {error}")))
}

/// Writes the prompt and closes the pipe, in the reviewer's own time: it may never read.
fn feed(stdin: OwnedFd, prompt: String) -> io::Result<()> {
    let mut stdin = pipe::Sender::from_owned_fd(stdin)?;
    tokio::spawn(async move {
        // one who does not read to the end has its reasons
        let _ = stdin.write_all(prompt.as_bytes()).await;
    });
    Ok(())
}

/// The signals by which people and init ask for an end.
struct Requests {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Requests {
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

/// The exit code for a death by this signal.
fn by(signal: Kind) -> u8 {
    u8::try_from(128 + signal as i32).unwrap_or(FAILED)
}

/// Says why; stderr is the reviewer's log. Without `eprintln`, which panics if nobody listens.
fn complain(code: u8, words: &str) -> u8 {
    let _ = writeln!(io::stderr(), "countersign: {words}");
    code
}
