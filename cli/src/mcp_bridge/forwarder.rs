//! Forwards one MCP message to the broker over HTTP and returns the answer. Retries while the broker restarts.

use super::jsonrpc::Envelope;
use crate::{
    client::{
        discovery::{Starter, find, local_token},
        no_problem_body,
    },
    terminal,
};
use anyhow::anyhow;
use api::BROKER_PID_HEADER;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use config::RunningBroker;
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use std::{
    path::PathBuf,
    sync::{PoisonError, RwLock},
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Delimiters of a base64-encoded header value.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How long a request that was not sent waits for a broker that restarts.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const RECONNECT_DELAY: Duration = Duration::from_millis(50);

const ANSWER_LOST: &str = "the connection was lost before the broker answered, so the call may have taken effect; it is safe to repeat it unchanged (create_review: with the same idempotency_key, or check list_reviews first)";

/// Which broker to talk to.
#[derive(Debug)]
pub(super) enum BrokerTarget {
    Fixed(String),
    /// The broker of a data folder. `may_start`: it is started if none runs.
    Found {
        starter: Starter,
        may_start: bool,
    },
}

pub(super) struct Forwarder {
    pub client: Client,
    pub target: BrokerTarget,
    pub path: String,
    /// The folder that the client works in.
    pub dir: Option<PathBuf>,
    /// Sent with every message: the repository of the client.
    pub client_headers: HeaderMap,
    /// The token to authenticate with [default: the local operator token of the broker].
    pub token: Option<HeaderValue>,
    /// The last known broker. The lock also prevents starting two.
    pub known: Mutex<Option<RunningBroker>>,
    /// The protocol version that `initialize` agreed on. Older revisions do not repeat it in each message.
    pub protocol_version: RwLock<Option<String>>,
}

/// What the bridge reads of an answer. The rest is passed on unchanged.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
}

impl Forwarder {
    /// Returns the lines of the answer: one for a request, none for a notification.
    pub(super) async fn forward(&self, line: Vec<u8>, envelope: Envelope) -> Vec<Vec<u8>> {
        let headers = self.headers(&envelope);
        let body = Bytes::from(line);
        let until = Instant::now() + RECONNECT_TIMEOUT;
        let mut dead = None;
        loop {
            let (url, pid) = match self.locate(dead).await {
                Ok(found) => found,
                Err(error) => return envelope.failure(&format!("{error:#}"), "no_broker", true),
            };
            let mut headers = headers.clone();
            headers.extend(pid.map(|pid| (BROKER_PID_HEADER, HeaderValue::from(pid))));
            headers.extend(self.token().map(|token| (AUTHORIZATION, token)));
            let request = self.client.post(format!("{url}{}", self.path)).headers(headers).body(body.clone());
            match request.send().await {
                // Another broker uses the port now. It did not process the message.
                Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => {}
                Ok(response) => return self.answer(response, &envelope).await,
                // The message was not sent, so it can be sent again.
                Err(error) if error.is_connect() => {}
                Err(_) => return envelope.failure(ANSWER_LOST, "answer_lost", true),
            }
            if Instant::now() > until {
                return envelope.failure(&format!("no broker answers at {url}"), "no_broker", true);
            }
            dead = pid;
            sleep(RECONNECT_DELAY).await;
        }
    }

    /// The address and process id of the broker. `dead` is a process that did not answer.
    async fn locate(&self, dead: Option<u32>) -> anyhow::Result<(String, Option<u32>)> {
        let (starter, may_start) = match &self.target {
            BrokerTarget::Fixed(url) => return Ok((url.clone(), None)),
            BrokerTarget::Found { starter, may_start } => (starter, *may_start),
        };
        let mut known = self.known.lock().await;
        // Another program may use the port of a broker that has ended, and must not get the token of the next one.
        let runs = |known: &RunningBroker| starter.data_dir.running_broker().as_ref() == Some(known);
        let note = match known.take().filter(|known| dead != Some(known.pid) && runs(known)) {
            Some(note) => note,
            None => {
                let note = match may_start {
                    true => starter.find_or_start(&self.client).await?.note,
                    false => self.wait_for_broker(starter, dead.is_some()).await?,
                };
                self.register_repository(starter).await;
                note
            }
        };
        let RunningBroker { url, pid, .. } = known.insert(note);
        Ok((url.clone(), Some(*pid)))
    }

