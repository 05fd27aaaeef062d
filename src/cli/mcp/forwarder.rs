//! Carries one message to the broker and its answer back, through restarts of the broker.

use super::jsonrpc::Envelope;
use crate::{
    cli::{
        instance::Note,
        locate::{Starter, local_token},
    },
    http::BROKER_PID,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;
use std::{
    sync::{PoisonError, RwLock},
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Around a header value that is base64.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How long an unsent request waits for a broker that is being restarted.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

const LOST: &str = "the broker went away before it answered, so the call may or may not have been done; repeating it unchanged is safe (create_review: with the same idempotency_key, or look with list_reviews first)";

/// Whom to talk to.
#[derive(Debug)]
pub(super) enum BrokerTarget {
    Fixed(String),
    Found(Starter),
}

pub(super) struct Forwarder {
    client: Client,
    target: BrokerTarget,
    path: &'static str,
    /// Goes along with every message: what of the client the broker cannot know by itself.
    beside: HeaderMap,
    /// Whom we speak as; without it as the local user, by the secret of the broker we found.
    token: Option<HeaderValue>,
    /// The broker as it was last. The lock also keeps us from starting two.
    known: Mutex<Option<Note>>,
    /// What `initialize` agreed on: later messages of those revisions do not say it themselves.
    agreed: RwLock<Option<String>>,
}

impl Forwarder {
    pub(super) fn new(
        client: Client,
        target: BrokerTarget,
        path: &'static str,
        beside: HeaderMap,
        token: Option<HeaderValue>,
    ) -> Self {
        Self { client, target, path, beside, token, known: Mutex::default(), agreed: RwLock::default() }
    }

    /// The lines to answer with: one for a request, none for a notification.
    pub(super) async fn carry(&self, line: Vec<u8>, envelope: Envelope) -> Vec<Vec<u8>> {
        let headers = self.headers(&envelope);
        let body = Bytes::from(line);
        let until = Instant::now() + PATIENCE;
        let mut dead = None;
        loop {
            let (url, pid) = match self.locate(dead).await {
                Ok(found) => found,
                Err(error) => return one(envelope.failure(&format!("{error:#}"), "no_broker", true)),
            };
            let mut headers = headers.clone();
            headers.extend(pid.map(|pid| (BROKER_PID, HeaderValue::from(pid))));
            headers.extend(self.token().map(|token| (AUTHORIZATION, token)));
            let request = self.client.post(format!("{url}{}", self.path)).headers(headers).body(body.clone());
            match request.send().await {
                // The port is another broker's by now; it has not looked at the message.
                Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => {}
                Ok(response) => return self.answer(response, &envelope).await,
                // Never sent, so it can be sent again.
                Err(error) if error.is_connect() => {}
                Err(_) => return one(envelope.failure(LOST, "answer_lost", true)),
            }
            if Instant::now() > until {
                return one(envelope.failure(&format!("no broker answers at {url}"), "no_broker", true));
            }
            dead = pid;
            sleep(PAUSE).await;
        }
    }

    /// Where the broker is, and which process; `dead` is one that did not answer.
    async fn locate(&self, dead: Option<u32>) -> anyhow::Result<(String, Option<u32>)> {
        let starter = match &self.target {
            BrokerTarget::Fixed(url) => return Ok((url.clone(), None)),
            BrokerTarget::Found(starter) => starter,
        };
        let mut known = self.known.lock().await;
        let note = match known.take().filter(|known| dead != Some(known.pid)) {
            Some(note) => note,
            None => starter.find_or_start(&self.client).await?,
        };
        let Note { url, pid, .. } = known.insert(note);
        Ok((url.clone(), Some(*pid)))
    }

    /// Read anew for each message: another broker has another secret.
    fn token(&self) -> Option<HeaderValue> {
        match (&self.token, &self.target) {
            (Some(token), _) => Some(token.clone()),
            (None, BrokerTarget::Found(starter)) => local_token(&starter.data_dir),
            (None, BrokerTarget::Fixed(_)) => None,
        }
    }

    /// Revision 2026-07-28 wants the message's method and name beside it; older ones ignore them.
    fn headers(&self, envelope: &Envelope) -> HeaderMap {
        let mut headers = self.beside.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let is_handshake = envelope.method.as_deref() == Some("initialize");
        let agreed = self.agreed.read().unwrap_or_else(PoisonError::into_inner).clone();
        let version = envelope.version.clone().or(agreed).filter(|_| !is_handshake);
        let name = envelope.name.as_deref().map(encoded);
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
            return one(envelope.failure(LOST, "answer_lost", true));
        };
        if envelope.id.is_none() {
            return Vec::new();
        }
        if is_stream {
            return events(&body);
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(message) if message.get("jsonrpc").is_some() => {
                if envelope.method.as_deref() == Some("initialize") {
                    self.learn(&message);
                }
                // One message is one line, whatever the broker's JSON looks like.
                let line = if body.contains(&b'\n') { message.to_string().into_bytes() } else { body.to_vec() };
                vec![line]
            }
            Ok(_) | Err(_) => {
                let words = String::from_utf8_lossy(&body);
                let words = domain::text::truncate(&words, 500);
                let message = format!("the broker answered with HTTP {status}: {words}");
                one(envelope.failure(&message, "http_error", status.is_server_error()))
            }
        }
    }

    fn learn(&self, answer: &Value) {
        if let Some(version) = answer.pointer("/result/protocolVersion").and_then(Value::as_str) {
            *self.agreed.write().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
    }
}

fn one(answer: Option<Vec<u8>>) -> Vec<Vec<u8>> {
    answer.into_iter().collect()
}

/// The messages of an event stream, which the broker sends only if it has more to say than an answer.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
    data.filter(|data| !data.is_empty()).map(<[u8]>::to_vec).collect()
}

/// A name as a header can carry it: as it is, or wrapped where a header could not hold it.
fn encoded(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && name.trim_matches([' ', '\t']) == name;
    if is_plain && !(name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
        return name.to_owned();
    }
    format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(name))
}

#[cfg(test)]
mod tests {
    use super::{encoded, events};

    #[test]
    fn names_survive_the_header() {
        assert_eq!(encoded("create_review"), "create_review");
        assert_eq!(encoded("review://ä"), "=?base64?cmV2aWV3Oi8vw6Q=?=");
        assert_eq!(encoded(" x"), "=?base64?IHg=?=");
    }

    #[test]
    fn events_are_messages() {
        assert_eq!(events(b"id: 1\ndata: {\"a\":1}\n\ndata:\n\n"), [br#"{"a":1}"#.to_vec()]);
    }
}
