//! A client in WSL: `wsl.exe` starts it, and takes over the variables that WSLENV names.

use super::texts;
use domain::runtime::{WSL_PROGRAM, Wsl};

/// With `--exec`, since a command after `--` is given to the user's shell. So no profile is read either, and
/// a client outside of the default PATH has to be named by its path.
pub(super) fn argv(wsl: &Wsl, argv: Vec<String>) -> Vec<String> {
    let start = texts([WSL_PROGRAM, "--distribution", &wsl.distro, "--cd", &wsl.workspace, "--exec"]);
    start.into_iter().chain(argv).collect()
}

/// `/u`: on the way into Linux only.
pub(super) fn crossing<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("{name}/u")).collect();
    names.join(":")
}
