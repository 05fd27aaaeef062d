//! Reads the broker's stream of events (server-sent events).

use super::rest::Remote;
use crate::CliError;
use anyhow::Context as _;
use api::events::Event;
use reqwest::Response;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// Three heartbeats. A connection that is silent for longer is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

pub(crate) struct EventStream {
    response: Response,
    buffer: Vec<u8>,
}

pub(crate) enum StreamMessage {
    /// The stream is open. Events after `seq` follow.
    Ready { seq: u64 },
    /// An event, and its JSON as the broker sent it.
    Event { event: Box<Event>, json: String },
    /// The broker closes the stream.
    Dropped { reason: String },
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
    Ready { seq: u64 },
    Dropped { reason: String },
}

impl Remote {
    /// Subscribes to events. A failure comes with whether the broker refused the request.
    pub(crate) async fn subscribe(&self, query: &[(&str, String)]) -> Result<EventStream, (CliError, bool)> {
        let response = self.open("/api/v1/events", query).await?;
        Ok(EventStream { response, buffer: Vec::new() })
    }
}

impl EventStream {
    /// The next message. `None` if the connection was lost.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamMessage>, CliError> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    return parse(data.trim_ascii_end()).map(Some);
                }
            }
            match timeout(SILENCE_TIMEOUT, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.buffer.extend_from_slice(&chunk),
                Ok(Ok(None) | Err(_)) | Err(_) => return Ok(None),
            }
        }
    }
}

fn parse(data: &[u8]) -> Result<StreamMessage, CliError> {
    let frame = serde_json::from_slice(data).context("the broker sent an event that cannot be read")?;
    Ok(match frame {
        Frame::Notice(Notice::Ready { seq }) => StreamMessage::Ready { seq },
        Frame::Notice(Notice::Dropped { reason }) => StreamMessage::Dropped { reason },
        Frame::Event(event) => StreamMessage::Event { event, json: String::from_utf8_lossy(data).into_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::{StreamMessage, parse};

    #[test]
    fn notices_and_events_are_distinguished() {
        assert!(matches!(parse(br#"{"type":"ready","seq":7}"#), Ok(StreamMessage::Ready { seq: 7 })));
        let dropped = parse(br#"{"type":"dropped","reason":"complete","seq":7}"#);
        assert!(matches!(dropped, Ok(StreamMessage::Dropped { reason }) if reason == "complete"));
        let event = br#"{"seq":8,"at":"2026-11-16T10:11:12.345Z","type":"review_updated","review_id":null,
            "number":"R-1","project":null,"actor":"ada","status":"closed","round":1,"version":3,"kind":"closed",
            "data":{"by_role":"proposer"}}"#;
        assert!(matches!(parse(event), Ok(StreamMessage::Event { event, .. }) if event.seq == 8));
    }
}
