//! The agent programs that a reviewer process can run (Claude Code, Codex or a custom command): their settings, and how
//! they are found in PATH.

use crate::persona::Persona;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Environment variables that tell a reviewer process its task. A custom `command` has no other source.
pub const TOKEN_VARIABLE: &str = "COUNTERSIGN_TOKEN";
pub const MCP_URL_VARIABLE: &str = "COUNTERSIGN_MCP_URL";
pub const REVIEWER_ID_VARIABLE: &str = "COUNTERSIGN_REVIEWER_ID";
/// Only for dedicated reviewers: the id of the session, a folder that is kept from turn to turn, and the turn, from 1.
pub const SESSION_ID_VARIABLE: &str = "COUNTERSIGN_SESSION_ID";
pub const SESSION_DIR_VARIABLE: &str = "COUNTERSIGN_SESSION_DIR";
pub const TURN_VARIABLE: &str = "COUNTERSIGN_TURN";

/// Starts programs inside WSL.
pub const WSL_PROGRAM: &str = "wsl.exe";

crate::string_enum! {
    /// The client program that reviews.
    Runtime {
        Codex = "codex",
        Claude = "claude",
        /// Any argv from the settings.
        Command = "command",
    }
}

crate::string_enum! {
    /// The model's reasoning effort: the levels that both clients have.
    Effort { Low = "low", Medium = "medium", High = "high" }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeSettings {
    pub runtime: Runtime,
    /// `None`: `codex` or `claude` from PATH.
    pub program: Option<PathBuf>,
    /// The whole argv of [`Runtime::Command`].
    pub command: Vec<String>,
    /// `None`: the client's own default.
    pub model: Option<String>,
    pub effort: Option<Effort>,
    /// Environment variables passed on in addition to the allow-list, such as the one with an API key.
    pub environment: Vec<String>,
    pub wsl: Option<Wsl>,
}

/// A client installed in WSL on a Windows machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wsl {
    pub distro: String,
    /// The workspace's path inside the distribution.
    pub workspace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("no program {name:?} in PATH ({path}); install it, or set {key} to its absolute path")]
    NotInPath { name: String, path: String, key: &'static str },
    #[error("{path} is not executable (from {key})")]
    NotExecutable { path: String, key: &'static str },
    #[error("pool.runtime = \"command\" needs a program in pool.command")]
    NoCommand,
}

impl RuntimeSettings {
    /// The pool's settings with the persona's own in their place. A program and a model belong to one client, so a
    /// persona with another runtime inherits neither.
    pub fn for_persona(&self, persona: &Persona) -> Self {
        let runtime = persona.runtime.unwrap_or(self.runtime);
        let mut settings = Self { runtime, ..self.clone() };
        if runtime != self.runtime {
            (settings.program, settings.model) = (None, None);
            settings.command.clear();
        }
        settings.program = persona.program.clone().or(settings.program);
        settings.model = persona.model.clone().or(settings.model);
        settings.effort = persona.effort.or(settings.effort);
        if !persona.command.is_empty() {
            settings.command.clone_from(&persona.command);
        }
        settings
    }

    /// The configured program, or the client's usual name.
    pub fn program_or(&self, name: &str) -> String {
        self.program.as_ref().map_or_else(|| name.to_owned(), |program| program.to_string_lossy().into_owned())
    }

    /// Finds the program as `exec` would, but skips relative entries of PATH: reviewers run in a folder that agents
    /// write to. For WSL this is `wsl.exe`; the client inside is checked only when it runs.
    pub fn find_program(
        &self,
        path: Option<&OsStr>,
        is_executable: impl Fn(&Path) -> bool,
    ) -> Result<PathBuf, ProgramError> {
        let (name, key) = self.program_name()?;
        let given = Path::new(&name);
        if given.components().count() != 1 || given.is_absolute() {
            let found = (given.is_absolute() && is_executable(given)).then(|| given.to_owned());
            return found.ok_or(ProgramError::NotExecutable { path: name, key });
        }
        let path = path.unwrap_or_default();
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let found = folders.map(|folder| folder.join(given)).find(|file| is_executable(file));
        found.ok_or_else(|| ProgramError::NotInPath { name, path: path.to_string_lossy().into_owned(), key })
    }

    /// The program's name or path, and the setting it comes from.
    fn program_name(&self) -> Result<(String, &'static str), ProgramError> {
        if self.wsl.is_some() {
            return Ok((WSL_PROGRAM.to_owned(), "PATH"));
        }
        match self.runtime {
            Runtime::Codex => Ok((self.program_or("codex"), "pool.program")),
            Runtime::Claude => Ok((self.program_or("claude"), "pool.program")),
            Runtime::Command => match self.command.first().filter(|program| !program.is_empty()) {
                Some(program) => Ok((program.clone(), "pool.command")),
                None => Err(ProgramError::NoCommand),
            },
        }
    }
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
