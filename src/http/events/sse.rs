//! `GET /api/v1/events`: server-sent events.

use super::{
    Events,
    filter::Wanted,
    present::frame,
    stream::{BEAT, Stream, Turn},
};
use crate::{
    http::{api::problem, server::Connection},
    service::CallError,
};
use actors::{Caller, credentials::SecretHash};
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

/// Of a stream that is to end: for its last words. Then the connection is cut.
const GRACE: Duration = Duration::from_secs(5);

/// A reader that takes nothing for so long, also no heartbeat, is gone or as good as that.
const STALLED: Duration = Duration::from_secs(3 * BEAT.as_secs());

pub(in crate::http) async fn subscribe(
    State(events): State<Events>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<SecretHash>>,
    line: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Response {
    let Query(mut wanted) = match wanted {
        Ok(wanted) => wanted,
        Err(error) => return problem(unread("query", error.body_text())),
    };
    if wanted.since.is_none() {
        wanted.since = match headers.get("last-event-id").map(|id| id.to_str().map(str::parse)) {
            None => None,
            Some(Ok(Ok(seq))) => Some(seq),
            Some(_) => return problem(unread("Last-Event-ID", "expected a sequence number".into())),
        };
    }
    let (caller, secret) = (caller.map(|caller| caller.0), secret.map(|secret| secret.0));
    match events.open(&wanted, caller.as_ref(), secret).await {
        Ok(stream) => answer(&events, stream, line.map(|line| line.0)),
        Err(failure) => problem(failure),
    }
}

/// What cannot be read, as the rest of the API says it.
pub(super) fn unread(field: &str, problem: String) -> CallError {
    Malformed::new(field, problem).into()
}

/// What the body is at, for whoever watches it.
struct Sent {
    stream: Option<Stream>,
    greeting: Option<Bytes>,
    asked: Arc<Mutex<Instant>>,
    _gone: DropGuard,
}

fn answer(events: &Events, stream: Stream, line: Option<Connection>) -> Response {
    let (asked, gone) = (Arc::new(Mutex::new(Instant::now())), CancellationToken::new());
    if let Some(line) = line {
        let watch = Watch { asked: Arc::clone(&asked), gone: gone.clone(), overflowed: stream.overflowed(), line };
        tokio::spawn(watch.over(events.clone()));
    }
    // Who loses the connection should not be back at once, all together.
    let greeting = [Bytes::from_static(b"retry: 1000\n"), frame(Some(stream.seq()), "ready", &stream.greeting())];
    let greeting = Some(greeting.concat().into());
    let sent = Sent { stream: Some(stream), greeting, asked, _gone: gone.drop_guard() };
    let mut response = Response::new(Body::from_stream(futures::stream::unfold(sent, next)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn next(mut sent: Sent) -> Option<(Result<Bytes, Infallible>, Sent)> {
    // Asked again only when the socket has taken what came before.
    *sent.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    if let Some(greeting) = sent.greeting.take() {
        return Some((Ok(greeting), sent));
    }
    let stream = sent.stream.as_mut()?;
    let bytes = match stream.turn().await {
        Turn::Tell(told) => {
            let mut bytes = BytesMut::with_capacity(told.iter().map(|told| told.sse.len()).sum());
            told.iter().for_each(|told| bytes.extend_from_slice(&told.sse));
            bytes.freeze()
        }
        Turn::Beat => Bytes::from_static(b":\n\n"),
        Turn::End(end) => {
            let last = frame(None, "dropped", &end.notice(stream.seq()));
            sent.stream = None;
            last
        }
    };
    Some((Ok(bytes), sent))
}

/// Nobody asks the body for more while the socket is full, so somebody else must see to its end.
struct Watch {
    asked: Arc<Mutex<Instant>>,
    gone: CancellationToken,
    overflowed: CancellationToken,
    line: Connection,
}

impl Watch {
    async fn over(self, events: Events) {
        tokio::select! {
            () = self.gone.cancelled() => return,
            () = self.overflowed.cancelled() => {}
            () = events.0.closing.cancelled() => {}
            () = self.stalled() => { events.0.hub.dropped.inc(); },
        }
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = sleep(GRACE) => self.line.abort(),
        }
    }

    async fn stalled(&self) {
        loop {
            let until = *self.asked.lock().unwrap_or_else(PoisonError::into_inner) + STALLED;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}
