//! Where the program is, known before the first reviewer is wanted.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{Runtime, RuntimeSettings, wsl};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    #[error("no program {name:?} in PATH ({path}); install it, or give its absolute path in {key}")]
    NotInPath { name: String, path: String, key: &'static str },
    #[error("{path} is no program that can be run (from {key})")]
    NotRunnable { path: String, key: &'static str },
    #[error("pool.runtime = \"command\" needs a program in pool.command")]
    NoCommand,
}

/// Finds the program as `exec` would, but not in entries of PATH that depend on the current folder: reviewers
/// run in one that agents write to. In WSL it is `wsl.exe`; what is inside shows only when it runs.
pub fn find_program(settings: &RuntimeSettings, path: Option<&OsStr>) -> Result<PathBuf, RuntimeError> {
    let (name, key) = wanted(settings)?;
    let given = Path::new(&name);
    if given.components().count() != 1 || given.is_absolute() {
        let found = runnable(given).filter(|found| found.is_absolute());
        return found.ok_or(RuntimeError::NotRunnable { path: name, key });
    }
    let path = path.unwrap_or_default();
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(given)).find_map(|file| runnable(&file));
    found.ok_or_else(|| RuntimeError::NotInPath { name, path: path.to_string_lossy().into_owned(), key })
}

/// The program, and the setting that says which.
fn wanted(settings: &RuntimeSettings) -> Result<(String, &'static str), RuntimeError> {
    if settings.wsl.is_some() {
        return Ok((wsl::PROGRAM.to_owned(), "PATH"));
    }
    match settings.runtime {
        Runtime::Codex => Ok((settings.client("codex"), "pool.program")),
        Runtime::Claude => Ok((settings.client("claude"), "pool.program")),
        Runtime::Command => match settings.command.first().filter(|program| !program.is_empty()) {
            Some(program) => Ok((program.clone(), "pool.command")),
            None => Err(RuntimeError::NoCommand),
        },
    }
}

#[cfg(unix)]
fn runnable(file: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = file.metadata().ok()?;
    (meta.is_file() && meta.permissions().mode() & 0o111 != 0).then(|| file.to_owned())
}

/// A program proper: a script such as `codex.cmd` would need a shell.
#[cfg(not(unix))]
fn runnable(file: &Path) -> Option<PathBuf> {
    [file.to_owned(), file.with_extension("exe")]
        .into_iter()
        .find(|file| file.is_file() && file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("exe")))
}
