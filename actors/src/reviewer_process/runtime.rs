//! What a reviewer process is started with: settings in, argv and environment out.
//!
//! There is no shell anywhere. No secret stands in argv, which every process of the machine may read: the
//! token goes by a variable, whose name alone the client is told. The user's own client settings stay
//! untouched.

mod claude;
mod codex;
mod environment;
mod wsl;

use std::{fmt, path::Path};

pub use domain::runtime::{
    Effort, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, Runtime, RuntimeSettings, TOKEN_VARIABLE, Wsl,
};

/// The broker's name in the configuration of a client, and so in the names of its tools.
const SERVER: &str = "countersign";

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

/// A process to start, with exactly this environment. Run what [`RuntimeSettings::find_program`] found, under the name `argv[0]`.
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

fn texts<const N: usize>(words: [&str; N]) -> [String; N] {
    words.map(str::to_owned)
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
