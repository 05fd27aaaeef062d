//! Follows the log of a reviewer as server-sent events, from the last offset on if the connection is lost.

use super::{
    Client,
    event_stream::{Connection, RECONNECT_DELAY},
};
use crate::CliError;
use anyhow::{Context as _, anyhow};
use api::{
    live_frames::EndReason,
    reviewer_pool::{ReviewerLogRequest, ReviewerLogResponse},
    route::{EncodedRequest, percent_encode},
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::time::sleep;

pub(crate) struct LogStream<'a> {
    client: &'a Client,
    path: String,
    start: Start,
    connection: Option<Connection>,
}

/// Where the next connection begins.
#[skip_serializing_none]
#[derive(Serialize)]
struct Start {
    from: Option<u64>,
    lines: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Frame {
    End { reason: EndReason },
    Part(ReviewerLogResponse),
}

impl Client {
    /// Follows the log of a reviewer from an offset, or from its last lines on.
    pub(crate) async fn follow_log(&self, request: ReviewerLogRequest) -> Result<LogStream<'_>, CliError> {
        let path = format!("/api/v1/reviewers/{}/logs/stream", percent_encode(&request.reviewer_id));
        let start = Start { from: request.from, lines: request.lines };
        let mut stream = LogStream { client: self, path, start, connection: None };
        stream.connection = Some(stream.connect().await?);
        Ok(stream)
    }
}

impl LogStream<'_> {
    async fn connect(&self) -> Result<Connection, CliError> {
        Ok(Connection::new(self.client.open(&EncodedRequest::get(&self.path, &self.start)?).await?))
    }

    /// The next part of the log; `None` when the reviewer has ended and everything was read.
    pub(crate) async fn next(&mut self) -> Result<Option<ReviewerLogResponse>, CliError> {
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
            let Some(data) = connection.next_frame().await else {
                self.connection = None;
                continue;
            };
            match serde_json::from_slice(&data).context("the broker sent a part of a log that cannot be read")? {
                Frame::Part(part) => {
                    self.start = Start { from: Some(part.next), lines: None };
                    return Ok(Some(part));
                }
                Frame::End { reason: EndReason::Complete } => return Ok(None),
                Frame::End { reason: EndReason::TokenRevoked } => return Err(anyhow!("the token was revoked").into()),
                Frame::End { reason: EndReason::Closing | EndReason::Slow | EndReason::Unreadable } => {
                    self.connection = None;
                }
            }
        }
    }
}
