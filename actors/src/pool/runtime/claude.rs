//! `claude -p`.

use serde_json::json;

use super::{RuntimeSettings, SERVER, TOKEN, texts};

/// The built-in tools that are left: those that only read.
const READING: &str = "Read,Grep,Glob";

pub(super) fn argv(settings: &RuntimeSettings, mcp_url: &str) -> Vec<String> {
    // The client itself puts the variable's value in.
    let authorization = format!("Bearer ${{{TOKEN}}}");
    let server = json!({ "type": "http", "url": mcp_url, "headers": { "Authorization": authorization } });
    let servers = json!({ "mcpServers": { SERVER: server } }).to_string();

    let mut argv = vec![settings.client("claude")];
    argv.extend(texts(["-p", "--mcp-config", &servers, "--strict-mcp-config"]));
    // Else the workspace's own settings count, and with them the hooks in it: whoever may write a file there
    // could run commands as the user. It also keeps Read inside of the workspace.
    argv.extend(texts(["--restricted", "--tools", READING]));
    argv.extend(texts(["--allowedTools", &format!("mcp__{SERVER}__*,{READING}")]));
    argv.extend(texts(["--output-format", "stream-json", "--verbose", "--no-session-persistence"]));
    if let Some(model) = &settings.model {
        argv.extend(texts(["--model", model]));
    }
    if let Some(effort) = settings.effort {
        argv.extend(texts(["--effort", effort.as_str()]));
    }
    argv
}
