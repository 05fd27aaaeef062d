//! The real Codex and Claude Code as dedicated reviewers, with scripted models: they continue their own session from turn
//! to turn, also after the broker, the reviewer or both were killed.
#![cfg(target_os = "linux")]

use crate::{
    clients::pool::settings,
    support::{
        agent_clients::{Client, are_skipped},
        broker::TestBroker,
        dedicated::DedicatedReviewers,
        model_server::{Gate, ModelServer, Script},
        one_shot::write_persona_of_mode,
        pool::environments,
        reviews::with,
    },
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

const SECURITY: &str = "security-R-1";

/// What is killed while the model is about to act in a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Killed {
    Nothing,
    Reviewer,
    Broker,
    Both,
}

fn on_review(more: Value) -> Value {
    with(json!({ "review_id": "R-1" }), more)
}

fn verdict(word: &str, more: Value) -> Value {
    let fence = json!({ "verdict": word, "reason": "because", "claim_generation": "${claim_generation}",
                        "content_hash": "${content_hash}" });
    on_review(with(fence, more))
}

/// Claims again, which names generation and content of the turn.
fn claims(script: Script) -> Script {
    script.call("claim_review", on_review(json!({}))).save("claim_generation").save("content_hash")
}

/// Requests changes; answers a question; approves the next round.
fn conversation(gates: &[Gate]) -> Script {
    let issue = json!({ "severity": "high", "title": "two is left", "file": "greeting.txt", "line_start": 2 });
    let answer = on_review(json!({ "sender_role": "reviewer", "body": "the second line" }));
    let fixed = on_review(json!({ "issue_id": "I-1", "status": "fixed", "role": "reviewer" }));
    let script = Script::new().call("get_proposal", on_review(json!({}))).call("get_discussion", on_review(json!({})));
    let script = script.call("list_issues", on_review(json!({}))).call("get_review_status", on_review(json!({})));
    let script = claims(script.gate(&gates[0]))
        .call("submit_verdict", verdict("changes_requested", json!({ "issues": [issue] })))
        .end_turn("first");
    let script = claims(script.gate(&gates[1])).call("add_message", answer).end_turn("second");
    claims(script.gate(&gates[2]))
        .call("update_issue", fixed)
        .call("submit_verdict", verdict("approved", json!({})))
        .expect("status", "approved")
        .end_turn("third")
}

struct Scene {
    scene: DedicatedReviewers,
    model: ModelServer,
    home: TempDir,
}

impl Scene {
    async fn start(client: Client, gates: &[Gate]) -> Self {
        let model = ModelServer::start(conversation(gates)).await;
        let home = TempDir::new().unwrap();
        let variables = client.environment(&model, home.path());
        write_persona_of_mode(home.path(), "security", "dedicated", client.budget());
        let more = "check_every = \"200ms\"\nkeep_sessions = \"0s\"\n";
        let broker = TestBroker::with_env(variables, &(settings(client) + more)).await;
        Self { scene: DedicatedReviewers { broker }, model, home }
    }

    async fn kill(&mut self, killed: Killed) {
        if matches!(killed, Killed::Reviewer | Killed::Both) {
            kill_client(self.home.path());
        }
        if matches!(killed, Killed::Broker | Killed::Both) {
            self.scene.broker.kill().await;
            self.scene.broker.start_again().await;
        }
    }
}

