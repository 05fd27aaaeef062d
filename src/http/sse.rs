//! Serves `GET /api/v1/events`: live events as server-sent events.

use super::connections::Connection;
use crate::{
    live_events::{EventStream, Events, EventsQuery, HEARTBEAT_INTERVAL, StreamItem, encode_frame, end_notice},
    service::CallError,
};
use actors::{Caller, credentials::ShownSecret};
use api::decode::Malformed;
use axum::{
    Extension,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use bytes::{Bytes, BytesMut};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a stream that ends may take to send its last frame or message. Then the connection is closed.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A reader that takes nothing for this long, not even a heartbeat, counts as gone.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(3 * HEARTBEAT_INTERVAL.as_secs());

pub(super) async fn subscribe(
    State(events): State<Events>,
    query: Result<Query<EventsQuery>, QueryRejection>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<ShownSecret>>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<Response, CallError> {
    let Query(mut query) = query.map_err(|error| Malformed::new("query", error.body_text()))?;
    if query.since.is_none() {
        query.since = match headers.get("last-event-id").map(|id| id.to_str().map(str::parse)) {
            None => None,
            Some(Ok(Ok(seq))) => Some(seq),
            Some(_) => return Err(Malformed::new("Last-Event-ID", "expected a sequence number").into()),
        };
    }
    let (caller, secret) = (caller.map(|caller| caller.0), secret.map(|secret| secret.0));
    let stream = events.open(&query, caller.as_ref(), secret).await?;
    Ok(respond(&events, stream, connection.map(|connection| connection.0)))
}

/// State of the response body.
struct BodyState {
    stream: Option<EventStream>,
    greeting: Option<Bytes>,
    /// When the connection last asked for data.
    polled_at: Arc<Mutex<Instant>>,
    _gone: DropGuard,
}

fn respond(events: &Events, stream: EventStream, connection: Option<Connection>) -> Response {
    let (polled_at, gone) = (Arc::new(Mutex::new(Instant::now())), CancellationToken::new());
    if let Some(connection) = connection {
        let watchdog = Watchdog {
            polled_at: Arc::clone(&polled_at),
            gone: gone.clone(),
            overflowed: stream.overflowed(),
            connection,
        };
        tokio::spawn(watchdog.run(events.clone()));
    }
    // `retry`: clients that lose the connection should not all reconnect at once.
    let greeting =
        [Bytes::from_static(b"retry: 1000\n"), encode_frame(Some(stream.seq()), "ready", &stream.greeting())];
    let greeting = Some(greeting.concat().into());
    let state = BodyState { stream: Some(stream), greeting, polled_at, _gone: gone.drop_guard() };
    let mut response = Response::new(Body::from_stream(futures::stream::unfold(state, next_chunk)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn next_chunk(mut state: BodyState) -> Option<(Result<Bytes, Infallible>, BodyState)> {
    // The body is polled again only after the socket has accepted the previous chunk.
    *state.polled_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    if let Some(greeting) = state.greeting.take() {
        return Some((Ok(greeting), state));
    }
    let stream = state.stream.as_mut()?;
    let bytes = match stream.next().await {
        StreamItem::Events(events) if events.len() == 1 => events[0].sse.clone(),
        StreamItem::Events(events) => {
            let mut bytes = BytesMut::with_capacity(events.iter().map(|event| event.sse.len()).sum());
            events.iter().for_each(|event| bytes.extend_from_slice(&event.sse));
            bytes.freeze()
        }
        StreamItem::Heartbeat => Bytes::from_static(b":\n\n"),
        StreamItem::End(end) => {
            let last = encode_frame(None, "dropped", &end_notice(end, stream.seq()));
            state.stream = None;
            last
        }
    };
    Some((Ok(bytes), state))
}

/// Closes a connection whose socket stays full. The body cannot do it, because a full socket does not poll it.
struct Watchdog {
    polled_at: Arc<Mutex<Instant>>,
    gone: CancellationToken,
    overflowed: CancellationToken,
    connection: Connection,
}

impl Watchdog {
    async fn run(self, events: Events) {
        tokio::select! {
            () = self.gone.cancelled() => return,
            () = self.overflowed.cancelled() => {}
            () = events.closing().cancelled() => {}
            () = self.stalled() => { events.dropped().inc(); },
        }
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = sleep(END_TIMEOUT) => self.connection.abort(),
        }
    }

    async fn stalled(&self) {
        loop {
            let until = *self.polled_at.lock().unwrap_or_else(PoisonError::into_inner) + STALL_TIMEOUT;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}
