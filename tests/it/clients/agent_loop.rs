//! The complete loop with real agents. Claude Code, connected by `init`, cannot commit unapproved work; it submits the
//! work,
//! a Codex of the pool approves it, and the commit passes. Only the models are scripted.
#![cfg(target_os = "linux")]

use crate::{
    clients::init::{are_skipped, init, trust},
    support::{
        agent_clients::{Client, installed},
        approvals::vote,
        broker::TestBroker,
        client::{id, proposal_with},
        model_server::{ModelServer, Script},
    },
};
use serde_json::{Value, json};
use std::{path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

/// Claude Code, a model and a reviewer take a while on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// `claude -p` in the broker's repository: the events it printed.
async fn claude(broker: &TestBroker, home: &Path, model: &ModelServer) -> Vec<Value> {
    let mut command = Command::new(installed::claude());
    command.args([
        "-p",
        "--allowedTools",
        "Bash",
        "mcp__countersign__*",
        "--output-format",
        "stream-json",
        "--verbose",
    ]);
    command.env_clear().envs(Client::Claude.environment(model, home)).env_remove("CLAUDE_CONFIG_DIR");
    for (name, value) in [("NAME", "Test"), ("EMAIL", "test@example.invalid")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.current_dir(broker.repo().path()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Do your work, and have it reviewed.").await.unwrap();
    let ended = timeout(LIMIT, child.wait_with_output()).await.expect("it ends").unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{printed}{}", String::from_utf8_lossy(&ended.stderr));
    printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Its last message.
fn last_words(events: &[Value]) -> &str {
    let result = events.iter().rfind(|event| event["type"] == "result").expect("it came to a result");
    result["result"].as_str().unwrap_or_default()
}

/// A home folder in which Claude Code is connected and trusts the project.
async fn connected(broker: &TestBroker) -> TempDir {
    let home = TempDir::new().unwrap();
    init(broker, home.path(), &["--client", "claude,codex,gemini", "--client-hooks"]).await;
    broker.repo().write(".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["countersign"]}"#);
    trust(home.path(), &broker.repo().path());
    // The files of init are not part of the review.
    let exclude = broker.repo().path().join(".git/info/exclude");
    std::fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    std::fs::write(exclude, "/.claude/\n/.codex/\n/.gemini/\n/.mcp.json\n/AGENTS.md\n").unwrap();
    home
}

/// Codex as the pool starts it: claims a review, reads it, approves.
fn reviewer() -> Script {
    let verdict = json!({
        "review_id": "${review_id}", "verdict": "approved", "reviewer_id": "${claimed_by}",
        "claim_generation": "${claim_generation}", "content_hash": "${content_hash}",
    });
    Script::new()
        .call("list_reviews", json!({ "status": "pending", "wait": true, "timeout_seconds": 25 }))
        .until("review_id", 4)
        .save("review_id")
        .call("claim_review", json!({ "review_id": "${review_id}" }))
        .save("claimed_by")
        .save("claim_generation")
        .call("get_proposal", json!({ "review_id": "${review_id}" }))
        .save("content_hash")
        .call("submit_verdict", verdict)
        .finish("approved")
}

#[tokio::test]
async fn claude_code_commits_only_what_a_codex_of_the_pool_approved() {
    if are_skipped() {
        return;
    }
    let codex_home = TempDir::new().unwrap();
    let reviewing = ModelServer::start(reviewer()).await;
    let variables = Client::Codex.environment(&reviewing, codex_home.path());
    let pool = json!({ "pool": { "enabled": true, "runtime": "codex", "program": installed::codex(),
                                 "environment": ["HTTPS_PROXY", "NO_PROXY", "SCRIPTED_MODEL_KEY"] } });
    let broker = TestBroker::with_env(variables, &toml::to_string(&pool).unwrap()).await;
    let home = connected(&broker).await;
    broker.repo().write("greeting.txt", "one\nzwei\nthree\n");
    let diff = broker.repo().git(&["diff"]) + "\n";

    let commit = json!({ "command": "git commit -am 'say it in German'", "description": "commit" });
    let script = Script::new()
        .call("Bash", commit.clone())
        .call("create_review", proposal_with("say it in German", json!({ "diff": diff })))
        .save("review_id")
        .call("get_review_status", json!({ "review_id": "${review_id}", "wait": true, "timeout_seconds": 25 }))
        .until("approved_hash", 20)
        .call("Bash", commit)
        .finish("landed");
    let model = ModelServer::start(script).await;
    let events = claude(&broker, home.path(), &model).await;
    assert!(last_words(&events).starts_with("SCRIPT-OK landed"), "{events:#?}\n{}", broker.log());
    let denial = model.asked();
    assert!(denial.contains("countersign request"), "the denial says what to do: {denial}");

    let repo = broker.repo();
    assert_eq!(repo.git(&["log", "--format=%s"]), "say it in German\nfirst", "one commit, the first was stopped");
    assert_eq!(broker.command(&["gate", "--commit", "HEAD"]).finish().await.code, 0);
    let verified = broker.command(&["verify", "HEAD~1..HEAD", "--json"]).json().await;
    assert_eq!(verified["commits"][0]["standing"], "proven", "{verified}");
    repo.write("greeting.txt", "one\nzwei \nthree\n");
    repo.git(&["commit", "--quiet", "--amend", "--no-edit", "--all"]);
    assert_eq!(broker.command(&["gate", "--commit", "HEAD"]).finish().await.code, 1, "one byte more");
    assert_eq!(broker.command(&["verify", "HEAD~1..HEAD"]).finish().await.code, 1);
}

#[tokio::test]
async fn the_stop_hook_blocks_claude_code_exactly_once() {
    if are_skipped() {
        return;
    }
    let broker = TestBroker::start().await;
    let home = connected(&broker).await;
    let review = id(&broker.client().call("create_review", proposal_with("say it in German", json!({}))).await);
    vote(&broker, &review, "changes_requested").await;

    let model = ModelServer::start(Script::new().finish("nothing to do")).await;
    let events = claude(&broker, home.path(), &model).await;
    let turns = events.iter().filter(|event| event["type"] == "assistant").count();
    assert_eq!(turns, 2, "it wanted to stop, was held back, and stopped: {events:#?}");
    assert!(model.asked().contains("changes_requested, says ada"), "the model saw the reason: {}", model.asked());
}
