//! Client of the running broker: calls operations over REST, and tools over MCP where a command is not converted yet.

use crate::{
    CliError, NO_BROKER,
    client::discovery::{client, find, given_token, local_token},
    config_args::ConfigArgs,
    error::Refused,
    progress,
};
use anyhow::{Context as _, anyhow};
use api::{Operation, route::EncodedRequest};
use domain::text::escape;
use git::ClientRepo;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue},
};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Characters of an unreadable answer that an error quotes.
const SHOWN_CHARS: usize = 500;

/// The most rows that one call gives.
const PAGE: usize = 200;

/// Options for the broker and the output format.
#[derive(Debug, Clone, clap::Args)]
pub struct BrokerArgs {
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// The broker's address [default: the one that serves the data dir]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    place: ConfigArgs,
}

impl BrokerArgs {
    /// The working folder of the command.
    pub(crate) fn dir(&self) -> anyhow::Result<PathBuf> {
        match &self.place.repo {
            Some(dir) => Ok(dir.clone()),
            None => std::env::current_dir().context("the current folder is gone"),
        }
    }
}

pub(crate) struct Remote {
    client: Client,
    url: String,
    token: Option<HeaderValue>,
    /// A broker may serve many repositories, and the one it was started in need not be ours.
    workplace: Option<(HeaderName, HeaderValue)>,
}

impl Remote {
    /// The broker at this address, without a token.
    pub(crate) fn at(url: &str) -> Result<Self, CliError> {
        Ok(Self { client: client()?, url: url.to_owned(), token: None, workplace: None })
    }

    pub(crate) async fn find(at: BrokerArgs) -> Result<Self, CliError> {
        let client = client()?;
        let given = given_token()?;
        let workplace = at
            .dir()
            .ok()
            .and_then(|dir| ClientRepo::find(&dir))
            .and_then(|repo| api::client_repo::header(&repo.root, &repo.objects));
        let (url, token) = match at.url {
            Some(url) => (url.trim_end_matches('/').to_owned(), given),
            None => {
                let data_dir = at.place.resolve(None)?.config.server.data_dir;
                let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
                let found = find(&client, &data_dir).await;
                let url = found.ok_or_else(|| CliError::new(NO_BROKER, missing()))?.url;
                (url, given.or_else(|| local_token(&data_dir)))
            }
        };
        Ok(Self { client, url, token, workplace })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<String, CliError> {
        self.answer(self.client.get(format!("{}{path}", self.url))).await
    }

    /// Calls an operation.
    pub(crate) async fn execute<O: Operation>(&self, request: &O::Request) -> Result<O::Response, CliError> {
        progress::during(O::ID.name(), self.execute_quietly::<O>(request)).await
    }

    /// Calls an operation without showing progress.
    pub(crate) async fn execute_quietly<O: Operation>(&self, request: &O::Request) -> Result<O::Response, CliError> {
        let Value::Object(arguments) = serde_json::to_value(request)? else {
            return Err(anyhow!("the request of {} is not an object", O::ID.name()).into());
        };
        let missing = || anyhow!("{} has no route for these arguments", O::ID.name());
        let route = O::ID.route_for(&arguments).ok_or_else(missing)?;
        let EncodedRequest { target, body } = route.encode(arguments);
        let mut http = self.client.request(route.method.clone(), format!("{}{target}", self.url));
        if let Some(body) = body {
            http = http.json(&body);
        }
        if let Some((name, value)) = &self.workplace {
            http = http.header(name, value.clone());
        }
        let response = self.send(http).await?;
        let status = response.status();
        let text = response.text().await?;
        if !status.is_success() {
            return Err(problem(status, &text));
        }
        Ok(serde_json::from_str(&text).with_context(|| unreadable(&text))?)
    }

    /// Calls a tool. A refusal is an error in its own words, with its code.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        progress::during(tool, self.call_quietly(tool, given(arguments))).await
    }

