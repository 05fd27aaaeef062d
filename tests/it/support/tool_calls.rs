//! For every tool a review in the right status and a call with every argument.

use super::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{review_in, verdict, with},
};
use serde_json::{Value, json};

/// The tools as `tools/list` returns them.
pub(crate) async fn all_tools(client: &TestClient) -> Vec<Value> {
    client.request("tools/list", json!({})).await.unwrap()["tools"].as_array().unwrap().clone()
}

/// Every tool that some endpoint lists, with every argument that the broker accepts.
pub(crate) async fn every_tool(client: &TestClient) -> Vec<Value> {
    let mut tools = all_tools(&client.at("/mcp")).await;
    for tool in all_tools(&client.at("/mcp/operator")).await {
        if tools.iter().all(|other| other["name"] != tool["name"]) {
            tools.push(tool);
        }
    }
    for tool in &mut tools {
        tool["inputSchema"]["properties"] = operation(tool).request_schema()["properties"].clone();
    }
    tools
}

/// The entry of a tool in the table of operations.
pub(crate) fn operation(tool: &Value) -> ::api::OperationId {
    ::api::OperationId::tool(tool["name"].as_str().unwrap()).unwrap()
}

/// The tools with a call here. The others start and stop processes and are tested with the pool.
pub(crate) async fn tools(client: &TestClient) -> Vec<Value> {
    let mut tools = if client.is_at("/mcp") { every_tool(client).await } else { all_tools(client).await };
    tools.retain(|tool| tool["name"] != "spawn_reviewer" && tool["name"] != "kill_reviewer");
    tools
}

/// Creates a review for `tool` and returns the arguments of a call.
pub(crate) async fn arguments_for(tool: &str, broker: &TestBroker) -> Value {
    let client = broker.client();
    let by_id = |id: String| json!({ "review_id": id });
    match tool {
        "create_review" => proposal_with(
            "a complete proposal",
            json!({
                "plan": "2", "task": "3", "project": "project", "proposer_id": "claude-1", "category": "code_change",
                "priority": "low", "description": "all of it", "diff": broker.repo().diff("zwei"), "base": "HEAD",
                "skip_diff_validation": false, "idempotency_key": "once", "personas": ["general", "tests"],
                "policy": { "rule": "min_approvals", "min_approvals": 1, "max_rounds": 2 },
            }),
        ),
        "list_reviews" => {
            json!({
                "status": "pending", "category": "code_change", "projects": ["project"], "limit": 10, "wait": false,
                "since": 0, "timeout_seconds": 1, "caller_id": "ada",
            })
        }
        "claim_review" => {
            with(by_id(review_in(&client, "pending").await), json!({ "reviewer_id": "ada", "persona": "general" }))
        }
        "get_proposal" => {
            let proposal = proposal_with("to be read", json!({ "diff": broker.repo().diff("zwei") }));
            let review = client.call("create_review", proposal).await;
            with(
                by_id(id(&review)),
                json!({
                    "round": 1, "content": "active", "file": "greeting.txt", "persona": "general", "caller_id": "ada",
                }),
            )
        }
        "submit_verdict" => {
            let id = review_in(&client, "claimed").await;
            let status = client.status(&id).await;
            let metrics = json!({
                "files_reviewed": 1, "lines_analyzed": 3, "duration_ms": 10, "cost_usd": 0.5, "input_tokens": 100,
                "output_tokens": 10, "model": "m",
            });
            let more = json!({
                "counter_patch": broker.repo().diff("dos"), "claim_generation": status["claim_generation"],
                "content_hash": status["content_hash"], "summary": "in short", "metrics": metrics,
                "issues": [{ "severity": "low", "title": "a nit" }], "suggestions": [{ "title": "an idea" }],
            });
            with(verdict(&id, "ada", "changes_requested"), more)
        }
        "get_review_status" => {
            let more = json!({ "wait": false, "since": 0, "timeout_seconds": 1, "caller_id": "ada" });
            with(by_id(review_in(&client, "pending").await), more)
        }
        "add_message" => {
            let more = json!({
                "sender_role": "reviewer", "body": "hello", "metadata": { "files": ["a.rs"] }, "persona": "general",
                "caller_id": "ada",
            });
            with(by_id(review_in(&client, "claimed").await), more)
        }
        "add_seat" => {
            let more = json!({ "reviewer": "security", "role": "operator", "caller_id": "olga" });
            with(by_id(review_in(&client, "pending").await), more)
        }
        "take_over" => {
            with(by_id(review_in(&client, "claimed").await), json!({ "reviewer_id": "olga", "persona": "general" }))
        }
        "get_discussion" => with(by_id(review_in(&client, "claimed").await), json!({ "round": 1 })),
        "accept_counter_patch" | "reject_counter_patch" => {
            let id = review_in(&client, "claimed").await;
            let patch = json!({ "counter_patch": broker.repo().diff("dos") });
            client.call("submit_verdict", with(verdict(&id, "ada", "changes_requested"), patch)).await;
            with(by_id(id), json!({ "persona": "general" }))
        }
        "release_claim" => {
            let id = review_in(&client, "claimed").await;
            let generation = &client.status(&id).await["claim_generation"];
            let more = json!({ "claim_generation": generation, "reviewer_id": "ada", "reason": "not my field" });
            with(by_id(id), more)
        }
        "list_issues" => {
            json!({
                "review_id": with_issue(&client).await, "status": "open", "severity": "high", "file": "greeting.txt",
                "persona": "general", "include_suggestions": true, "limit": 10,
            })
        }
        "update_issue" => {
            let id = with_issue(&client).await;
            let issues = client.call("list_issues", json!({ "review_id": id })).await;
            let more = json!({
                "issue_id": issues["issues"][0]["issue_id"], "status": "wont_fix", "note": "as you say",
                "role": "reviewer", "caller_id": "ada",
            });
            with(by_id(id), more)
        }
        "list_reviewers" => json!({}),
        "get_review_timeline" => by_id(with_issue(&client).await),
        "get_activity_feed" => {
            with_issue(&client).await;
            json!({ "project": "project", "limit": 10 })
        }
        "get_audit_log" => {
            json!({
                "review_id": with_issue(&client).await, "actor": "ada", "kind": ["verdict_given"], "project": "project",
                "since": "7d", "until": "2999-01-01", "order": "oldest", "limit": 10,
            })
        }
        "get_review_stats" => {
            with_issue(&client).await;
            json!({ "project": "project", "since": "7d", "until": "2999-01-01T00:00:00Z", "group_by": "category" })
        }
        "close_review" => with(by_id(review_in(&client, "approved").await), json!({ "closer_role": "proposer" })),
        "cancel_review" => with(by_id(review_in(&client, "pending").await), json!({ "reason": "not wanted" })),
        new => panic!("{new} is new: give it a scene here, and it is held to what every tool is held to"),
    }
}

/// A claimed review in which `ada` has found something.
async fn with_issue(client: &TestClient) -> String {
    let id = review_in(client, "claimed").await;
    let issue = json!({ "severity": "high", "title": "too short", "file": "greeting.txt", "line_start": 1 });
    client.call("submit_verdict", with(verdict(&id, "ada", "comment"), json!({ "issues": [issue] }))).await;
    id
}
