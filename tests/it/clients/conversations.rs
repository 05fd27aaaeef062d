//! A conversation between the real Codex and the real Claude Code, with scripted models that only wait for their turn:
//! question and answer, a disputed issue, a counter-patch that is accepted, the approval. In both castings, and with the
//! broker killed at every change of turns.

use crate::support::{
    agent_clients::{Client, ClientRun, are_skipped},
    broker::TestBroker,
    client::proposal_with,
    model_server::{Gate, ModelServer, Script},
    reviews::with,
};
use serde_json::{Value, json};

const PROPOSER: &str = "author";
const REVIEWER: &str = "second-mind";
/// Waits of a client until it is its turn. A kill of the broker costs one or two.
const MAX_WAITS: usize = 60;

/// Waits until it is the turn of `name`, and why.
fn wait_for_turn(script: Script, name: &str, why: &str) -> Script {
    script
        .call("list_reviews", json!({ "my_turn": true, "wait": true, "caller_id": name }))
        .until("review_id", MAX_WAITS)
        .save("review_id")
        .expect("why", why)
}

fn on_review(more: Value) -> Value {
    with(json!({ "review_id": "${review_id}" }), more)
}

fn proposing(diff: &str, gates: &[Gate]) -> Script {
    let mine = |script, why| wait_for_turn(script, PROPOSER, why);
    let write = |body: &str| on_review(json!({ "sender_role": "proposer", "caller_id": PROPOSER, "body": body }));
    let dispute = json!({ "issue_id": "${issue_id}", "status": "disputed", "note": "dates are German",
                          "role": "proposer", "caller_id": PROPOSER });
    let proposal = proposal_with("count in German", json!({ "diff": diff, "proposer_id": PROPOSER }));
    let script = Script::new().call("create_review", proposal).expect("applies", true);
    let script = mine(script, "message")
        .call("get_discussion", on_review(json!({})))
        .expect("body", "Why in German?")
        .gate(&gates[0])
        .call("add_message", write("The users are Germans."));
    let script = mine(script, "changes_requested")
        .call("list_issues", on_review(json!({})))
        .save("issue_id")
        .gate(&gates[1])
        .call("update_issue", on_review(dispute));
    let script = mine(script, "counter_patch_offered")
        .call("get_proposal", on_review(json!({})))
        .expect("counter_patch_status", "pending")
        .gate(&gates[2])
        .call("accept_counter_patch", on_review(json!({})));
    mine(script, "approved")
        .call("close_review", on_review(json!({ "closer_role": "proposer" })))
        .expect("status", "closed")
        .finish("proposed")
}

fn reviewing(better: &str, gates: &[Gate]) -> Script {
    let mine = |script, why| wait_for_turn(script, REVIEWER, why);
    let claim = |script: Script| {
        script
            .call("claim_review", on_review(json!({ "reviewer_id": REVIEWER })))
            .expect("claimed_by", REVIEWER)
            .save("claim_generation")
            .save("content_hash")
    };
    let verdict = |word: &str, more: Value| {
        let verdict = json!({ "verdict": word, "reviewer_id": REVIEWER, "claim_generation": "${claim_generation}",
                              "content_hash": "${content_hash}" });
        on_review(with(verdict, more))
    };
    let question = json!({ "sender_role": "reviewer", "caller_id": REVIEWER, "body": "Why in German?" });
    let issue = json!({ "severity": "high", "title": "one language", "file": "greeting.txt", "line_start": 2 });
    let closed = json!({ "issue_id": "${issue_id}", "status": "wont_fix", "role": "reviewer", "caller_id": REVIEWER });

    let script = claim(mine(Script::new(), "unclaimed"))
        .call("get_proposal", on_review(json!({})))
        .call("add_message", on_review(question));
    let script = mine(script, "message")
        .call("get_discussion", on_review(json!({})))
        .gate(&gates[0])
        .call("submit_verdict", verdict("changes_requested", json!({ "reason": "one language", "issues": [issue] })))
        .expect("status", "changes_requested");
    // The dispute has returned the seat to the queue, reserved for this reviewer.
    let script = claim(mine(script, "issue_answered"))
        .expect("since_round", 1)
        .save("issue_id")
        .call("update_issue", on_review(closed))
        .gate(&gates[1])
        .call("submit_verdict", verdict("changes_requested", json!({ "reason": "so", "counter_patch": better })));
    let script = claim(mine(script, "counter_patch_accepted"));
    script
        .gate(&gates[2])
        .call("submit_verdict", verdict("approved", json!({})))
        .expect("status", "approved")
        .finish("reviewed")
}

/// Kills the broker whenever one of the models is about to answer.
async fn talk(proposer: Client, reviewer: Client) {
    if are_skipped(&format!("{proposer:?} and {reviewer:?} in a conversation")) {
        return;
    }
    let mut broker = TestBroker::start().await;
    let (diff, better) = (broker.repo().diff("zwei"), broker.repo().diff("ZWEI"));
    let gates = || -> Vec<Gate> { (0..3).map(|_| Gate::new()).collect() };
    let (asks, answers) = (gates(), gates());
    let (author, critic) = (proposing(&diff, &answers), reviewing(&better, &asks));
    let (author, critic) = tokio::join!(ModelServer::start(author), ModelServer::start(critic));
    let mut proposing = ClientRun::new(proposer, &author, &broker.mcp_url()).start();
    let mut reviewing = ClientRun::new(reviewer, &critic, &broker.mcp_url()).start();
    for (answer, ask) in answers.iter().zip(&asks) {
        proposing.reaches(answer).await;
        broker = broker.kill_and_restart().await;
        answer.open();
        reviewing.reaches(ask).await;
        broker = broker.kill_and_restart().await;
        ask.open();
    }
    let (proposed, reviewed) = tokio::join!(proposing.finish(), reviewing.finish());
    proposed.assert_ok();
    reviewed.assert_ok();
    let client = broker.client();
    let status = client.status("R-1").await;
    assert_eq!((&status["status"], &status["verdict_by"]), (&json!("closed"), &json!(REVIEWER)), "{status}");
    let issues = client.call("list_issues", json!({ "review_id": "R-1" })).await;
    assert_eq!(issues["issues"][0]["status"], "wont_fix");
    let content = client.call("get_proposal", json!({ "review_id": "R-1" })).await;
    assert_eq!(content["diff"], json!(better), "what was approved is the counter-patch");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn claude_proposes_and_codex_reviews_turn_by_turn() {
    talk(Client::Claude, Client::Codex).await;
}

#[tokio::test]
async fn codex_proposes_and_claude_reviews_turn_by_turn() {
    talk(Client::Codex, Client::Claude).await;
}
