//! Complete reviews by the real Codex and Claude Code with scripted models. No tool is approved beforehand: the hints
//! of the
//! tools must be enough.

use crate::support::{
    agent_clients::{Client, ClientRun, are_skipped},
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    mcp_bridge::Unserved,
    model_server::{Gate, ModelServer, Script},
};
use serde_json::{Value, json};
use std::path::Path;

const REVIEWER: &str = "second-mind";

/// A reviewer's whole work: takes what comes, asks for changes, looks again, approves. The model
/// stands at `gate` between reading and its first verdict.
fn reviewing(diff: &str, gate: &Gate) -> Script {
    let pending = json!({ "status": "pending", "wait": true, "caller_id": REVIEWER });
    let claim = json!({ "review_id": "${review_id}", "reviewer_id": REVIEWER });
    let verdict = |word: &str, reason: Value| {
        json!({
            "review_id": "${review_id}", "verdict": word, "reason": reason, "reviewer_id": REVIEWER,
            "claim_generation": "${claim_generation}", "content_hash": "${content_hash}",
        })
    };
    Script::new()
        .var("diff", diff)
        .call("list_reviews", pending.clone())
        .until("review_id", 20)
        .save("review_id")
        .call("claim_review", claim.clone())
        .expect("status", "claimed")
        .expect("claimed_by", REVIEWER)
        .save("claim_generation")
        .save("content_hash")
        .call("get_proposal", json!({ "review_id": "${review_id}" }))
        .expect("diff", "${diff}")
        .expect("content_hash", "${content_hash}")
        .call("add_message", json!({ "review_id": "${review_id}", "sender_role": "reviewer", "body": "Why not drei?" }))
        .gate(gate)
        .call("submit_verdict", verdict("changes_requested", "three words, please".into()))
        .expect("status", "changes_requested")
        .call("list_reviews", pending)
        .until("review_id", 20)
        .expect("review_id", "${review_id}")
        .call("claim_review", claim)
        .expect("current_round", 2)
        .save("claim_generation")
        .save("content_hash")
        .call("get_proposal", json!({ "review_id": "${review_id}", "round": 1 }))
        .expect("diff", "${diff}")
        .call("submit_verdict", verdict("approved", Value::Null))
        .expect("status", "approved")
        .finish("reviewed ${review_id}")
}

/// A proposer's whole work: proposes, waits, revises, waits, closes. The model stands at `gate`
/// between the proposal and the wait for a verdict.
fn proposing(first: &str, second: &str, gate: &Gate) -> Script {
    let wait = json!({ "review_id": "${review_id}", "wait": true });
    let first = json!({ "diff": first, "description": "counting, in another language" });
    Script::new()
        .call("create_review", proposal_with("count in German", first))
        .expect("status", "pending")
        .expect("applies", true)
        .save("review_id")
        .gate(gate)
        .call("get_review_status", wait.clone())
        .until("verdict", 20)
        .expect("status", "changes_requested")
        .expect("verdict_reason", "three words, please")
        .call("create_review", json!({ "review_id": "${review_id}", "intent": "count better", "diff": second }))
        .expect("current_round", 2)
        .expect("revised", true)
        .call("get_review_status", wait)
        .until("verdict", 20)
        .expect("status", "approved")
        .call("close_review", json!({ "review_id": "${review_id}", "closer_role": "proposer" }))
        .expect("status", "closed")
        .finish("proposed ${review_id}")
}

/// Proposes, and revises after the client has requested changes.
async fn propose_to(broker: &TestBroker) -> Proposed {
    let diff = broker.repo().diff("zwei");
    let proposal = proposal_with("count in German", json!({ "diff": diff }));
    let review = id(&broker.client().call("create_review", proposal).await);
    Proposed { review, diff }
}

struct Proposed {
    review: String,
    diff: String,
}

impl Proposed {
    async fn revise_when_asked(&self, broker: &TestBroker) {
        status_becomes(broker, &self.review, "changes_requested").await;
        let revision =
            json!({ "review_id": self.review, "intent": "count better", "diff": broker.repo().diff("drei") });
        broker.client().call("create_review", revision).await;
    }

    /// The state of the broker after the client's work.
    async fn close(&self, broker: TestBroker) {
        let client = broker.client();
        let status = client.status(&self.review).await;
        assert_eq!((&status["status"], &status["current_round"]), (&json!("approved"), &json!(2)), "{status}");
        assert_eq!((&status["verdict_by"], &status["approved_hash"]), (&json!(REVIEWER), &status["content_hash"]));
        let discussion = client.call("get_discussion", json!({ "review_id": self.review })).await;
        let messages: Vec<&Value> = discussion["messages"].as_array().unwrap().iter().map(|it| &it["body"]).collect();
        assert_eq!(messages, ["Why not drei?"]);
        client.call("close_review", json!({ "review_id": self.review, "closer_role": "proposer" })).await;
        broker.stop_and_check().await;
    }
}

