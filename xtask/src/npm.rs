//! Installs the npm packages that the page and some tests need, from their lock files.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::subprocess::{program, root, run, succeeds};

/// A copy of the lock file that was installed. File times do not help here: a checkout changes them.
const STAMP: &str = "node_modules/.installed-lock.json";

/// Installs the packages of a folder of the workspace, unless they are installed already. `purpose` says what needs
/// them, and `instead` what to do without npm.
pub(crate) fn install(folder: &str, purpose: &str, instead: &str) -> anyhow::Result<()> {
    let folder = root().join(folder);
    let lock = folder.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = folder.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    anyhow::ensure!(
        succeeds(program("npm").arg("--version")),
        "npm is missing, and {purpose} need it; install Node, or {instead}"
    );
    run(program("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// A program of the packages that are installed in `folder`, which is also its working folder.
pub(crate) fn installed_program(folder: &str, name: impl AsRef<OsStr>) -> Command {
    let folder = root().join(folder);
    let mut command = program(folder.join("node_modules/.bin").join(Path::new(name.as_ref())));
    command.current_dir(folder);
    command
}

#[cfg(test)]
#[path = "npm_tests.rs"]
mod tests;
