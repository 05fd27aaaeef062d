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
    pub token: &'a str,
    /// The broker's `/mcp/reviewer`.
    pub mcp_url: &'a str,
    /// Also the folder to start the process in: Claude Code takes it from there.
    pub workspace: &'a Path,
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
        Runtime::Codex => codex::argv(settings, launch.mcp_url, &workspace),
        Runtime::Claude => claude::argv(settings, launch.mcp_url),
        Runtime::Command => settings.command.clone(),
    };
    let argv = match &settings.wsl {
        Some(wsl) => wsl::argv(wsl, argv),
        None => argv,
    };
    Invocation { argv, env: environment::of(settings, launch, own_env) }
}

impl RuntimeSettings {
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
