//! Runs other programs for the xtask commands. xtask exits with their exit code, and Ctrl-C reaches them because they
//! share its process group.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Context as _;

/// A program failed and has already printed its error.
#[derive(Debug)]
pub(crate) struct Exit(ExitStatus);

impl Exit {
    /// The exit code as a shell reports it: 128 plus the number of the signal, if a signal ended the program.
    pub(crate) fn code(&self) -> ExitCode {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&self.0);
        #[cfg(not(unix))]
        let signal: Option<i32> = None;
        let code = self.0.code().or(signal.map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
    }

    pub(crate) fn is(&self, code: i32) -> bool {
        self.0.code() == Some(code)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Exit {}

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The folder of the xtask binary: `target/debug`, also if the target folder is elsewhere.
pub(crate) fn built() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find the xtask binary")?;
    let folder = program.parent().context("the xtask binary has no parent folder")?;
    Ok(folder.to_owned())
}

/// The target folder of the workspace.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let built = built()?;
    Ok(built.parent().context("xtask was not built in a target folder")?.to_owned())
}

#[expect(clippy::disallowed_methods, reason = "xtask has no async runtime to block")]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// The cargo that runs xtask.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut cargo = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments);
    cargo
}

/// Prints the command and runs it.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = Path::new(command.get_program());
    let name = name.file_stem().unwrap_or(name.as_os_str()).to_owned();
    let words = [name.as_os_str()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    eprintln!("xtask: {}", words.join(" "));
    let status = command.status().with_context(|| format!("cannot run {}", name.display()))?;
    match status.success() {
        true => Ok(()),
        false => Err(Exit(status).into()),
    }
}

/// Whether the program exists and succeeds. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let output = command.output();
    output.is_ok_and(|output| output.status.success())
}
