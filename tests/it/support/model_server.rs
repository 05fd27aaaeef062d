//! A scripted model: an HTTP server that speaks OpenAI's Responses API and Anthropic's Messages
//! API and plays a [`Script`], so that the real Codex and Claude Code run offline.
//!
//! It keeps no state per client. Where a client stands in the script is recomputed from the
//! conversation in each of its requests, so one server serves any number of clients.

mod anthropic;
mod anthropic_tests;
mod gate;
mod openai;
mod openai_tests;
mod script;
mod script_tests;
mod values;

use std::sync::{Arc, Mutex};

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) use gate::Gate;
pub(crate) use script::Script;

/// Both APIs on one loopback port, until dropped.
pub(crate) struct ModelServer {
    address: String,
    replies: Replies,
    asked: Asked,
    serving: JoinHandle<()>,
}

impl ModelServer {
    pub(crate) async fn start(script: Script) -> Self {
        let playing = Playing { script: Arc::new(script), replies: Replies::default(), asked: Asked::default() };
        let app = Router::new()
            .merge(openai::routes())
            .merge(anthropic::routes())
            .layer(DefaultBodyLimit::max(64 << 20))
            .with_state(playing.clone());
        Self::serve(app, playing.replies, playing.asked).await
    }

    /// A server without models; both clients understand its error.
    pub(crate) async fn without_models(words: &str) -> Self {
        let error = json!({ "type": "not_found_error", "code": "model_not_found", "message": words });
        let answer = json!({ "type": "error", "error": error });
        let app = Router::new().fallback(move || async move { (StatusCode::NOT_FOUND, Json(answer)) });
        Self::serve(app, Replies::default(), Asked::default()).await
    }

    /// An address without a server.
    pub(crate) async fn gone() -> Self {
        let server = Self::start(Script::new()).await;
        server.serving.abort();
        server
    }

    async fn serve(app: Router, replies: Replies, asked: Asked) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, replies, asked, serving }
    }

    /// What Codex calls the provider's `base_url`.
    pub(crate) fn openai_url(&self) -> String {
        format!("{}/v1", self.address)
    }

    /// What Claude Code calls `ANTHROPIC_BASE_URL`.
    pub(crate) fn anthropic_url(&self) -> String {
        self.address.clone()
    }

    /// All replies of the model to all clients: tool calls and texts.
    pub(crate) fn replies(&self) -> Vec<Value> {
        self.replies.0.lock().unwrap().clone()
    }

    /// The last request of an agent, with the whole conversation.
    pub(crate) fn asked(&self) -> String {
        self.requests().pop().unwrap_or_default()
    }

    /// All requests of agents.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.asked.0.lock().unwrap().clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Clone, Default)]
struct Replies(Arc<Mutex<Vec<Value>>>);

#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

#[derive(Clone)]
struct Playing {
    script: Arc<Script>,
    replies: Replies,
    asked: Asked,
}

impl Playing {
    fn hear(&self, request: &Value) {
        self.asked.0.lock().unwrap().push(request.to_string());
    }

    fn note(&self, reply: &Value) {
        self.replies.0.lock().unwrap().push(reply.clone());
    }
}

/// The name under which a client offers the broker's tool: itself, or behind the server's name.
fn find_tool<'a>(wanted: &str, offered: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    offered.into_iter().find(|name| {
        name.strip_suffix(wanted)
            .is_some_and(|before| before.is_empty() || before.ends_with("__") || before.ends_with('.'))
    })
}

/// The text of a tool's output, which is a string, a list of content parts, or an object around either.
fn text_of(output: &Value) -> String {
    if let Some(text) = output.as_str() {
        return text.to_owned();
    }
    if let Some(parts) = output.as_array() {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        return texts.join("\n");
    }
    match output.get("content") {
        Some(content) => text_of(content),
        None => output.to_string(),
    }
}

/// Events as server-sent events. All are known before the first is sent, so it is a plain body.
fn event_stream(events: impl IntoIterator<Item = Value>) -> Response {
    let body: String = events
        .into_iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}
