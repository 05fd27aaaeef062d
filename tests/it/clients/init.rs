//! After `init` the real Claude Code and the real Codex find the broker, with a fresh home folder.

use crate::support::{
    agent_clients::{self, installed},
    broker::TestBroker,
};
use serde_json::{Value, json};
use std::{
    path::Path,
    process::{Output, Stdio},
};
use tempfile::TempDir;
use tokio::process::Command;

pub(crate) fn are_skipped() -> bool {
    agent_clients::are_skipped("the real clients after init")
}

/// A command of a client in the project, without the settings of this machine.
async fn runs(program: &Path, home: &Path, dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_clear().kill_on_drop(true).stdin(Stdio::null());
    let variables = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TERM", "dumb"),
        ("ANTHROPIC_API_KEY", "sk-ant-made-up"),
        // Otherwise it waits long for a missing server.
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // The discard port is closed, so every HTTPS request fails at once.
        ("HTTPS_PROXY", "http://127.0.0.1:9"),
        ("NO_PROXY", "127.0.0.1,localhost"),
    ];
    command.envs(variables).env("HOME", home);
    let limit = std::time::Duration::from_secs(90);
    tokio::time::timeout(limit, command.output()).await.expect("it ends").unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The files name the data folder, as clients pass on little of their environment.
pub(crate) async fn init(broker: &TestBroker, home: &Path, options: &[&str]) {
    let data_dir = broker.data_dir().display().to_string();
    let line: Vec<&str> =
        ["init", "--yes", "--data-dir", &data_dir].into_iter().chain(options.iter().copied()).collect();
    crate::support::command::command_in(home, &broker.repo().path(), &line).stdout().await;
}

#[tokio::test]
async fn claude_code_connects_to_the_broker_of_the_project_and_of_the_user() {
    if are_skipped() {
        return;
    }
    let (broker, home) = (TestBroker::start().await, TempDir::new().unwrap());
    let (claude, dir) = (installed::claude(), broker.repo().path());
    init(&broker, home.path(), &["--client", "claude"]).await;
    let waits = text(&runs(&claude, home.path(), &dir, &["mcp", "get", "countersign"]).await);
    assert!(waits.contains("Pending approval") && waits.contains("Timeout: 120000ms"), "{waits}");
    // What Claude Code stores when the user agrees.
    broker.repo().write(".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["countersign"]}"#);
    trust(home.path(), &dir);
    let listed = text(&runs(&claude, home.path(), &dir, &["mcp", "list"]).await);
    assert!(listed.contains("countersign: ") && listed.contains("Connected"), "{listed}");

    let other = TempDir::new().unwrap();
    init(&broker, other.path(), &["--client", "claude", "--user"]).await;
    std::fs::remove_file(dir.join(".mcp.json")).unwrap();
    let got = text(&runs(&claude, other.path(), &dir, &["mcp", "get", "countersign"]).await);
    assert!(got.contains("User config") && got.contains("Connected"), "{got}");
}

/// As if the user had trusted the folder at the first start.
pub(crate) fn trust(home: &Path, dir: &Path) {
    let file = home.join(".claude.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".into());
    let mut state: Value = serde_json::from_str(&text).unwrap();
    state["projects"][dir.to_str().unwrap()] = json!({ "hasTrustDialogAccepted": true });
    std::fs::write(&file, state.to_string()).unwrap();
}

#[tokio::test]
async fn codex_lists_the_broker_of_a_trusted_project_and_of_the_user() {
    if are_skipped() {
        return;
    }
    let (broker, home) = (TestBroker::start().await, TempDir::new().unwrap());
    let (codex, dir) = (installed::codex(), broker.repo().path());
    let servers = async |home: &Path| -> Vec<Value> {
        let listed = runs(&codex, home, &dir, &["mcp", "list", "--json"]).await;
        serde_json::from_slice(&listed.stdout).unwrap_or_else(|_| panic!("{listed:?}"))
    };
    init(&broker, home.path(), &["--client", "codex"]).await;
    assert!(servers(home.path()).await.is_empty(), "not before the user trusts the project");
    let trusted = format!("[projects.'{}']\ntrust_level = \"trusted\"\n", dir.display());
    std::fs::create_dir_all(home.path().join(".codex")).unwrap();
    std::fs::write(home.path().join(".codex/config.toml"), trusted).unwrap();
    let listed = servers(home.path()).await;
    assert_eq!((&listed[0]["name"], &listed[0]["tool_timeout_sec"]), (&json!("countersign"), &json!(120.0)));

    let other = TempDir::new().unwrap();
    init(&broker, other.path(), &["--client", "codex", "--user"]).await;
    let listed = servers(other.path()).await;
    assert_eq!(listed[0]["transport"]["command"], env!("CARGO_BIN_EXE_countersign"));
}
