//! What a conversation costs in each mode of a persona: how often the real clients run, how often they ask their model, and
//! how many bytes they send. `cargo xtask reviewer-cost` prints the table of docs/reviewers.md.
#![cfg(target_os = "linux")]

use crate::{
    clients::pool::settings,
    support::{
        agent_clients::Client,
        broker::TestBroker,
        client::{id, proposal_with},
        dedicated::DedicatedReviewers,
        model_server::{ModelServer, Script},
        one_shot::write_persona_of_mode,
        reviews::with,
        wait_until::wait_until,
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Lines of the file that is proposed, about 20 KB.
const LINES: usize = 500;

fn on_review(more: Value) -> Value {
    with(json!({ "review_id": "R-1" }), more)
}

fn verdict(word: &str) -> Value {
    on_review(json!({ "verdict": word, "reason": "because", "claim_generation": "${claim_generation}",
                      "content_hash": "${content_hash}" }))
}

fn claims(script: Script) -> Script {
    script.call("claim_review", on_review(json!({}))).save("claim_generation").save("content_hash")
}

fn answer() -> Value {
    on_review(json!({ "sender_role": "reviewer", "body": "the second line" }))
}

/// The claim of a dedicated reviewer is in its message; the scripted model cannot read it, so it claims again.
fn dedicated() -> Script {
    let script = claims(Script::new()).call("submit_verdict", verdict("changes_requested")).end_turn("first");
    let script = script.call("add_message", answer()).end_turn("second");
    claims(script).call("submit_verdict", verdict("approved")).end_turn("third")
}

fn agent() -> Script {
    let waits = |script: Script| {
        let queue = json!({ "status": "pending", "wait": true });
        claims(script.call("list_reviews", queue).until("review_id", 40)).call("get_proposal", on_review(json!({})))
    };
    let script = waits(Script::new()).call("submit_verdict", verdict("changes_requested"));
    let script = waits(script).call("get_discussion", on_review(json!({}))).call("add_message", answer());
    waits(script).call("submit_verdict", verdict("approved")).finish("done")
}

fn one_shot(client: Client) -> Script {
    let response = json!({
        "verdict": "changes_requested", "summary": "nearly", "reason": "because", "files_reviewed": 1, "lines_analyzed": 3,
        "suggestions": [], "settled": [], "issues": [],
    });
    match client {
        Client::Claude => Script::new().call("StructuredOutput", response).finish(""),
        Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => Script::new().answer(&response.to_string()),
    }
}

fn diff(word: &str) -> String {
    let lines: String = (0..LINES).map(|n| format!("+line {n} of a new file, with {word} in it\n")).collect();
    format!(
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,{LINES} @@\n{lines}"
    )
}

/// Runs, requests to the model, and bytes sent to it.
async fn measure(client: Client, mode: &str) -> (usize, usize, usize) {
    let script = match mode {
        "dedicated" => dedicated(),
        "one_shot" => one_shot(client),
        _ => agent(),
    };
    let model = ModelServer::start(script).await;
    let home = TempDir::new().unwrap();
    let variables = client.environment(&model, home.path());
    write_persona_of_mode(home.path(), "security", mode, "");
    let broker = TestBroker::with_env(variables, &(settings(client) + "check_every = \"200ms\"\n")).await;
    let scene = DedicatedReviewers { broker };
    let content = |word| json!({ "diff": diff(word), "proposer_id": "author" });
    let proposal = with(content("one"), json!({ "personas": ["security"] }));
    id(&scene.client().call("create_review", proposal_with("a new file", proposal)).await);
    scene.status_becomes("changes_requested").await;
    scene.author_writes("security", "which line?").await;
    match mode {
        "one_shot" => drop(scene.status_becomes("changes_requested").await),
        _ => drop(scene.turn_becomes("proposer", "message").await),
    }
    // A revision would cut a turn short that has not ended yet.
    if mode == "dedicated" {
        scene.reviewer("security-R-1", |row| row["state"] == "waiting" && row["turns"] == 2).await;
    }
    let requests = model.requests().len();
    let revision = with(content("two"), json!({ "review_id": "R-1" }));
    scene.client().call("create_review", proposal_with("a new file", revision)).await;
    scene.status_becomes(if mode == "one_shot" { "changes_requested" } else { "approved" }).await;
    assert!(model.requests().len() > requests);
    let runs = async || {
        let pool = scene.broker.pool().await;
        let is_idle = mode == "agent" || pool["reviewers"] == json!([]);
        is_idle.then(|| match mode {
            "dedicated" => pool["dedicated"][0]["turns"].as_u64().unwrap_or_default(),
            _ => (pool["ended"].as_array().unwrap().len() + pool["reviewers"].as_array().unwrap().len()) as u64,
        })
    };
    let runs = wait_until("all runs have ended", runs).await;
    let sent = model.requests();
    (usize::try_from(runs).unwrap(), sent.len(), sent.iter().map(String::len).sum())
}

#[tokio::test]
#[ignore = "measures: cargo xtask reviewer-cost"]
async fn cost_of_a_conversation_in_each_mode() {
    println!("| mode | client | runs | requests to the model | kB sent |\n|---|---|---|---|---|");
    for mode in ["agent", "one_shot", "dedicated"] {
        for client in [Client::Codex, Client::Claude] {
            let (runs, requests, bytes) = measure(client, mode).await;
            println!("| `{mode}` | {client:?} | {runs} | {requests} | {} |", bytes / 1000);
        }
    }
}
