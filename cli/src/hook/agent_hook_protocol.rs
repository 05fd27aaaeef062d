//! Types for the JSON that agent clients send to a hook and read from it. Claude Code and Codex share this format.
//!
//! Clients give a meaning to exit codes and stray output. A hook therefore always exits with 0 and prints exactly one
//! JSON object; an empty object means "no opinion".

use anyhow::Context as _;
use domain::runtime::REVIEWER_ID_VARIABLE;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    io::{self, Read as _, Write as _},
    path::PathBuf,
    time::Duration,
};

/// `init` sets the client's timeout to a minute, and a client treats a timeout as permission. Answer well before.
pub(super) const HOOK_TIMEOUT: Duration = Duration::from_secs(20);
/// A command line can contain a whole file.
const MAX_INPUT_BYTES: u64 = 32 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HookInput {
    pub session_id: String,
    cwd: Option<PathBuf>,
    /// The arguments of a tool call, which every tool names differently.
    tool_input: Value,
    pub stop_hook_active: bool,
}

impl HookInput {
    pub(super) fn from_stdin() -> anyhow::Result<Self> {
        let mut text = String::new();
        io::stdin().take(MAX_INPUT_BYTES).read_to_string(&mut text).context("cannot read the hook input")?;
        serde_json::from_str(&text).context("cannot read the hook input")
    }

    /// The directory in which the tool works. Codex can name one for a single command.
    pub(super) fn dir(&self) -> anyhow::Result<PathBuf> {
        let dir = match &self.cwd {
            Some(dir) => dir.clone(),
            None => std::env::current_dir()?,
        };
        let workdir = self.tool_input["workdir"].as_str();
        Ok(workdir.map_or_else(|| dir.clone(), |within| dir.join(within)))
    }

    /// The command line of a shell tool. A list of words is quoted into one.
    pub(super) fn command_line(&self) -> Option<String> {
        let is_command = |argument: &&Value| argument.is_string() || argument.is_array();
        let argument = ["command", "cmd"].map(|name| &self.tool_input[name]).into_iter().find(is_command)?;
        match argument.as_array() {
            Some(words) => Some(words.iter().filter_map(Value::as_str).map(quote).collect::<Vec<_>>().join(" ")),
            None => argument.as_str().map(str::to_owned),
        }
    }
}

/// A word in single quotes, so that a shell reads it unchanged.
pub(super) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a hook tells the client. Its default means no opinion.
#[derive(Debug, Default, Serialize)]
pub(super) struct HookOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    event: Option<EventOutput>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "hookEventName", rename_all_fields = "camelCase")]
enum EventOutput {
    PreToolUse { permission_decision: &'static str, permission_decision_reason: String },
    SessionStart { additional_context: String },
}

impl HookOutput {
    /// Refuses a tool call.
    pub(super) fn deny(reason: String) -> Self {
        let event = EventOutput::PreToolUse { permission_decision: "deny", permission_decision_reason: reason };
        Self { event: Some(event), ..Self::default() }
    }

    /// Keeps the agent from ending its turn.
    pub(super) fn block(reason: String) -> Self {
        Self { decision: Some("block"), reason: Some(reason), ..Self::default() }
    }

    /// Adds text to the agent's context.
    pub(super) fn context(text: String) -> Self {
        Self { event: Some(EventOutput::SessionStart { additional_context: text }), ..Self::default() }
    }
}

/// Whether this process belongs to a pool reviewer, which never proposes anything.
pub(super) fn is_reviewer() -> bool {
    std::env::var_os(REVIEWER_ID_VARIABLE).is_some_and(|id| !id.is_empty())
}

/// Runs a hook and prints its output. It has no opinion about the work of a reviewer.
pub(super) async fn respond(hook: impl Future<Output = anyhow::Result<HookOutput>>) {
    print(if is_reviewer() { Ok(HookOutput::default()) } else { with_timeout(hook).await });
}

/// Runs a hook with a time limit.
async fn with_timeout<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(HOOK_TIMEOUT, work).await.context("the check timed out")?
}

/// Prints the output of a hook. An error goes to stderr, which clients keep separate, and counts as no opinion.
pub(super) fn print(output: anyhow::Result<HookOutput>) {
    let output = output.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "countersign: {error:#}");
        HookOutput::default()
    });
    if let Ok(json) = serde_json::to_string(&output) {
        let _ = writeln!(io::stdout(), "{json}");
    }
}

#[cfg(test)]
mod tests {
    use super::{HookInput, HookOutput};
    use serde_json::{Value, json};

    fn command_line(tool_input: Value) -> Option<String> {
        let input: HookInput = serde_json::from_value(json!({ "tool_input": tool_input })).unwrap();
        input.command_line()
    }

    #[test]
    fn a_command_is_a_line_or_words() {
        assert_eq!(command_line(json!({ "command": "git x" })).unwrap(), "git x");
        assert_eq!(command_line(json!({ "command": null, "cmd": "git x" })).unwrap(), "git x");
        assert_eq!(command_line(json!({ "command": ["bash", "-lc", "it's"] })).unwrap(), r"'bash' '-lc' 'it'\''s'");
        assert_eq!(command_line(json!({ "command": ["a", 3, "b"], "workdir": 7 })).unwrap(), "'a' 'b'");
        for other in [json!({ "file_path": "a" }), json!({ "command": 3 }), json!("text"), json!(null)] {
            assert_eq!(command_line(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn outputs_have_the_fields_that_clients_read() {
        let json = |output: HookOutput| serde_json::to_value(output).unwrap();
        assert_eq!(json(HookOutput::default()), json!({}));
        assert_eq!(json(HookOutput::block("why".into())), json!({ "decision": "block", "reason": "why" }));
        assert_eq!(
            json(HookOutput::deny("why".into())),
            json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why",
            }})
        );
        assert_eq!(
            json(HookOutput::context("text".into())),
            json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": "text" } })
        );
    }
}