    /// The broker that the user runs. One that ran before may be about to restart.
    async fn wait_for_broker(&self, starter: &Starter, ran_before: bool) -> anyhow::Result<RunningBroker> {
        let until = Instant::now() + if ran_before { RECONNECT_TIMEOUT } else { Duration::ZERO };
        loop {
            if let Some(note) = find(&self.client, &starter.data_dir).await {
                return Ok(note);
            }
            if Instant::now() >= until {
                let dir = starter.data_dir.display();
                return Err(anyhow!(
                    "no broker serves {dir}, and none is started (server.auto_start = false, or --no-start); start one with \
                     `countersign serve`"
                ));
            }
            sleep(RECONNECT_DELAY).await;
        }
    }

    /// Registers the repository that the client works in. If that fails, only its proposals do.
    async fn register_repository(&self, starter: &Starter) {
        let Some(dir) = &self.dir else { return };
        let registered =
            async { crate::client::Client::of_data_dir(&starter.data_dir).await?.register_repository(dir).await };
        if let Err(failure) = registered.await {
            terminal::remark(&format!("{} is not registered: {:#}", dir.display(), failure.error));
        }
    }

    /// Read for each message, because a restarted broker has a new token.
    fn token(&self) -> Option<HeaderValue> {
        match (&self.token, &self.target) {
            (Some(token), _) => Some(token.clone()),
            (None, BrokerTarget::Found { starter, .. }) => local_token(&starter.data_dir),
            (None, BrokerTarget::Fixed(_)) => None,
        }
    }

    /// Revision 2026-07-28 requires the method and name of the message as headers. Older revisions ignore them.
    fn headers(&self, envelope: &Envelope) -> HeaderMap {
        let mut headers = self.client_headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let is_handshake = envelope.method.as_deref() == Some("initialize");
        let agreed = self.protocol_version.read().unwrap_or_else(PoisonError::into_inner).clone();
        let version = envelope.version.clone().or(agreed).filter(|_| !is_handshake);
        let name = envelope.name.as_deref().map(encode_header);
        for (header, value) in [(PROTOCOL_VERSION, version), (METHOD, envelope.method.clone()), (NAME, name)] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(header, value);
            }
        }
        headers
    }

    async fn answer(&self, response: Response, envelope: &Envelope) -> Vec<Vec<u8>> {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        let Ok(body) = response.bytes().await else {
            return envelope.failure(ANSWER_LOST, "answer_lost", true);
        };
        if envelope.id.is_none() {
            return Vec::new();
        }
        if is_stream {
            return events(&body);
        }
        let Ok(answer) = serde_json::from_slice::<Answer<'_>>(&body) else {
            let body = String::from_utf8_lossy(&body);
            let message = no_problem_body(status, &body);
            return envelope.failure(&message, "http_error", status.is_server_error());
        };
        let result = answer.result.filter(|_| envelope.method.as_deref() == Some("initialize"));
        if let Some(Ok(result)) = result.map(|result| serde_json::from_str::<InitializeResult>(result.get())) {
            *self.protocol_version.write().unwrap_or_else(PoisonError::into_inner) = Some(result.protocol_version);
        }
        // On stdio, one message is one line. In JSON, a newline is white space between tokens.
        vec![body.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect()]
    }
}

/// The messages of an event stream. The broker uses one only if it sends more than the answer.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
    data.filter(|data| !data.is_empty()).map(<[u8]>::to_vec).collect()
}

/// A name as a header value, base64-encoded if it contains characters that a header cannot hold.
fn encode_header(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && name.trim_matches([' ', '\t']) == name;
    if is_plain && !(name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
        return name.to_owned();
    }
    format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(name))
}

#[cfg(test)]
mod tests {
    use super::{encode_header, events};

    #[test]
    fn names_are_encoded_for_headers() {
        assert_eq!(encode_header("create_review"), "create_review");
        assert_eq!(encode_header("review://ä"), "=?base64?cmV2aWV3Oi8vw6Q=?=");
        assert_eq!(encode_header(" x"), "=?base64?IHg=?=");
    }

    #[test]
    fn events_contain_messages() {
        assert_eq!(events(b"id: 1\ndata: {\"a\":1}\n\ndata:\n\n"), [br#"{"a":1}"#.to_vec()]);
    }
}
