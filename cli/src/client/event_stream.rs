//! Follows the broker's stream of events (server-sent events), across restarts of the broker.

use super::Client;
use crate::CliError;
use anyhow::{Context as _, anyhow};
use api::{events::Event, route::EncodedRequest};
use reqwest::Response;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Three heartbeats. A connection that is silent for longer is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

/// Delay between attempts to reach a broker that restarts.
pub(crate) const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Which events to read.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(crate) struct EventQuery {
    /// After this sequence number. Default: the next event.
    pub since: Option<u64>,
    pub review: Option<String>,
    pub project: Option<String>,
    pub kind: Option<String>,
    /// Whether to wait for further events after the last one.
    pub follow: bool,
}

pub(crate) struct EventStream<'a> {
    client: &'a Client,
    query: EventQuery,
    connection: Option<Connection>,
}

pub(super) struct Connection {
    response: Response,
    buffer: Vec<u8>,
}

/// An event, and its JSON as the broker sent it.
pub(crate) struct ReceivedEvent {
    pub event: Event,
    pub json: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Frame {
    Notice(Notice),
    Event(Box<Event>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Notice {
    /// The stream is open. Events after `seq` follow.
    Ready { seq: u64 },
    /// The broker closes the stream.
    Dropped { reason: String },
}

impl Client {
    /// Subscribes to events. No event after the return of this function is missed.
    pub(crate) async fn events(&self, query: EventQuery) -> Result<EventStream<'_>, CliError> {
        let mut stream = EventStream { client: self, query, connection: None };
        stream.connection = Some(stream.connect().await?);
        Ok(stream)
    }
}

impl EventStream<'_> {
    async fn connect(&self) -> Result<Connection, CliError> {
        let response = self.client.open(&EncodedRequest::get("/api/v1/events", &self.query)?).await?;
        Ok(Connection::new(response))
    }

    /// The next event; `None` after the last one if the stream does not follow. A lost connection is opened again. This
    /// function can be cancelled.
    pub(crate) async fn next(&mut self) -> Result<Option<ReceivedEvent>, CliError> {
        loop {
            let Some(connection) = &mut self.connection else {
                sleep(RECONNECT_DELAY).await;
                match self.connect().await {
                    Ok(connection) => self.connection = Some(connection),
                    Err(failure) if failure.is_retryable() => {}
                    Err(failure) => return Err(failure),
                }
                continue;
            };
            match connection.next_frame().await {
                Some(data) => match parse(&data)? {
                    Frame::Notice(Notice::Ready { seq }) => self.query.since = Some(seq),
                    Frame::Event(event) => {
                        self.query.since = Some(event.seq);
                        let json = String::from_utf8_lossy(&data).into_owned();
                        return Ok(Some(ReceivedEvent { event: *event, json }));
                    }
                    Frame::Notice(Notice::Dropped { reason }) => match reason.as_str() {
                        "complete" => return Ok(None),
                        "token_revoked" => return Err(anyhow!("the token was revoked").into()),
                        _ => self.connection = None,
                    },
                },
                None => self.connection = None,
            }
            if self.connection.is_none() && !self.query.follow {
                return Err(anyhow!("the broker ended before all events were read").into());
            }
        }
    }
}

impl Connection {
    pub(super) const fn new(response: Response) -> Self {
        Self { response, buffer: Vec::new() }
    }

    /// The data of the next frame. `None` if the connection was lost.
    pub(super) async fn next_frame(&mut self) -> Option<Vec<u8>> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    return Some(data.trim_ascii_end().to_vec());
                }
            }
            let chunk = timeout(SILENCE_TIMEOUT, self.response.chunk()).await.ok()?.ok()??;
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

fn parse(data: &[u8]) -> anyhow::Result<Frame> {
    serde_json::from_slice(data).context("the broker sent an event that cannot be read")
}

#[cfg(test)]
mod tests {
    use super::{Frame, Notice, parse};

    #[test]
    fn notices_and_events_are_distinguished() {
        assert!(matches!(parse(br#"{"type":"ready","seq":7}"#), Ok(Frame::Notice(Notice::Ready { seq: 7 }))));
        let dropped = parse(br#"{"type":"dropped","reason":"complete","seq":7}"#);
        assert!(matches!(dropped, Ok(Frame::Notice(Notice::Dropped { reason })) if reason == "complete"));
        let event = br#"{"seq":8,"at":"2026-11-16T10:11:12.345Z","type":"review_updated","review_id":null,
            "number":"R-1","project":null,"actor":"ada","status":"closed","round":1,"version":3,"kind":"closed",
            "data":{"by_role":"proposer"}}"#;
        assert!(matches!(parse(event), Ok(Frame::Event(event)) if event.seq == 8));
    }
}
