//! `claude -p`.

use serde_json::json;

use super::{Errand, RuntimeSettings, SERVER, TOKEN_VARIABLE, texts};

/// The built-in tools that are left: those that only read.
const READING: &str = "Read,Grep,Glob";

pub(super) fn argv(settings: &RuntimeSettings, errand: Errand<'_>) -> Vec<String> {
    let mut argv = vec![settings.program_or("claude"), "-p".to_owned()];
    let allowed = match errand {
        Errand::Agent { mcp_url, .. } => {
            argv.extend(texts(["--mcp-config", &servers(mcp_url)]));
            format!("mcp__{SERVER}__*,{READING}")
        }
        Errand::OneShot { .. } => READING.to_owned(),
    };
    // Without --mcp-config, no server at all.
    argv.push("--strict-mcp-config".to_owned());
    // Else the workspace's own settings count, and with them the hooks in it: whoever may write a file there
    // could run commands as the user. It also keeps Read inside of the workspace.
    argv.extend(texts(["--restricted", "--tools", READING, "--allowedTools", &allowed]));
    argv.extend(texts(["--output-format", "stream-json", "--verbose", "--no-session-persistence"]));
    if let Errand::OneShot { schema, budget_usd, .. } = errand {
        argv.extend(texts(["--json-schema", schema]));
        if let Some(budget) = budget_usd {
            argv.extend(texts(["--max-budget-usd", &budget.to_string()]));
        }
    }
    if let Some(model) = &settings.model {
        argv.extend(texts(["--model", model]));
    }
    if let Some(effort) = settings.effort {
        argv.extend(texts(["--effort", effort.as_str()]));
    }
    argv
}

fn servers(mcp_url: &str) -> String {
    // The client itself puts the variable's value in.
    let authorization = format!("Bearer ${{{TOKEN_VARIABLE}}}");
    let server = json!({ "type": "http", "url": mcp_url, "headers": { "Authorization": authorization } });
    json!({ "mcpServers": { SERVER: server } }).to_string()
}
