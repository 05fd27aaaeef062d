//! An MCP client that sends one JSON-RPC request per call, without a session.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone)]
pub(crate) struct TestClient {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

static IDS: AtomicU64 = AtomicU64::new(1);

impl TestClient {
    pub(crate) fn new(url: String) -> Self {
        Self { http: reqwest::Client::new(), url, token: None }
    }

    /// The same caller at another path of the broker.
    pub(crate) fn at(&self, path: &str) -> Self {
        let broker = self.url.split("/mcp").next().unwrap();
        Self { url: format!("{broker}{path}"), ..self.clone() }
    }

    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.url.ends_with(path)
    }

    /// Sends this token with every call.
    pub(crate) fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// A tool call that must succeed: its structured content.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> impl Future<Output = Value> + use<> {
        let (call, place) = (self.try_call(tool, arguments), std::panic::Location::caller());
        async move { call.await.unwrap_or_else(|error| panic!("at {place}: {error}")) }
    }

    /// A tool call that must be refused with this code: the error.
    #[track_caller]
    pub(crate) fn refused(&self, code: &str, tool: &str, arguments: Value) -> impl Future<Output = Value> + use<> {
        let (call, place, code) = (self.try_call(tool, arguments), std::panic::Location::caller(), code.to_owned());
        async move {
            match call.await {
                Ok(answer) => panic!("at {place}: not refused: {answer}"),
                Err(error) => {
                    assert_eq!(error["code"], *code, "at {place}: {error}");
                    error
                }
            }
        }
    }

    /// A tool call: its result, or the error of a refusal or of the protocol.
    pub(crate) fn try_call(&self, tool: &str, arguments: Value) -> impl Future<Output = Result<Value, Value>> + use<> {
        let request = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        async move {
            let result = request.await?;
            let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or("null")).unwrap();
            if result["isError"] == true {
                return Err(text);
            }
            assert_eq!(result["structuredContent"], text, "both kinds of content say the same");
            Ok(text)
        }
    }

    /// Any request: its result, or the protocol's error.
    pub(crate) fn request(&self, method: &str, params: Value) -> impl Future<Output = Result<Value, Value>> + use<> {
        let id = IDS.fetch_add(1, Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let request = self
            .http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .json(&body);
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        async move {
            let response = request.send().await.map_err(|error| json!({ "transport": error.to_string() }))?;
            let answer: Value = response.json().await.map_err(|error| json!({ "transport": error.to_string() }))?;
            match answer.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(answer["result"].clone()),
            }
        }
    }

    /// Submits a proposal without a diff: its id.
    pub(crate) async fn submit(&self, intent: &str) -> String {
        id(&self.call("create_review", proposal(intent)).await)
    }

    /// Claims for `reviewer`: the generation.
    pub(crate) async fn claim(&self, review: &str, reviewer: &str) -> u64 {
        let claim = json!({ "review_id": review, "reviewer_id": reviewer });
        self.call("claim_review", claim).await["claim_generation"].as_u64().unwrap()
    }

    pub(crate) async fn status(&self, review: &str) -> Value {
        self.call("get_review_status", json!({ "review_id": review })).await
    }
}

/// The arguments of a proposal without a diff.
pub(crate) fn proposal(intent: &str) -> Value {
    json!({ "intent": intent, "agent_type": "gsd-executor", "agent_role": "proposer", "phase": "1" })
}

/// `proposal` with more or other arguments.
pub(crate) fn proposal_with(intent: &str, more: Value) -> Value {
    let mut arguments = proposal(intent);
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

pub(crate) fn id(answer: &Value) -> String {
    answer["review_id"].as_str().expect("an id").to_owned()
}
