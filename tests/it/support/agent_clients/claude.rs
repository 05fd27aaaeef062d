//! `claude -p`.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{ClientOutcome, ClientRun, SERVER_NAME, Server, installed};
use crate::support::model_server::ModelServer;

pub(super) fn environment(model: &ModelServer, home: &Path) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("CLAUDE_CONFIG_DIR", home.join("claude").to_str().unwrap().to_owned()),
        ("ANTHROPIC_BASE_URL", model.anthropic_url()),
        ("ANTHROPIC_API_KEY", "sk-ant-made-up".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
    ]
}

pub(super) fn command(run: &ClientRun<'_>) -> Command {
    let server = match &run.server {
        Server::Http { url } => json!({ "type": "http", "url": url }),
        Server::Stdio { command, args } => {
            json!({ "type": "stdio", "command": command, "args": args })
        }
    };
    let config = json!({ "mcpServers": { SERVER_NAME: server } }).to_string();

    let mut command = Command::new(installed::claude());
    command.args(["-p", "--mcp-config", &config, "--strict-mcp-config"]);
    command.args(["--allowedTools", &format!("mcp__{SERVER_NAME}__*")]);
    command.args(["--output-format", "stream-json", "--verbose", "--no-session-persistence"]);
    command
}

pub(super) fn read_event(event: &Value, outcome: &mut ClientOutcome) {
    if event["type"] == "result" {
        let words = event["result"].as_str().or(event["subtype"].as_str());
        outcome.final_text = words.unwrap_or_default().to_owned();
        outcome.usage = event["usage"].clone();
    }
}
