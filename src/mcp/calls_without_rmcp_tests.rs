use super::{DirectTools, ToolAnswer, ToolCall, answer};
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderValue, Method, StatusCode, request::Parts},
};
use rmcp::{ErrorData, model::CallToolResult};
use serde_json::{Value, json};

/// Answers with the call it got.
struct Echo;

impl DirectTools for Echo {
    async fn call_directly(&self, call: ToolCall, _: &Parts) -> Result<ToolAnswer, ErrorData> {
        match call.name.as_str() {
            "refuses" => Ok(ToolAnswer::Refused(Box::new(CallToolResult::structured_error(json!({ "code": "no" }))))),
            "fails" => Err(ErrorData::invalid_params("wrong", Some(json!({ "field": "x" })))),
            _ => Ok(ToolAnswer::Success(json!({ "arguments": call.arguments, "meta": call.meta }).to_string())),
        }
    }
}

fn post(body: impl Into<String>) -> Request {
    let mut request = Request::new(Body::from(body.into()));
    *request.method_mut() = Method::POST;
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2025-06-18"),
    ] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    request
}

async fn json_answer(body: &Value) -> Value {
    let response = answer(&Echo, post(body.to_string())).await.expect("answered directly");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_call_is_answered_as_text_and_as_structured_content() {
    let params = json!({ "name": "echo", "arguments": { "a": "\"ü\n" }, "_meta": { "progressToken": 1 } });
    let response =
        json_answer(&json!({ "jsonrpc": "2.0", "id": "x\"1", "method": "tools/call", "params": params })).await;
    let content = json!({ "arguments": { "a": "\"ü\n" }, "meta": { "progressToken": 1 } });
    assert_eq!(response["id"], "x\"1");
    assert_eq!(response["result"]["structuredContent"], content);
    let text: Value = serde_json::from_str(response["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, content);
}

#[tokio::test]
async fn refusals_and_errors_have_the_form_of_the_protocol() {
    let call = |name: &str| json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": name } });
    let refused = json_answer(&call("refuses")).await;
    assert_eq!(refused["result"]["isError"], true);
    assert_eq!(refused["result"]["structuredContent"], json!({ "code": "no" }));
    assert_eq!(refused["result"].get("resultType"), None);
    let error = json!({ "code": -32602, "message": "wrong", "data": { "field": "x" } });
    assert_eq!(json_answer(&call("fails")).await, json!({ "jsonrpc": "2.0", "id": 7, "error": error }));
}

/// The request must arrive at rmcp as it came.
#[track_caller]
fn assert_left_to_rmcp(result: Result<axum::response::Response, Request>) -> Request {
    result.expect_err("left to rmcp")
}

#[tokio::test]
async fn every_other_message_is_left_to_rmcp() {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "echo" } });
    let with = |path: &str, value: Value| {
        let mut changed = call.clone();
        *changed.pointer_mut(path).unwrap() = value;
        changed
    };
    let added = |field: &str, value: Value| {
        let mut changed = call.clone();
        changed["params"][field] = value;
        changed
    };
    for body in [
        with("/method", json!("tools/list")),
        with("/jsonrpc", json!("1.0")),
        with("/id", json!(null)),
        with("/id", json!(1.5)),
        with("/id", json!(u64::MAX)),
        with("/params", json!(["echo"])),
        with("/params/name", json!(3)),
        added("arguments", json!([1])),
        added("task", json!({})),
        added("_meta", json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" })),
        json!([call]),
        json!(["2.0", 1, "tools/call", { "name": "echo" }]),
        json!("text"),
    ] {
        let request = assert_left_to_rmcp(answer(&Echo, post(body.to_string())).await);
        let rest = to_bytes(request.into_body(), usize::MAX).await.unwrap();
        assert_eq!(rest, body.to_string());
    }
    assert_left_to_rmcp(answer(&Echo, post("{\"jsonrpc\": \"2.0\", ")).await);
    for (name, value) in [
        ("accept", "application/json"),
        ("content-type", "text/plain"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-protocol-version", "2025-03-26"),
    ] {
        let mut request = post(call.to_string());
        request.headers_mut().insert(name, HeaderValue::from_static(value));
        assert_left_to_rmcp(answer(&Echo, request).await);
    }
    let mut request = post(call.to_string());
    *request.method_mut() = Method::GET;
    assert_left_to_rmcp(answer(&Echo, request).await);
    let mut request = post(call.to_string());
    request.headers_mut().remove("mcp-protocol-version");
    assert_left_to_rmcp(answer(&Echo, request).await);
}
