//! The private home folder that an agent program uses as a dedicated reviewer, instead of the user's own (`~/.claude`,
//! `~/.codex`). It contains only the sessions of this reviewer, and a link to the user's login.

use super::runtime::Runtime;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

const CODEX_SETTINGS: &str = "config.toml";

/// The folder of one reviewer. `folder` is that of the pool.
pub(crate) fn path(folder: &Path, reviewer: &str) -> PathBuf {
    folder.join("sessions").join(reviewer)
}

/// Deletes the folders of all reviewers except those in `kept`.
pub(crate) fn remove_others(folder: &Path, kept: &HashSet<String>) {
    let homes = std::fs::read_dir(folder.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    for home in homes.filter(|home| home.file_name().to_str().is_none_or(|name| !kept.contains(name))) {
        if let Err(error) = std::fs::remove_dir_all(home.path()) {
            tracing::warn!(folder = %home.path().display(), %error, "cannot remove the session of a reviewer");
        }
    }
}

/// Creates the folder anew, readable only by its owner.
pub(crate) fn create(home: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    crate::reviewer_workspaces::create(home)
}

/// Links the user's login into the folder, before every run: the user may have logged in since the last one. `own_env`
/// looks up a variable of the broker itself.
pub(crate) fn link_login(home: &Path, runtime: Runtime, own_env: impl Fn(&str) -> Option<String>) -> io::Result<()> {
    // A login is refreshed through the link; a copy would leave the user with a used refresh token.
    for LoginFile { name, original, .. } in login_files(runtime, own_env) {
        let link = home.join(name);
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(original, link)?;
        }
    }
    Ok(())
}

/// A file of the user's that a client needs to reach its model.
pub(crate) struct LoginFile {
    name: &'static str,
    pub(crate) original: PathBuf,
    /// The client writes a refreshed login into it.
    pub(crate) is_refreshed: bool,
}

/// The files of the user's login that exist.
pub(crate) fn login_files(runtime: Runtime, own_env: impl Fn(&str) -> Option<String>) -> Vec<LoginFile> {
    let Some(user_home) = user_home(runtime, own_env) else { return Vec::new() };
    let files = linked_files(runtime).iter().map(|name| {
        let is_refreshed = *name != CODEX_SETTINGS;
        LoginFile { name, original: user_home.join(name), is_refreshed }
    });
    files.filter(|file| file.original.is_file()).collect()
}

/// Where the client keeps the user's login and settings.
fn user_home(runtime: Runtime, own_env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let (variable, default) = match runtime {
        Runtime::Codex => ("CODEX_HOME", ".codex"),
        Runtime::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        Runtime::Command => return None,
    };
    let given = own_env(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(Path::new(&own_env("HOME")?).join(default)))
}

/// Codex reads the provider of the model from its settings. Claude Code runs without the user's settings.
const fn linked_files(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Codex => &["auth.json", CODEX_SETTINGS],
        Runtime::Claude => &[".credentials.json"],
        Runtime::Command => &[],
    }
}

#[cfg(test)]
#[path = "session_home_tests.rs"]
mod tests;
