//! The running broker, as our own commands speak to it.

use super::{
    Failure, NO_BROKER,
    locate::{client, find, given_token, local_token},
    place::Place,
};
use crate::telemetry::visible;
use anyhow::{Context as _, anyhow};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderValue},
};
use serde_json::{Value, json};

/// Quoted of an answer that nobody can read.
const SHOWN_CHARS: usize = 500;

/// Which broker, and how its answer is shown.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct At {
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// The broker's address [default: the one that serves the data dir]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) struct Remote {
    client: Client,
    url: String,
    token: Option<HeaderValue>,
}

impl Remote {
    /// The broker at this address, without a token.
    pub(super) fn at(url: &str) -> Result<Self, Failure> {
        Ok(Self { client: client()?, url: url.to_owned(), token: None })
    }

    pub(super) async fn find(at: At) -> Result<Self, Failure> {
        let client = client()?;
        let given = given_token()?;
        let (url, token) = match at.url {
            Some(url) => (url.trim_end_matches('/').to_owned(), given),
            None => {
                let data_dir = at.place.settle(None)?.config.server.data_dir;
                let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
                let found = find(&client, &data_dir).await;
                let url = found.ok_or_else(|| Failure::new(NO_BROKER, missing()))?.url;
                (url, given.or_else(|| local_token(&data_dir)))
            }
        };
        Ok(Self { client, url, token })
    }

    pub(super) async fn get(&self, path: &str) -> Result<String, Failure> {
        self.answer(self.client.get(format!("{}{path}", self.url))).await
    }

    /// What a route of the API says.
    pub(super) async fn read(&self, path: &str) -> Result<Value, Failure> {
        let text = self.get(path).await?;
        Ok(serde_json::from_str(&text).with_context(|| unreadable(&text))?)
    }

    /// The same of one that changes something.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let text = self.answer(self.client.post(format!("{}{path}", self.url)).json(body)).await?;
        Ok(serde_json::from_str(&text).with_context(|| unreadable(&text))?)
    }

    /// Calls a tool. A refusal is an error in its own words.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
        });
        let request = self.client.post(format!("{}/mcp", self.url)).json(&message);
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        let text = self.answer(request).await?;
        let mut answer: Value = serde_json::from_str(&text).with_context(|| unreadable(&text))?;
        if let Some(error) = answer.pointer("/error/message").and_then(Value::as_str) {
            return Err(anyhow!("{}", visible(error)).into());
        }
        let structured = answer["result"]["structuredContent"].take();
        match (answer["result"]["isError"] == true, structured["error"].as_str()) {
            (true, Some(error)) => Err(anyhow!("{}", visible(error)).into()),
            (true, None) => Err(anyhow!(unreadable(&text)).into()),
            (false, _) => Ok(structured),
        }
    }

    /// An answer that goes on and on. With a failure comes whether the broker itself says no.
    pub(super) async fn open(&self, path: &str, query: &[(&str, String)]) -> Result<Response, (Failure, bool)> {
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let request = self.client.get(format!("{}{path}?{}", self.url, query.join("&")));
        let answer = self.send(request).await.map_err(|failure| (failure, false))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.unwrap_or_default();
        Err((refused(status, &text), status.is_client_error()))
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, Failure> {
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let sent = request.send().await.with_context(|| format!("no broker answers at {}", self.url));
        sent.map_err(|error| Failure::new(NO_BROKER, error))
    }

    async fn answer(&self, request: RequestBuilder) -> Result<String, Failure> {
        let answer = self.send(request).await?;
        let status = answer.status();
        let text = answer.text().await?;
        if status.is_success() { Ok(text) } else { Err(refused(status, &text)) }
    }
}

/// As a value in the query of an address.
pub(super) fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn refused(status: StatusCode, text: &str) -> Failure {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let error = body["error"].as_str().or_else(|| body["detail"].as_str());
    let words = match (error, body["code"].as_str()) {
        (Some(error), Some(code)) => format!("{error} ({code})"),
        _ => text.chars().take(SHOWN_CHARS).collect(),
    };
    anyhow!("the broker answered with HTTP {status}: {}", visible(&words)).into()
}

fn unreadable(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_CHARS).collect();
    format!("the broker's answer cannot be read: {}", visible(&start))
}
