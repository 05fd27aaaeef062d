//! `codex exec`.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{ClientOutcome, ClientRun, SERVER_NAME, Server, installed};
use crate::support::model_server::ModelServer;

pub(super) fn environment(model_name: &str, model: &ModelServer, home: &Path) -> Vec<(&'static str, String)> {
    let codex_home = home.join("codex");
    std::fs::create_dir_all(&codex_home).unwrap();
    let config = json!({
        "model": model_name,
        "model_provider": "scripted",
        "check_for_update_on_startup": false,
        "web_search": "disabled",
        "analytics": { "enabled": false },
        "features": { "plugins": false, "apps": false },
        "model_providers": { "scripted": {
            "name": "scripted", "base_url": model.openai_url(), "wire_api": "responses",
            "env_key": "SCRIPTED_MODEL_KEY", "request_max_retries": 1, "stream_max_retries": 1,
        } },
    });
    std::fs::write(codex_home.join("config.toml"), toml::to_string(&config).unwrap()).unwrap();
    vec![("CODEX_HOME", codex_home.to_str().unwrap().to_owned()), ("SCRIPTED_MODEL_KEY", "sk-made-up".to_owned())]
}

pub(super) fn command(run: &ClientRun<'_>) -> Command {
    let mut command = Command::new(installed::codex());
    command.args(["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"]);
    // Values are TOML, which writes strings and lists of strings as JSON does.
    let mut set = |key: &str, value: Value| {
        command.args(["-c", &format!("mcp_servers.{SERVER_NAME}.{key}={value}")]);
    };
    // Otherwise the first turn may start before the broker's tools are loaded.
    set("required", true.into());
    set("startup_timeout_sec", 30.into());
    set("tool_timeout_sec", 120.into());
    match &run.server {
        Server::Http { url } => set("url", url.as_str().into()),
        Server::Stdio { command, args } => {
            set("command", command.as_str().into());
            set("args", args.as_slice().into());
        }
    }
    command.arg("-");
    command
}

pub(super) fn read_event(event: &Value, outcome: &mut ClientOutcome) {
    match event["type"].as_str().unwrap_or_default() {
        "item.completed" if event["item"]["type"] == "agent_message" => {
            outcome.final_text = event["item"]["text"].as_str().unwrap_or_default().to_owned();
        }
        "turn.completed" => outcome.usage = event["usage"].clone(),
        "turn.failed" => outcome.final_text = format!("turn failed: {}", event["error"]),
        _ => {}
    }
}