async fn status_becomes(broker: &TestBroker, review: &str, wanted: &str) {
    let client = broker.client();
    let mut status = client.status(review).await;
    while status["status"] != wanted {
        let next = json!({ "review_id": review, "wait": true, "since": status["version"] });
        status = client.call("get_review_status", next).await;
    }
}

/// The test as a reviewer: requests changes once, then approves.
async fn review_twice(client: &TestClient) {
    for verdict in ["changes_requested", "approved"] {
        let pending = json!({ "status": "pending", "wait": true, "timeout_seconds": 50 });
        let review = id(&client.call("list_reviews", pending).await["reviews"][0]);
        let generation = client.claim(&review, REVIEWER).await;
        let verdict = json!({
            "review_id": review, "verdict": verdict, "reason": "three words, please", "claim_generation": generation,
        });
        client.call("submit_verdict", verdict).await;
    }
}

/// The only review there is went through two rounds and is closed.
async fn check_closed(client: &TestClient) {
    let all = client.call("list_reviews", json!({})).await;
    assert_eq!(all["reviews"].as_array().unwrap().len(), 1, "{all}");
    let status = client.status("R-1").await;
    assert_eq!((&status["status"], &status["current_round"]), (&json!("closed"), &json!(2)), "{status}");
    assert_eq!((&status["verdict_by"], &status["approved_hash"]), (&json!(REVIEWER), &status["content_hash"]));
}

/// The client reviews; between its reading and its verdict the broker is killed and started again.
async fn reviews_through_a_kill(client: Client) {
    if are_skipped(&format!("{client:?} as a reviewer")) {
        return;
    }
    let mut broker = TestBroker::start().await;
    let proposed = propose_to(&broker).await;
    let gate = Gate::new();
    let model = ModelServer::start(reviewing(&proposed.diff, &gate)).await;
    let mut run = ClientRun::new(client, &model, &broker.mcp_url()).start();
    run.reaches(&gate).await;
    broker = broker.kill_and_restart().await;
    gate.open();
    proposed.revise_when_asked(&broker).await;
    run.finish().await.assert_ok();
    proposed.close(broker).await;
}

/// The client proposes; before it waits for a verdict the broker is killed and started again.
async fn proposes_through_a_kill(client: Client) {
    if are_skipped(&format!("{client:?} as a proposer")) {
        return;
    }
    let mut broker = TestBroker::start().await;
    let gate = Gate::new();
    let script = proposing(&broker.repo().diff("zwei"), &broker.repo().diff("drei"), &gate);
    let model = ModelServer::start(script).await;
    let mut run = ClientRun::new(client, &model, &broker.mcp_url()).start();
    run.reaches(&gate).await;
    broker = broker.kill_and_restart().await;
    gate.open();
    review_twice(&broker.client()).await;
    run.finish().await.assert_ok();
    check_closed(&broker.client()).await;
    broker.stop_and_check().await;
}

/// The broker dies while the client's call waits inside it. The client must notice at once and, with
/// the broker back, go on from where it was.
async fn lives_through_a_kill_in_a_waiting_call(client: Client) {
    if are_skipped(&format!("{client:?} in a waiting call")) {
        return;
    }
    let mut broker = TestBroker::start().await;
    let review = broker.client().submit("wait for me").await;
    let (noticed, wait) = (Gate::new(), json!({ "review_id": review, "wait": true, "timeout_seconds": 50 }));
    let script = Script::new()
        .call("get_review_status", wait.clone())
        .gate(&noticed)
        .call("get_review_status", wait)
        .until("cancel_reason", 20)
        .expect("status", "cancelled")
        .finish("");
    let model = ModelServer::start(script).await;
    let mut run = ClientRun::new(client, &model, &broker.mcp_url()).start();
    broker.until_waiting(1).await;
    broker.kill().await;
    run.reaches(&noticed).await;
    broker = broker.restarted().await;
    noticed.open();
    broker.until_waiting(1).await;
    broker.client().call("cancel_review", json!({ "review_id": review, "reason": "no longer needed" })).await;
    run.finish().await.assert_ok();
    broker.stop_and_check().await;
}

/// Both sides are real clients, each on its role's endpoint.
async fn work_together(proposer: Client, reviewer: Client) {
    if are_skipped(&format!("{proposer:?} and {reviewer:?} together")) {
        return;
    }
    let broker = TestBroker::start().await;
    let (first, second) = (broker.repo().diff("zwei"), broker.repo().diff("drei"));
    let open = Gate::new();
    open.open();
    let proposing = ModelServer::start(proposing(&first, &second, &open)).await;
    let reviewing = ModelServer::start(reviewing(&first, &open)).await;
    let proposer = ClientRun::new(proposer, &proposing, &broker.url("/mcp/proposer")).start();
    let reviewer = ClientRun::new(reviewer, &reviewing, &broker.url("/mcp/reviewer")).start();
    let (proposed, reviewed) = tokio::join!(proposer.finish(), reviewer.finish());
    proposed.assert_ok();
    reviewed.assert_ok();
    check_closed(&broker.client()).await;
    broker.stop_and_check().await;
}

