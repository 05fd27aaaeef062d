//! The JSON that agents' clients write to a hook, and the JSON that they read back.
//!
//! Claude Code and Codex share the format. Exit codes and stray output would mean something to them, so a hook ends
//! with 0 and prints one object, whatever happens; an empty one is no opinion.

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io::{self, Read as _, Write as _},
    path::PathBuf,
    time::Duration,
};

/// A client waits for a minute, as `init` tells it, and takes longer for a yes: the answer must be there well before.
const PATIENCE: Duration = Duration::from_secs(20);
/// A command line can hold a file; a hook needs no more than that.
const MAX_INPUT: u64 = 32 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HookInput {
    pub session_id: String,
    pub cwd: Option<PathBuf>,
    pub tool_name: String,
    pub tool_input: Value,
    pub stop_hook_active: bool,
}

impl HookInput {
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut text = String::new();
        io::stdin().take(MAX_INPUT).read_to_string(&mut text).context("cannot read what the client says")?;
        serde_json::from_str(&text).context("cannot read what the client says")
    }

    /// Where the tool works: Codex names a folder for a single command.
    pub(super) fn dir(&self) -> anyhow::Result<PathBuf> {
        let dir = match &self.cwd {
            Some(dir) => dir.clone(),
            None => std::env::current_dir()?,
        };
        Ok(self.tool_input["workdir"].as_str().map_or_else(|| dir.clone(), |within| dir.join(within)))
    }
}

/// A reviewer of the pool is nobody's proposer.
pub(super) fn is_reviewer() -> bool {
    std::env::var_os(domain::runtime::REVIEWER_ID_VARIABLE).is_some_and(|id| !id.is_empty())
}

pub(super) async fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, work).await.context("it took too long")?
}

/// Prints what was decided; what went wrong goes to stderr, which clients keep apart.
pub(super) fn answer(decided: anyhow::Result<Option<Value>>) {
    let value = match decided {
        Ok(value) => value.unwrap_or_else(|| json!({})),
        Err(error) => {
            let _ = writeln!(io::stderr(), "countersign: {error:#}");
            json!({})
        }
    };
    let _ = writeln!(io::stdout(), "{value}");
}
