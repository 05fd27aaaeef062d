//! The MCP endpoints of the two roles. Each offers only the tools of its role.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, proposal},
    reviews::{column, last_event, review_in},
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_role_sees_its_own_tools_and_prompts() {
    let broker = TestBroker::start().await;
    let shown = |path: &str, method: &'static str, list: &'static str| {
        let client = TestClient::new(broker.url(path));
        async move {
            let names = column(&client.request(method, json!({})).await.unwrap()[list], "name");
            names.into_iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    let operators = shown("/mcp/operator", "tools/list", "tools").await;
    let (all, proposers, reviewers) = (
        shown("/mcp", "tools/list", "tools").await,
        shown("/mcp/proposer", "tools/list", "tools").await,
        shown("/mcp/reviewer", "tools/list", "tools").await,
    );
    for tool in &all {
        let both = [
            "list_reviews",
            "get_proposal",
            "get_review_status",
            "add_message",
            "get_discussion",
            "list_issues",
            "update_issue",
            "get_review_timeline",
        ];
        let (is_proposers, is_reviewers) = (proposers.contains(tool), reviewers.contains(tool));
        assert_eq!(is_proposers && is_reviewers, both.contains(&tool.as_str()), "{tool}");
        assert!(is_proposers || is_reviewers, "{tool} has no role");
    }
    let own =
        ["get_activity_feed", "get_audit_log", "get_review_stats", "list_reviewers", "spawn_reviewer", "kill_reviewer"];
    for tool in own {
        assert!(operators.iter().any(|listed| listed == tool) && all.iter().all(|listed| listed != tool), "{tool}");
    }
    // What is not listed at /mcp can be called there, as before.
    broker.client().call("get_activity_feed", json!({})).await;
    assert!(reviewers.contains(&"claim_review".to_owned()) && reviewers.contains(&"submit_verdict".to_owned()));
    assert_eq!(shown("/mcp", "prompts/list", "prompts").await, ["propose", "review"]);
    assert_eq!(shown("/mcp/proposer", "prompts/list", "prompts").await, ["propose"]);
    assert_eq!(shown("/mcp/reviewer", "prompts/list", "prompts").await, ["review"]);
}

#[tokio::test]
async fn a_role_cannot_call_the_tools_of_the_other_role() {
    let broker = TestBroker::start().await;
    let everyone = broker.client();
    let (proposer, reviewer) = (endpoint(&broker, "/mcp/proposer"), endpoint(&broker, "/mcp/reviewer"));
    let id = review_in(&everyone, "claimed").await;
    let before = last_event(&everyone).await;
    let refusals = [
        (&proposer, "claim_review", json!({ "review_id": id, "reviewer_id": "ada" })),
        (&proposer, "submit_verdict", json!({ "review_id": id, "reviewer_id": "ada", "verdict": "approved" })),
        (&proposer, "add_message", json!({ "review_id": id, "sender_role": "reviewer", "body": "fine" })),
        (&proposer, "close_review", json!({ "review_id": id, "closer_role": "reviewer" })),
        (&reviewer, "create_review", proposal("mine")),
        (&reviewer, "cancel_review", json!({ "review_id": id, "reason": "no" })),
        (&reviewer, "close_review", json!({ "review_id": id, "closer_role": "proposer" })),
        (&reviewer, "accept_counter_patch", json!({ "review_id": id })),
        (&reviewer, "reject_counter_patch", json!({ "review_id": id })),
        (&reviewer, "add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "fine" })),
    ];
    for (client, tool, arguments) in refusals {
        client.refused("wrong_role", tool, arguments).await;
    }
    assert_eq!(last_event(&everyone).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_endpoint_of_a_role_sets_the_role_of_its_callers() {
    let broker = TestBroker::start().await;
    let (proposer, reviewer) = (endpoint(&broker, "/mcp/proposer"), endpoint(&broker, "/mcp/reviewer"));
    let id = proposer.submit("roles").await;
    reviewer.claim(&id, "ada").await;
    let said = reviewer.call("add_message", json!({ "review_id": id, "body": "hello" })).await;
    assert_eq!(said["sender_role"], "reviewer");
    let said = proposer.call("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "hi" })).await;
    assert_eq!(said["sender_role"], "proposer");
    proposer.call("cancel_review", json!({ "review_id": id, "reason": "done talking" })).await;
    proposer.call("close_review", json!({ "review_id": id })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_endpoint_without_a_role_requires_the_role_of_a_sender_but_not_of_the_proposer_that_closes() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "cancelled").await;
    let before = last_event(&client).await;
    let error = client.refused("invalid_params", "add_message", json!({ "review_id": id, "body": "hello" })).await;
    assert_eq!((&error["field"], &error["allowed"]), (&json!("sender_role"), &json!(["proposer", "reviewer"])));
    assert!(error["error"].as_str().unwrap().contains("allowed: proposer, reviewer"), "{error}");
    assert_eq!(last_event(&client).await, before);
    assert_eq!(client.call("close_review", json!({ "review_id": id })).await["status"], "closed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn each_role_gets_its_own_instructions() {
    let broker = TestBroker::start().await;
    let told = |path: &str| {
        let client = endpoint(&broker, path);
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" },
        });
        async move { client.request("initialize", params).await.unwrap()["instructions"].clone() }
    };
    let says = |instructions: &Value, tool: &str| instructions.as_str().unwrap().contains(tool);
    let (all, proposer, reviewer) = (told("/mcp").await, told("/mcp/proposer").await, told("/mcp/reviewer").await);
    assert!(says(&all, "As the PROPOSER") && says(&all, "As the REVIEWER"));
    assert!(says(&proposer, "create_review") && !says(&proposer, "claim_review("));
    assert!(says(&reviewer, "claim_review") && !says(&reviewer, "create_review("));
}

fn endpoint(broker: &TestBroker, path: &str) -> TestClient {
    TestClient::new(broker.url(path))
}
