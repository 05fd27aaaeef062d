//! The Responses API as Codex uses it.
//!
//! Codex shows MCP tools to the model in one of three ways, by the model's name: as plain
//! functions, behind a tool search, or (code mode) only as JavaScript run by its `exec` tool.

use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::script::{Reply, Script, TURN_END};
use super::{Playing, event_stream, find_tool, text_of};

pub(super) fn routes() -> Router<Playing> {
    Router::new()
        .route("/v1/responses", post(respond))
        .route("/v1/models", get(|| async { Json(json!({ "object": "list", "data": [], "models": [] })) }))
}

async fn respond(State(playing): State<Playing>, Json(request): Json<Value>) -> Response {
    playing.hear(&request);
    let conversation = Conversation::read(&request);
    let item = match conversation.running_cell {
        Some(ref cell) => conversation.wait_for(cell),
        None => match playing.script.next(&conversation.results).await {
            Reply::Call { tool, args } => conversation.call(&playing.script, &tool, args),
            Reply::Text(text) => message(&text),
        },
    };
    playing.note(&item);
    event_stream(events(&request["model"], item))
}

struct Conversation {
    offered: Vec<Offered>,
    results: Vec<String>,
    /// Results and waits so far: makes the ids of calls differ.
    turn: usize,
    /// The code-mode cell whose result is still to come.
    running_cell: Option<String>,
    searched: bool,
}

/// A tool, and the call item it wants, still without arguments.
struct Offered {
    name: String,
    call: Value,
}

impl Conversation {
    fn read(request: &Value) -> Self {
        let mut offered = Vec::new();
        offer(&request["tools"], None, &mut offered);
        let mut read = Self { offered, results: Vec::new(), turn: 0, running_cell: None, searched: false };
        for item in request["input"].as_array().into_iter().flatten() {
            match item["type"].as_str().unwrap_or_default() {
                "additional_tools" => offer(&item["tools"], None, &mut read.offered),
                "tool_search_output" => {
                    read.searched = true;
                    offer(&item["tools"], None, &mut read.offered);
                }
                "function_call_output" | "custom_tool_call_output" => read.take_output(&item["output"]),
                "message" if item["role"] == "assistant" => {
                    read.results.extend(Some(text_of(&item["content"])).filter(|text| text.starts_with(TURN_END)));
                }
                _ => {}
            }
        }
        read
    }

    fn take_output(&mut self, output: &Value) {
        let output = text_of(output);
        self.turn += 1;
        // A call that was cut off by a kill is made again.
        if output == "aborted" {
            return;
        }
        self.running_cell = running_cell(&output);
        if self.running_cell.is_none() {
            self.results.push(output);
        }
    }

    fn call(&self, script: &Script, tool: &str, args: Value) -> Value {
        let names = self.offered.iter().map(|offered| offered.name.as_str());
        if let Some(name) = find_tool(tool, names.clone()) {
            let mut call = self.offered.iter().find(|offered| offered.name == name).unwrap().call.clone();
            call["arguments"] = args.to_string().into();
            return self.complete(call);
        }
        let has = |wanted| names.clone().any(|name| name == wanted);
        if has("exec") {
            let code = javascript(tool, &args);
            return self.complete(json!({ "type": "custom_tool_call", "name": "exec", "input": code }));
        }
        if has("tool_search") && !self.searched {
            let names = script.tools().join(" ");
            let query = format!("{names} {}", names.replace('_', " "));
            let arguments = json!({ "query": query, "limit": 50 });
            return self.complete(json!({ "type": "tool_search_call", "execution": "client", "arguments": arguments }));
        }
        let names: Vec<&str> = names.collect();
        message(&format!("SCRIPT-FAILED {tool} is not offered, only {}", names.join(", ")))
    }

    fn wait_for(&self, cell: &str) -> Value {
        let arguments = json!({ "cell_id": cell, "yield_time_ms": 30_000 }).to_string();
        self.complete(json!({ "type": "function_call", "name": "wait", "arguments": arguments }))
    }

    fn complete(&self, mut call: Value) -> Value {
        let search = if call["type"] == "tool_search_call" { "search_" } else { "" };
        call["call_id"] = format!("call_{search}{}", self.turn).into();
        call["status"] = "completed".into();
        call
    }
}

/// Collects tools, those of a namespace under `namespace__name`.
fn offer(tools: &Value, namespace: Option<&str>, offered: &mut Vec<Offered>) {
    for tool in tools.as_array().into_iter().flatten() {
        let kind = tool["type"].as_str().unwrap_or_default();
        let name = tool["name"].as_str().unwrap_or(kind);
        if kind == "namespace" {
            offer(&tool["tools"], Some(name).filter(|name| *name != "functions"), offered);
            continue;
        }
        let call_kind = if kind == "custom" { "custom_tool_call" } else { "function_call" };
        let mut call = json!({ "type": call_kind, "name": name });
        let shown = match namespace {
            Some(namespace) => {
                call["namespace"] = namespace.into();
                format!("{}__{name}", namespace.trim_end_matches('_'))
            }
            None => name.to_owned(),
        };
        offered.push(Offered { name: shown, call });
    }
}

/// A program for code mode that calls one tool and prints what the model would see of its result.
fn javascript(tool: &str, args: &Value) -> String {
    let tool = Value::from(tool);
    format!(
        r#"const wanted = {tool};
const names = ALL_TOOLS.map((tool) => tool.name);
const name = names.find((name) => name === wanted || name.endsWith("__" + wanted));
if (name === undefined) {{
  text("no tool " + wanted + " among " + names.join(", "));
}} else {{
  const result = await tools[name]({args});
  text(JSON.stringify(result?.structuredContent ?? result));
}}
"#
    )
}

/// The id in the notice that Codex sends in place of the result of a program that still runs.
fn running_cell(output: &str) -> Option<String> {
    let (_, after) = output.split_once("Script running with cell ID ")?;
    after.split_whitespace().next().map(str::to_owned)
}

fn message(text: &str) -> Value {
    json!({
        "type": "message", "id": "msg_last", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

fn events(model: &Value, item: Value) -> Vec<Value> {
    let response = json!({ "id": "resp_scripted", "object": "response", "created_at": 0, "model": model, "status": "in_progress", "output": [] });
    let mut begun = item.clone();
    begun["status"] = "in_progress".into();
    let mut completed = response.clone();
    completed["status"] = "completed".into();
    completed["output"] = json!([item]);
    completed["usage"] = json!({
        "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 100 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 5 },
        "total_tokens": 1020,
    });

    let mut events = vec![
        json!({ "type": "response.created", "response": response }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": begun }),
    ];
    if let Some(text) = item["content"][0]["text"].as_str() {
        events.push(json!({
            "type": "response.output_text.delta", "item_id": item["id"],
            "output_index": 0, "content_index": 0, "delta": text,
        }));
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    events.push(json!({ "type": "response.completed", "response": completed }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}
