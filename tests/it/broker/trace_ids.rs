//! Trace ids: the id that a caller sees is the one in the broker's log.

use crate::support::{broker::TestBroker, client::proposal, rest_client::sent};
use serde_json::{Value, json};

/// Waits for a log line about this tool with this trace id.
async fn until_logged(broker: &TestBroker, tool: &str, trace: &str) {
    broker.until_logged(|line| line.contains(tool) && line.contains(trace)).await;
}

#[tokio::test]
async fn a_call_is_logged_under_the_trace_id_of_its_response() {
    let broker = TestBroker::start().await;
    let answer = broker.rest().post("/reviews", proposal("a secret plan")).await;
    answer.is(201);
    let trace = answer.header("x-trace-id").unwrap();
    assert_eq!(trace.len(), 32);
    until_logged(&broker, "create_review", trace).await;
    assert!(!broker.log().contains("secret plan"), "the log does not repeat what a caller sends");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_error_names_its_trace_id() {
    let broker = TestBroker::start().await;
    let answer = sent(broker.rest().request("GET", "/reviews/R-99")).await;
    let body = answer.refused(404, "unknown_review");
    assert_eq!(body["trace_id"].as_str(), answer.header("x-trace-id"));
    until_logged(&broker, "get_proposal", body["trace_id"].as_str().unwrap()).await;
    let refused = broker.client().try_call("claim_review", json!({ "review_id": "R-99", "reviewer_id": "ada" })).await;
    let trace = refused.unwrap_err()["trace_id"].as_str().unwrap().to_owned();
    until_logged(&broker, "claim_review", &trace).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn two_requests_have_different_trace_ids() {
    let broker = TestBroker::start().await;
    let trace = async || broker.rest().get("/reviews").await.header("x-trace-id").unwrap().to_owned();
    assert_ne!(trace().await, trace().await);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_valid_traceparent_becomes_the_trace_id() {
    let broker = TestBroker::start().await;
    let trace = "a".repeat(32);
    assert_eq!(call_with(&broker, &format!("00-{trace}-b7ad6b7169203331-01")).await, trace);
    until_logged(&broker, "list_reviews", &trace).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_malformed_traceparent_is_replaced() {
    let broker = TestBroker::start().await;
    let trace = "g".repeat(32);
    assert_ne!(call_with(&broker, &format!("00-{trace}-b7ad6b7169203331-01")).await, trace);
    broker.stop_and_check().await;
}

/// Calls `list_reviews` over MCP with this `traceparent`: the trace id of the response.
async fn call_with(broker: &TestBroker, traceparent: &str) -> String {
    let params = json!({ "name": "list_reviews", "arguments": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = reqwest::Client::new().post(broker.mcp_url()).json(&body);
    let request = request.header("accept", "application/json, text/event-stream");
    let answer = request.header("traceparent", traceparent).send().await.unwrap();
    let trace = answer.headers()["x-trace-id"].to_str().unwrap().to_owned();
    let body: Value = answer.json().await.unwrap();
    assert!(body["result"].is_object(), "{body}");
    trace
}
