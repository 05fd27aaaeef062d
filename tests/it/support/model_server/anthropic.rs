//! The Messages API as Claude Code uses it.
//!
//! Unless a tool asks to be loaded always, Claude Code only lists the names of MCP tools, and the
//! model has to load them with `ToolSearch` before it calls them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::script::{Reply, Script, TURN_END};
use super::{Playing, event_stream, find_tool, text_of};

/// Ids of calls that are steps of the script, to tell them from `ToolSearch`.
const STEP: &str = "toolu_step_";
const SEARCH: &str = "toolu_search";

pub(super) fn routes() -> Router<Playing> {
    Router::new()
        .route("/", any(|| async { "" }))
        .route("/v1/messages", post(respond))
        .route("/v1/messages/count_tokens", post(count_tokens))
}

async fn count_tokens(body: Bytes) -> Json<Value> {
    Json(json!({ "input_tokens": body.len() / 4 }))
}

async fn respond(State(playing): State<Playing>, Json(request): Json<Value>) -> Response {
    let offered: Vec<&str> = names(&request["tools"]).collect();
    let block = if offered.is_empty() {
        // A side request, such as for a title: not the agent's own conversation.
        text_block(r#"{"title": "scripted", "isNewTopic": false}"#)
    } else {
        playing.hear(&request);
        let results = results(&request["messages"]);
        let block = match playing.script.next(&results).await {
            Reply::Call { tool, args } => call(&playing.script, &request, &offered, &tool, args),
            Reply::Text(text) => text_block(&text),
        };
        playing.note(&block);
        block
    };
    let message = message(&request["model"], &block);
    if request["stream"] == true { event_stream(events(message, block)) } else { Json(message).into_response() }
}

fn names(tools: &Value) -> impl Iterator<Item = &str> {
    tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str())
}

/// What the calls of the script so far came back with.
fn results(messages: &Value) -> Vec<String> {
    let blocks =
        messages.as_array().into_iter().flatten().filter_map(|message| message["content"].as_array()).flatten();
    let result = |block: &Value| match block["type"].as_str()? {
        "tool_result" if block["tool_use_id"].as_str()?.starts_with(STEP) => Some(text_of(&block["content"])),
        "text" => block["text"].as_str().filter(|text| text.starts_with(TURN_END)).map(str::to_owned),
        _ => None,
    };
    // A call that was cut off by a kill is made again.
    blocks.filter_map(result).filter(|text| !text.contains("Tool call interrupted")).collect()
}

fn call(script: &Script, request: &Value, offered: &[&str], tool: &str, args: Value) -> Value {
    let id = format!("{STEP}{}", unique());
    if let Some(name) = find_tool(tool, offered.iter().copied()) {
        return json!({ "type": "tool_use", "id": id, "name": name, "input": args });
    }
    let spoken = [strings(&request["system"]), strings(&request["messages"])].concat();
    let deferred: Vec<&str> = spoken.iter().flat_map(|text| mcp_names(text)).collect();
    let Some(name) = find_tool(tool, deferred.iter().copied()) else {
        return text_block(&format!("SCRIPT-FAILED {tool} is not offered, only {}", offered.join(", ")));
    };
    if spoken.contains(&SEARCH) {
        return json!({ "type": "tool_use", "id": id, "name": name, "input": args });
    }
    let wanted: Vec<&str> =
        script.tools().iter().filter_map(|tool| find_tool(tool, deferred.iter().copied())).collect();
    let input = json!({ "query": format!("select:{}", wanted.join(",")), "max_results": 50 });
    json!({ "type": "tool_use", "id": SEARCH, "name": "ToolSearch", "input": input })
}

/// Every string in a value, however deep.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Names of MCP tools in a text.
fn mcp_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').filter(|word| word.starts_with("mcp__"))
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A number for an id. Claude Code joins what it has recorded under one id.
fn unique() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(1);
    IDS.fetch_add(1, Relaxed)
}

fn message(model: &Value, block: &Value) -> Value {
    let stop_reason = if block["type"] == "tool_use" { "tool_use" } else { "end_turn" };
    json!({
        "id": format!("msg_{}", unique()), "type": "message", "role": "assistant", "model": model,
        "content": [block], "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 1000, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 100, "output_tokens": 20,
        },
    })
}

fn events(message: Value, block: Value) -> Vec<Value> {
    let stop_reason = message["stop_reason"].clone();
    let mut begun = message;
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["usage"]["output_tokens"] = 1.into();
    let mut empty = block.clone();
    let delta = if block["type"] == "tool_use" {
        empty["input"] = json!({});
        json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
    } else {
        empty["text"] = "".into();
        json!({ "type": "text_delta", "text": block["text"] })
    };
    vec![
        json!({ "type": "message_start", "message": begun }),
        json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason, "stop_sequence": null },
            "usage": { "output_tokens": 20 },
        }),
        json!({ "type": "message_stop" }),
    ]
}
