//! The real Codex and Claude Code as one-shot reviewers, with scripted models. They get only the argv and the prompt of
//! the
//! broker.
#![cfg(target_os = "linux")]

use crate::{
    clients::pool::settings,
    support::{
        agent_clients::{Client, are_skipped},
        broker::TestBroker,
        model_server::{Gate, ModelServer, Script},
        one_shot::{OneShots, write_persona},
    },
};
use domain::{review::ClaimEndReason, verdict::Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

fn answer() -> Value {
    json!({
        "verdict": "changes_requested", "summary": "nearly", "reason": "three is left", "files_reviewed": 1,
        "lines_analyzed": 3, "suggestions": [], "settled": [], "issues": [{
            "type": "bug", "severity": "high", "title": "three is left as it was", "file": "greeting.txt",
            "line_start": 3, "line_end": 3, "description": null, "code_snippet": "three", "suggestion": "drei",
            "rule_ref": null, "confidence": 0.9, "side": "new", "in": "diff",
        }],
    })
}

/// Each client has a way of its own to answer by a schema: a tool, or its last words.
fn answers(client: Client, gate: &Gate) -> Script {
    let script = Script::new().gate(gate);
    match client {
        Client::Claude => script.call("StructuredOutput", answer()).finish(""),
        Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => script.answer(&answer().to_string()),
    }
}

async fn start(client: Client, model: &ModelServer) -> (OneShots, TempDir) {
    let home = TempDir::new().unwrap();
    let variables = client.environment(model, home.path());
    write_persona(home.path(), "security", client.budget());
    (OneShots { broker: TestBroker::with_env(variables, &settings(client)).await }, home)
}

async fn reviews_once(client: Client) {
    if are_skipped(&format!("{client:?} in one shot")) {
        return;
    }
    let gate = Gate::new();
    let model = ModelServer::start(answers(client, &gate)).await;
    let (scene, _home) = start(client, &model).await;
    let review = scene.propose(&["security"]).await;
    gate.reached().await;
    let asked = model.asked();
    for part in ["You are the security reviewer.", "two is zwei", "+zwei", "lines_analyzed"] {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
    assert!(!asked.contains("submit_verdict"), "it has no tools of the broker: {asked}");
    gate.open();
    let status = scene.status_becomes(&review, "changes_requested").await;
    assert_eq!(status["verdict_reason"], "three is left");
    let pool = scene.nothing_is_left().await;
    assert_eq!(pool["ended"][0]["persona"], "security", "{pool:#}");

    let records = scene.records().await;
    let [verdict] = records.verdicts(1, 1).await.try_into().unwrap();
    assert_eq!((verdict.verdict, verdict.persona.as_str()), (Verdict::ChangesRequested, "security"));
    let metrics = verdict.metrics.unwrap();
    assert!(metrics.input_tokens >= Some(1000) && metrics.output_tokens >= Some(20), "{metrics:?}");
    assert_eq!(metrics.cost_usd.is_some_and(|cost| cost > 0.0), client == Client::Claude, "{metrics:?}");
    assert_eq!(metrics.model.is_some(), client == Client::Claude, "{metrics:?}");
    assert_eq!((metrics.files_reviewed, metrics.lines_analyzed), (Some(1), Some(3)));
}

async fn gives_up_without_its_model(client: Client, said: &str) {
    if are_skipped(&format!("{client:?} in one shot, without its model")) {
        return;
    }
    let model = ModelServer::without_models("unknown model").await;
    let (scene, _home) = start(client, &model).await;
    scene.propose(&["security"]).await;
    scene.broker.until_pool("it has given up", |pool| pool["ended"][0].is_object()).await;
    let records = scene.records().await;
    let [(_, reason, detail)] = records.claim_ends(1).await.try_into().unwrap();
    assert_eq!((reason, records.retries().await), (ClaimEndReason::CouldNotReview, 1));
    assert!(detail.contains(said), "{detail}");
}

#[tokio::test]
async fn codex_reviews_in_one_shot() {
    reviews_once(Client::Codex).await;
}

#[tokio::test]
async fn claude_code_reviews_in_one_shot() {
    reviews_once(Client::Claude).await;
}

#[tokio::test]
async fn codex_gives_up_without_its_model() {
    gives_up_without_its_model(Client::Codex, "exit code 1").await;
}

#[tokio::test]
async fn claude_code_gives_up_without_its_model() {
    gives_up_without_its_model(Client::Claude, "exit code 1").await;
}
