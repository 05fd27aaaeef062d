//! The log of a reviewer as a stream: what the log has, then what is added, until the reviewer has ended.

use super::{Api, ApiRequest};
use crate::{
    http::problem_details::with_text,
    live_events::{HEARTBEAT_INTERVAL, encode_frame},
    service::{CallError, FollowedLog},
};
use actors::{Broker, Revocations, credentials::ShownSecret};
use api::{ErrorBody, ErrorCode, decode::Malformed, live_frames::EndReason, reviewer_pool::ReviewerLogResponse};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures::{FutureExt as _, stream::unfold};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Each reads its file several times a second.
const MAX_STREAMS: usize = 64;

/// Interval between two looks at a log that has not grown.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) struct LogStreams(Arc<Semaphore>);

impl Default for LogStreams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_STREAMS)))
    }
}

impl LogStreams {
    fn acquire(&self) -> Result<OwnedSemaphorePermit, CallError> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let body = ErrorBody::new(ErrorCode::Busy, format!("too many logs are followed; at most {MAX_STREAMS}"));
            CallError::Refused(ErrorBody { retryable: true, ..body })
        })
    }
}

impl Api {
    /// Server-sent events, or only the text if the caller accepts that.
    pub(super) async fn follow_log(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let permit = self.log_streams.acquire()?;
        let mut arguments = request.arguments.clone();
        if let Some(from) = request.parts.headers.get("last-event-id") {
            let from = from.to_str().ok().and_then(|from| from.parse::<u64>().ok());
            let from = from.ok_or_else(|| Malformed::new("Last-Event-ID", "expected an offset in bytes"))?;
            arguments.insert("from".into(), from.into());
            arguments.remove("lines");
        }
        let asked =
            arguments.get("from").map(|from| from.as_str().map_or_else(|| from.as_u64(), |from| from.parse().ok()));
        let (log, first) = self.service.follow_log(arguments, request.context()).await?;
        let broker = self.service.broker();
        let secret = request.parts.extensions.get::<ShownSecret>().cloned();
        let as_text = accepts_text(&request.parts.headers);
        let stream = LogStream {
            log,
            next: asked.flatten().unwrap_or(first.from),
            first: Some(first),
            as_text,
            closing: broker.closing(),
            revocations: secret.map(|secret| (broker.revocations(), secret)),
            broker: broker.clone(),
            heartbeat_at: Instant::now() + HEARTBEAT_INTERVAL,
            has_ended: false,
            _permit: permit,
        };
        let kind = if as_text { "text/plain; charset=utf-8" } else { "text/event-stream" };
        let mut response = with_text(StatusCode::OK, kind, Body::from_stream(unfold(stream, next_chunk)));
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if as_text {
            // Compressed lines would wait for a full block.
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
        }
        Ok(response)
    }
}

fn accepts_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    let first = types.find(|kind| matches!(kind.trim(), "text/plain" | "text/event-stream"));
    first.is_some_and(|kind| kind.trim() == "text/plain")
}

struct LogStream {
    log: FollowedLog,
    /// The offset up to which everything was sent.
    next: u64,
    /// Read and not sent yet. The first part is also sent if it is empty: it says how long the log is.
    first: Option<ReviewerLogResponse>,
    as_text: bool,
    broker: Broker,
    closing: CancellationToken,
    /// Only if the caller has shown a secret.
    revocations: Option<(Revocations, ShownSecret)>,
    heartbeat_at: Instant,
    has_ended: bool,
    _permit: OwnedSemaphorePermit,
}

async fn next_chunk(mut stream: LogStream) -> Option<(Result<Bytes, Infallible>, LogStream)> {
    if stream.has_ended {
        return None;
    }
    let bytes = stream.next_bytes().await;
    Some((Ok(bytes), stream))
}

impl LogStream {
    async fn next_bytes(&mut self) -> Bytes {
        loop {
            if self.closing.is_cancelled() {
                return self.end(EndReason::Closing);
            }
            if let Some((revocations, secret)) = &mut self.revocations
                && revocations.revoked(secret).now_or_never().is_some()
            {
                return self.end(EndReason::TokenRevoked);
            }
            let part = match self.first.take() {
                Some(part) => return self.frame(&part),
                None => match self.log.read_from(self.next).await {
                    Ok(part) => part,
                    Err(_) => return self.end(EndReason::Unreadable),
                },
            };
            if !part.text.is_empty() {
                return self.frame(&part);
            }
            if part.ended {
                return self.end(EndReason::Complete);
            }
            if let Some(bytes) = self.wait().await {
                return bytes;
            }
        }
    }

    /// Waits until it is time to look again. Returns what has to be sent before.
    async fn wait(&mut self) -> Option<Bytes> {
        let closing = self.closing.clone();
        let heartbeat_at = self.heartbeat_at;
        let revoked = async {
            match &mut self.revocations {
                Some((revocations, secret)) => revocations.revoked(secret).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = closing.cancelled() => return Some(self.end(EndReason::Closing)),
            () = revoked => return Some(self.end(EndReason::TokenRevoked)),
            () = sleep_until(heartbeat_at) => {}
            () = sleep(POLL_INTERVAL) => return None,
        }
        self.heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
        let is_revoked = match &self.revocations {
            Some((_, secret)) => matches!(self.broker.is_still_valid(secret).await, Ok(false)),
            None => false,
        };
        match (is_revoked, self.as_text) {
            (true, _) => Some(self.end(EndReason::TokenRevoked)),
            (false, false) => Some(Bytes::from_static(b":\n\n")),
            (false, true) => None,
        }
    }

    fn frame(&mut self, part: &ReviewerLogResponse) -> Bytes {
        let missing = part.from.saturating_sub(self.next);
        self.next = part.next;
        if self.as_text {
            let note = if missing > 0 { format!("--- {missing} bytes were dropped\n") } else { String::new() };
            return Bytes::from(note + &part.text);
        }
        encode_frame(Some(part.next), "log", &serde_json::to_string(part).unwrap_or_default())
    }

    fn end(&mut self, reason: EndReason) -> Bytes {
        self.has_ended = true;
        if self.as_text {
            return Bytes::new();
        }
        encode_frame(None, "end", &format!("{{\"reason\":\"{reason}\",\"next\":{}}}", self.next))
    }
}