/// Kills the client's own process, not the shim above it.
fn kill_client(home: &Path) {
    let home = format!("HOME={}", home.display());
    for (pid, environment) in environments() {
        let is_client =
            environment.contains(&home) && environment.iter().any(|one| one.starts_with("COUNTERSIGN_TURN="));
        if is_client {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
    }
}

async fn talks(client: Client, killed: Killed) {
    if are_skipped(&format!("{client:?} as a dedicated reviewer, {killed:?} killed")) {
        return;
    }
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    let mut this = Scene::start(client, &gates).await;
    this.scene.propose(&["security"]).await;
    gates[0].reached().await;
    let first = this.model.asked();
    assert!(first.contains("You are the security reviewer.") && first.contains("+zwei"), "{first}");
    this.kill(killed).await;
    gates[0].open();
    this.scene.status_becomes("changes_requested").await;
    let before = this.scene.state_becomes(SECURITY, "waiting").await;
    let session = before["reviewer_session_id"].clone();
    let used = before["input_tokens"].as_u64().unwrap();

    this.scene.author_writes("security", "which line?").await;
    gates[1].reached().await;
    let second = this.model.asked();
    for part in ["TURN-END first", "+zwei", "two is left", "which line?"] {
        assert!(second.contains(part), "no {part} in the second turn: {second}");
    }
    this.kill(killed).await;
    gates[1].open();
    this.scene.turn_becomes("proposer", "message").await;
    this.scene.state_becomes(SECURITY, "waiting").await;

    this.scene.author_revises("deux").await;
    gates[2].reached().await;
    let third = this.model.asked();
    for part in ["TURN-END first", "TURN-END second", "the second line", "+deux", "It is round 2"] {
        assert!(third.contains(part), "no {part} in the third turn: {third}");
    }
    this.kill(killed).await;
    gates[2].open();
    let approved = this.scene.status_becomes("approved").await;
    assert_eq!(approved["verdict_by"], SECURITY);
    let row = this.scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!((&row["reviewer_session_id"], &row["fresh_starts"]), (&session, &json!(0)), "{row:#}");
    if killed == Killed::Nothing {
        assert_eq!(row["turns"], 3);
        assert!(row["input_tokens"].as_u64().unwrap() > used, "{row:#}");
        assert_eq!(row["cost_usd"].is_number(), client == Client::Claude, "{row:#}");
    }
    let issues = this.scene.client().call("list_issues", on_review(json!({}))).await;
    assert_eq!(issues["issues"][0]["status"], "fixed");
    this.scene.client().call("close_review", on_review(json!({ "closer_role": "proposer" }))).await;
    this.scene.state_becomes(SECURITY, "finished").await;
    this.scene.nothing_is_left().await;
    this.scene.broker.stop_and_check().await;
}

/// A session that cannot be continued ends in a fresh one, which costs more than continuing.
async fn starts_afresh(client: Client, damage: fn(&Path)) {
    if are_skipped(&format!("{client:?} with a damaged session")) {
        return;
    }
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    gates.iter().for_each(Gate::open);
    let this = Scene::start(client, &gates).await;
    this.scene.propose(&["security"]).await;
    this.scene.status_becomes("changes_requested").await;
    this.scene.state_becomes(SECURITY, "waiting").await;

    let sent = |from: usize| this.model.requests()[from..].iter().map(String::len).sum::<usize>();
    let so_far = this.model.requests().len();
    this.scene.author_writes("security", "which line?").await;
    this.scene.turn_becomes("proposer", "message").await;
    this.scene.reviewer(SECURITY, |row| row["state"] == "waiting" && row["turns"] == 2).await;
    let resumed = sent(so_far);

    damage(&this.scene.session_folder(SECURITY));
    let so_far = this.model.requests().len();
    this.scene.author_writes("security", "and why?").await;
    this.scene.status_becomes("changes_requested").await;
    let row = this.scene.reviewer(SECURITY, |row| row["state"] == "waiting" && row["turns"] == 3).await;
    assert_eq!(row["fresh_starts"], 1, "{row:#}");
    let fresh = this.model.requests()[so_far].clone();
    for part in ["You are the security reviewer.", "+zwei", "and why?", "which line?"] {
        assert!(fresh.contains(part), "no {part} in {fresh}");
    }
    assert!(!fresh.contains("TURN-END"), "a new session");
    assert!(resumed < sent(so_far), "continued: {resumed} bytes, read again: {}", sent(so_far));
    let audit = this.scene.audit().await;
    assert!(audit.iter().any(|line| line.contains("its session could not be continued")), "{audit:#?}");
    this.scene.broker.stop_and_check().await;
}

/// Overwrites all recorded conversations.
fn overwrite(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            overwrite(&path);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            fs::write(path, "garbage").unwrap();
        }
    }
}

/// Deletes all recorded conversations.
fn delete(folder: &Path) {
    for below in ["sessions", "projects"] {
        let _ = fs::remove_dir_all(folder.join(below));
    }
}

#[tokio::test]
async fn codex_stays_in_the_conversation() {
    talks(Client::Codex, Killed::Nothing).await;
}

#[tokio::test]
async fn claude_code_stays_in_the_conversation() {
    talks(Client::Claude, Killed::Nothing).await;
}

#[tokio::test]
async fn codex_comes_back_after_its_process_is_killed() {
    talks(Client::Codex, Killed::Reviewer).await;
}

#[tokio::test]
async fn claude_code_comes_back_after_its_process_is_killed() {
    talks(Client::Claude, Killed::Reviewer).await;
}

#[tokio::test]
async fn codex_comes_back_after_the_broker_is_killed() {
    talks(Client::Codex, Killed::Broker).await;
}

#[tokio::test]
async fn claude_code_comes_back_after_the_broker_is_killed() {
    talks(Client::Claude, Killed::Broker).await;
}

#[tokio::test]
async fn codex_comes_back_after_both_are_killed() {
    talks(Client::Codex, Killed::Both).await;
}

#[tokio::test]
async fn claude_code_comes_back_after_both_are_killed() {
    talks(Client::Claude, Killed::Both).await;
}

#[tokio::test]
async fn codex_starts_afresh_if_its_session_is_deleted() {
    starts_afresh(Client::Codex, delete).await;
}

#[tokio::test]
async fn claude_code_starts_afresh_if_its_session_is_deleted() {
    starts_afresh(Client::Claude, delete).await;
}

#[tokio::test]
async fn codex_starts_afresh_if_its_session_is_unreadable() {
    starts_afresh(Client::Codex, overwrite).await;
}

#[tokio::test]
async fn claude_code_starts_afresh_if_its_session_is_unreadable() {
    starts_afresh(Client::Claude, overwrite).await;
}