/// The client starts `countersign mcp`, which starts the broker. A kill of that broker in the middle
/// does no harm, since the bridge starts another, and that one stays when the client has ended.
async fn proposes_over_stdio(client: Client) {
    if are_skipped(&format!("{client:?} over stdio")) {
        return;
    }
    let place = Unserved::new();
    let gate = Gate::new();
    let script = proposing(&place.repo().diff("zwei"), &place.repo().diff("drei"), &gate);
    let model = ModelServer::start(script).await;
    let mut run = over_stdio(client, &model, &place, &[]).start();
    run.reaches(&gate).await;
    let first = place.note().await;
    place.kill().await;
    gate.open();
    let reviewer = place.note_other_than(&first).await.client();
    review_twice(&reviewer).await;
    run.finish().await.assert_ok();
    check_closed(&reviewer).await;
    place.stop_and_check().await;
}

/// As above, but as a reviewer with the endpoint of its role. The proposer uses a bridge, too.
async fn reviews_over_stdio(client: Client) {
    if are_skipped(&format!("{client:?} over stdio, as a reviewer")) {
        return;
    }
    let place = Unserved::new();
    let mut proposer = place.bridge(&["--role", "proposer"]);
    let diff = place.repo().diff("zwei");
    let review = id(&proposer.call("create_review", proposal_with("count in German", json!({ "diff": diff }))).await);
    let gate = Gate::new();
    let model = ModelServer::start(reviewing(&diff, &gate)).await;
    let mut run = over_stdio(client, &model, &place, &["--role", "reviewer"]).start();
    run.reaches(&gate).await;
    place.kill().await;
    gate.open();
    let mut status = json!({ "version": 0 });
    while status["status"] != "changes_requested" {
        let next = json!({ "review_id": review, "wait": true, "since": status["version"] });
        status = proposer.call("get_review_status", next).await;
    }
    let revision = json!({ "review_id": review, "intent": "count better", "diff": place.repo().diff("drei") });
    proposer.call("create_review", revision).await;
    run.finish().await.assert_ok();
    proposer.call("close_review", json!({ "review_id": review })).await;
    check_closed(&place.note().await.client()).await;
    proposer.close().await;
    place.stop_and_check().await;
}

fn over_stdio<'a>(client: Client, model: &'a ModelServer, place: &Unserved, more: &[&str]) -> ClientRun<'a> {
    let options = place.options();
    let options = options.iter().map(String::as_str);
    let arguments: Vec<&str> = ["mcp"].into_iter().chain(options).chain(more.iter().copied()).collect();
    ClientRun::over_stdio(client, model, Path::new(env!("CARGO_BIN_EXE_countersign")), &arguments)
}

/// One test for each client and each kind of work.
macro_rules! tests {
    ($($name:ident: $work:expr;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                $work.await;
            }
        )+
    };
}

tests! {
    codex_reviews_through_a_kill: reviews_through_a_kill(Client::Codex);
    codex_reviews_through_a_kill_with_tool_search: reviews_through_a_kill(Client::CodexToolSearch);
    codex_reviews_through_a_kill_in_code_mode: reviews_through_a_kill(Client::CodexCodeMode);
    claude_code_reviews_through_a_kill: reviews_through_a_kill(Client::Claude);

    codex_proposes_through_a_kill: proposes_through_a_kill(Client::Codex);
    codex_proposes_through_a_kill_with_tool_search: proposes_through_a_kill(Client::CodexToolSearch);
    codex_proposes_through_a_kill_in_code_mode: proposes_through_a_kill(Client::CodexCodeMode);
    claude_code_proposes_through_a_kill: proposes_through_a_kill(Client::Claude);

    codex_lives_through_a_kill_in_a_waiting_call: lives_through_a_kill_in_a_waiting_call(Client::Codex);
    codex_lives_through_a_kill_in_a_waiting_call_in_code_mode:
        lives_through_a_kill_in_a_waiting_call(Client::CodexCodeMode);
    claude_code_lives_through_a_kill_in_a_waiting_call: lives_through_a_kill_in_a_waiting_call(Client::Claude);

    codex_proposes_and_claude_code_reviews: work_together(Client::Codex, Client::Claude);
    claude_code_proposes_and_codex_reviews: work_together(Client::Claude, Client::CodexCodeMode);

    codex_proposes_over_stdio: proposes_over_stdio(Client::Codex);
    claude_code_proposes_over_stdio: proposes_over_stdio(Client::Claude);
    codex_reviews_over_stdio: reviews_over_stdio(Client::CodexCodeMode);
    claude_code_reviews_over_stdio: reviews_over_stdio(Client::Claude);
}