    /// The same for a call that is meant to take long.
    pub(crate) async fn call_quietly(&self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
        });
        let mut request = self.client.post(format!("{}/mcp", self.url)).json(&message);
        request = request.header(ACCEPT, "application/json, text/event-stream");
        if let Some((name, value)) = &self.workplace {
            request = request.header(name, value.clone());
        }
        let text = self.answer(request).await?;
        let mut answer: Value = serde_json::from_str(&text).with_context(|| unreadable(&text))?;
        if let Some(words) = answer.pointer("/error/message").and_then(Value::as_str) {
            return Err(refusal(words, "malformed_call", Map::new()));
        }
        let structured = answer["result"]["structuredContent"].take();
        if answer["result"]["isError"] != true {
            return Ok(structured);
        }
        let Value::Object(mut said) = structured else { return Err(anyhow!(unreadable(&text)).into()) };
        match (said.remove("error"), said.remove("code")) {
            (Some(Value::String(words)), Some(Value::String(code))) => Err(refusal(&words, &code, said)),
            _ => Err(anyhow!(unreadable(&text)).into()),
        }
    }

    /// All pages of a tool that lists: the rows under `key`, at most `limit` of them, and the cursor of the rest.
    pub(crate) async fn pages(
        &self,
        tool: &str,
        mut arguments: Value,
        key: &str,
        limit: usize,
    ) -> Result<Value, CliError> {
        let mut rows = Vec::new();
        // A page may hold less than was asked for, or nothing, and others come after it.
        loop {
            arguments["limit"] = json!((limit - rows.len().min(limit)).clamp(1, PAGE));
            let mut page = self.call(tool, arguments.clone()).await?;
            rows.extend(page[key].as_array_mut().map(std::mem::take).unwrap_or_default());
            arguments["cursor"] = page["next_cursor"].take();
            if arguments["cursor"].is_null() || rows.len() >= limit {
                page[key] = rows.into();
                if let Value::Object(fields) = &mut page {
                    fields.remove("next_cursor");
                    fields.extend(
                        Some(arguments["cursor"].take())
                            .filter(Value::is_string)
                            .map(|at| ("next_cursor".to_owned(), at)),
                    );
                }
                return Ok(page);
            }
        }
    }

    /// An answer that goes on and on. With a failure comes whether the broker itself says no.
    pub(super) async fn open(&self, path: &str, query: &[(&str, String)]) -> Result<Response, (CliError, bool)> {
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

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, CliError> {
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let sent = request.send().await.with_context(|| format!("no broker answers at {}", self.url));
        sent.map_err(|error| CliError::new(NO_BROKER, error))
    }

    async fn answer(&self, request: RequestBuilder) -> Result<String, CliError> {
        let answer = self.send(request).await?;
        let status = answer.status();
        let text = answer.text().await?;
        if status.is_success() { Ok(text) } else { Err(refused(status, &text)) }
    }
}

/// As a value in the query of an address.
fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Removes arguments without a value.
fn given(mut arguments: Value) -> Value {
    if let Value::Object(fields) = &mut arguments {
        fields.retain(|_, value| !value.is_null());
        for value in fields.values_mut() {
            *value = given(value.take());
        }
    }
    arguments
}

fn refusal(message: &str, code: &str, details: Map<String, Value>) -> CliError {
    Refused { message: message.to_owned(), code: code.to_owned(), details }.into()
}

/// The refusal in a problem response of the API.
fn problem(status: StatusCode, text: &str) -> CliError {
    let Ok(Value::Object(mut body)) = serde_json::from_str(text) else { return refused(status, text) };
    for key in ["type", "title", "status", "detail", "trace_id"] {
        body.remove(key);
    }
    // Problem details use `status` for the HTTP status.
    if let Some(current) = body.remove("current_status") {
        body.insert("status".into(), current);
    }
    match (body.remove("error"), body.remove("code")) {
        (Some(Value::String(message)), Some(Value::String(code))) => refusal(&message, &code, body),
        _ => refused(status, text),
    }
}

fn refused(status: StatusCode, text: &str) -> CliError {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let error = body["error"].as_str().or_else(|| body["detail"].as_str());
    match (error, body["code"].as_str()) {
        (Some(words), Some(code)) => {
            let beside = [("http_status".to_owned(), status.as_u16().into())].into_iter().collect();
            refusal(&format!("the broker answered with HTTP {status}: {words}"), code, beside)
        }
        _ => {
            let start = domain::text::truncate(text, SHOWN_CHARS);
            anyhow!("the broker answered with HTTP {status}: {}", escape(start)).into()
        }
    }
}

fn unreadable(text: &str) -> String {
    let start = domain::text::truncate(text, SHOWN_CHARS);
    format!("the broker's answer cannot be read: {}", escape(start))
}
