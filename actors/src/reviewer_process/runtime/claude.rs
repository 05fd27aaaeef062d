//! The command line of Claude Code: `claude -p`.

use serde_json::json;

use super::{RunMode, RuntimeSettings, SERVER_NAME, TOKEN_VARIABLE, strings};

/// The built-in tools that only read.
const READ_TOOLS: &str = "Read,Grep,Glob";

pub(crate) fn argv(settings: &RuntimeSettings, mode: RunMode<'_>) -> Vec<String> {
    let mut argv = vec![settings.program_or("claude"), "-p".to_owned()];
    let allowed = match mode {
        RunMode::Agent { mcp_url, .. } => {
            argv.extend(strings(["--mcp-config", &servers(mcp_url)]));
            format!("mcp__{SERVER_NAME}__*,{READ_TOOLS}")
        }
        RunMode::OneShot { .. } => READ_TOOLS.to_owned(),
    };
    // Ignores the servers of the user's own settings.
    argv.push("--strict-mcp-config".to_owned());
    // Ignores settings and hooks in the workspace: a proposal could add a hook that runs commands as the user. Also limits
    // Read to the workspace.
    argv.extend(strings(["--restricted", "--tools", READ_TOOLS, "--allowedTools", &allowed]));
    argv.extend(strings(["--output-format", "stream-json", "--verbose", "--no-session-persistence"]));
    if let RunMode::OneShot { schema, budget_usd, .. } = mode {
        argv.extend(strings(["--json-schema", schema]));
        if let Some(budget) = budget_usd {
            argv.extend(strings(["--max-budget-usd", &budget.to_string()]));
        }
    }
    if let Some(model) = &settings.model {
        argv.extend(strings(["--model", model]));
    }
    if let Some(effort) = settings.effort {
        argv.extend(strings(["--effort", effort.as_str()]));
    }
    argv
}

fn servers(mcp_url: &str) -> String {
    // The client replaces the variable by its value.
    let authorization = format!("Bearer ${{{TOKEN_VARIABLE}}}");
    let server = json!({ "type": "http", "url": mcp_url, "headers": { "Authorization": authorization } });
    json!({ "mcpServers": { SERVER_NAME: server } }).to_string()
}
