//! Shows long output with the user's pager, if stdout is a terminal.

use crate::terminal;
use std::{
    io::Write as _,
    process::{Command, Stdio},
    sync::OnceLock,
};
use tokio::{
    runtime::Handle,
    signal::unix::{SignalKind, signal},
};

const DEFAULT_PAGER: &str = "less";
/// Options of less for users without settings of their own: quit if it fits, keep colours, leave the text on the screen.
const LESS_OPTIONS: &str = "FRX";

/// With this exit code a shell says that it found no such program.
const NOT_FOUND: i32 = 127;

/// Whether the command line allows a pager.
static IS_ALLOWED: OnceLock<bool> = OnceLock::new();

/// Called once, before a command runs. Without it there is no pager.
pub(crate) fn allow(is_allowed: bool) {
    IS_ALLOWED.get_or_init(|| is_allowed);
}

/// Shows a text with the pager. Returns false if the text is not shown: it fits on the screen, stdout is not a terminal,
/// the user wants no pager, or the pager cannot be started.
pub(crate) fn show(text: &str) -> bool {
    let is_long = terminal::rows().is_some_and(|rows| text.lines().count() >= rows);
    is_long && IS_ALLOWED.get() == Some(&true) && command().is_some_and(|pager| run(&pager, text))
}

/// `COUNTERSIGN_PAGER`, else `PAGER`, else `less`. `None` if the user wants none.
fn command() -> Option<String> {
    let given = ["COUNTERSIGN_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let pager = given.unwrap_or_else(|| DEFAULT_PAGER.to_owned());
    (!matches!(pager.trim(), "" | "cat")).then_some(pager)
}

/// Runs the pager through a shell, as git does: the variable may contain arguments.
#[expect(clippy::disallowed_methods, reason = "nothing else runs until the user closes the pager")]
fn run(pager: &str, text: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    // Ctrl-C is for the pager. If this process ended first, the shell would read from the terminal beside the pager.
    let _ignored = Handle::try_current().ok().and_then(|_| signal(SignalKind::interrupt()).ok());
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // The user may close the pager before its end.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}
