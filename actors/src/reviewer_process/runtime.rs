//! What a reviewer process is started with: settings in, argv and environment out.
//!
//! There is no shell anywhere. No secret stands in argv, which every process of the machine may read: the
//! token goes by a variable, whose name alone the client is told. The user's own client settings stay
//! untouched.

mod claude;
mod codex;
mod environment;
mod program;
mod wsl;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use program::{RuntimeError, find_program};

use crate::personas::Persona;

/// The variables that every reviewer learns its task from, and the only way for a `command`.
pub const TOKEN: &str = "COUNTERSIGN_TOKEN";
pub const MCP_URL: &str = "COUNTERSIGN_MCP_URL";
pub const REVIEWER_ID: &str = "COUNTERSIGN_REVIEWER_ID";

/// The broker's name in the configuration of a client, and so in the names of its tools.
const SERVER: &str = "countersign";

/// Which program reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    Codex,
    Claude,
    /// Any argv from the settings.
    Command,
}

impl Runtime {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Command => "command",
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How hard the model thinks: the levels that both clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeSettings {
    pub runtime: Runtime,
    /// Left out: `codex` or `claude` from PATH.
    pub program: Option<PathBuf>,
    /// The whole argv of [`Runtime::Command`].
    pub command: Vec<String>,
    /// Left out: what the client itself is set to.
    pub model: Option<String>,
    pub effort: Option<Effort>,
    /// Names of variables that are handed on beside the allow-list, such as that of an API key.
    pub environment: Vec<String>,
    pub wsl: Option<Wsl>,
}

/// A client that lives in Linux on a Windows machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wsl {
    pub distro: String,
    /// The workspace as Linux calls it.
    pub workspace: String,
}

/// What differs from one reviewer to the next.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    pub reviewer_id: &'a str,
    /// Also the folder to start the process in: Claude Code takes it from there.
    pub workspace: &'a Path,
    pub errand: Errand<'a>,
}

/// What a client is started for.
#[derive(Clone, Copy)]
pub enum Errand<'a> {
    /// To look for work itself.
    Agent {
        token: &'a str,
        /// The broker's `/mcp/reviewer`.
        mcp_url: &'a str,
    },
    /// To answer its prompt once. It speaks to nobody but its model, so it is told of no broker and given no token.
    OneShot {
        /// What the answer has to look like, as text and as a file.
        schema: &'a str,
        schema_file: &'a Path,
        /// What the run may cost, where the client itself can keep to it.
        budget_usd: Option<f64>,
    },
}

/// A process to start, with exactly this environment. Run what [`find_program`] found, under the name `argv[0]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// Without the values of variables, so that none of them gets into a log.
impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Invocation").field("argv", &self.argv).field("env", &names).finish()
    }
}

/// `own_env` looks up a variable of the broker itself. The prompt goes to the process by stdin, which has to
/// be closed after it: the clients read to its end before they begin.
pub fn invocation(
    settings: &RuntimeSettings,
    launch: &Launch<'_>,
    own_env: impl Fn(&str) -> Option<String>,
) -> Invocation {
    let workspace = match &settings.wsl {
        Some(wsl) => wsl.workspace.clone(),
        None => launch.workspace.to_string_lossy().into_owned(),
    };
    let argv = match settings.runtime {
        Runtime::Codex => codex::argv(settings, launch.errand, &workspace),
        Runtime::Claude => claude::argv(settings, launch.errand),
        Runtime::Command => settings.command.clone(),
    };
    let argv = match &settings.wsl {
        Some(wsl) => wsl::argv(wsl, argv),
        None => argv,
    };
    Invocation { argv, env: environment::of(settings, launch, own_env) }
}

impl RuntimeSettings {
    /// As this persona has it. A program and a model are those of a client, so another client has neither of the pool's.
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

    /// The client's program as it is set, before it is looked for.
    fn client(&self, name: &str) -> String {
        self.program.as_ref().map_or_else(|| name.to_owned(), |program| program.to_string_lossy().into_owned())
    }
}

fn texts<const N: usize>(words: [&str; N]) -> [String; N] {
    words.map(str::to_owned)
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
