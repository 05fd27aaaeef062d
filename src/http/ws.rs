//! Serves `GET /ws`: live events over WebSocket. Events flow one way; the subscriber states its filter in the query.

use super::{
    connections::Connection,
    problem_details::with_json,
    sse::{END_TIMEOUT, STALL_TIMEOUT},
};
use crate::{
    live_events::{EventStream, Events, EventsQuery, StreamItem, end_notice},
    one_time_code::{CODE_LIFETIME, CodeHolder},
    service::CallError,
};
use actors::{Caller, credentials::ShownSecret};
use api::{ErrorBody, ErrorCode, decode::Malformed, live_frames::EndReason};
use axum::{
    Extension,
    extract::{
        Query, State,
        rejection::QueryRejection,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures::SinkExt as _;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Most bytes of an incoming message. Subscribers have nothing longer to send.
const MAX_INCOMING_BYTES: usize = 4 << 10;

pub(super) async fn subscribe(
    State(events): State<Events>,
    query: Result<Query<EventsQuery>, QueryRejection>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<ShownSecret>>,
    connection: Option<Extension<Connection>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, CallError> {
    let upgrade = upgrade.map_err(|_| {
        let error = "this endpoint is a WebSocket; for server-sent events use /api/v1/events";
        ErrorBody::new(ErrorCode::UpgradeRequired, error)
    })?;
    let Query(query) = query.map_err(|error| Malformed::new("query", error.body_text()))?;
    let (caller, secret) = (caller.map(|caller| caller.0), secret.map(|secret| secret.0));
    let stream = events.open(&query, caller.as_ref(), secret).await?;
    let upgrade = upgrade.max_message_size(MAX_INCOMING_BYTES).max_frame_size(MAX_INCOMING_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        run(&events, socket, stream).await;
        // The connection counts as open until here.
        drop(connection);
    }))
}

async fn run(events: &Events, mut socket: WebSocket, mut stream: EventStream) {
    let mut last_heard = Instant::now();
    let deadline = SendDeadline { overflowed: stream.overflowed(), closing: events.closing().clone() };
    if send(&mut socket, vec![Message::text(stream.greeting())], &deadline).await != SendResult::Sent {
        return;
    }
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            incoming = socket.recv() => match incoming {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {
                    last_heard = Instant::now();
                    continue;
                }
            },
        };
        let result = match item {
            StreamItem::Events(events) => {
                let messages: Vec<_> = events.iter().map(|event| Message::Text(event.json.clone())).collect();
                send(&mut socket, messages, &deadline).await
            }
            // Two pings without a pong.
            StreamItem::Heartbeat if last_heard.elapsed() > STALL_TIMEOUT => SendResult::Stalled,
            StreamItem::Heartbeat => send(&mut socket, vec![Message::Ping("".into())], &deadline).await,
            StreamItem::End(reason) => return close(socket, reason, stream.seq()).await,
        };
        match result {
            SendResult::Sent => {}
            SendResult::Gone => return,
            SendResult::Stalled => {
                // A subscriber whose queue overflowed is counted already.
                if !deadline.overflowed.is_cancelled() {
                    events.dropped().inc();
                }
                return;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendResult {
    Sent,
    Gone,
    /// The subscriber does not read.
    Stalled,
}

/// How long a send may take: [`STALL_TIMEOUT`], or [`END_TIMEOUT`] once the stream has to end.
struct SendDeadline {
    overflowed: CancellationToken,
    closing: CancellationToken,
}

impl SendDeadline {
    async fn passed(&self) {
        tokio::select! {
            () = self.overflowed.cancelled() => {}
            () = self.closing.cancelled() => {}
            () = sleep(STALL_TIMEOUT) => return,
        }
        sleep(END_TIMEOUT).await;
    }
}

async fn send(socket: &mut WebSocket, messages: Vec<Message>, deadline: &SendDeadline) -> SendResult {
    let all = async {
        for message in messages {
            socket.feed(message).await?;
        }
        socket.flush().await
    };
    tokio::select! {
        sent = all => if sent.is_ok() { SendResult::Sent } else { SendResult::Gone },
        () = deadline.passed() => SendResult::Stalled,
    }
}

async fn close(mut socket: WebSocket, reason: EndReason, seq: u64) {
    let code = match reason {
        EndReason::Complete => close_code::NORMAL,
        EndReason::Slow | EndReason::Unreadable => close_code::AGAIN,
        EndReason::Closing => close_code::AWAY,
        EndReason::TokenRevoked => close_code::POLICY,
    };
    let close = CloseFrame { code, reason: format!("{reason}; since={seq}").into() };
    let handshake = async {
        socket.send(Message::text(end_notice(reason, seq))).await?;
        socket.send(Message::Close(Some(close))).await?;
        // Dropping the socket before the other side has read the message could discard it.
        while let Some(Ok(_)) = socket.recv().await {}
        Ok::<_, axum::Error>(())
    };
    let _ = timeout(END_TIMEOUT, handshake).await;
}

/// `POST /api/v1/ws-ticket`
pub(super) async fn issue_ticket(
    State(events): State<Events>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<ShownSecret>>,
) -> Result<Response, CallError> {
    let holder = CodeHolder { caller: caller.map(|caller| caller.0), secret: secret.map(|secret| secret.0) };
    let busy = || ErrorBody::new(ErrorCode::Busy, "too many unused tickets; they expire within half a minute");
    let ticket = events.tickets().issue(holder).ok_or_else(busy)?;
    let body = json!({ "ticket": ticket, "expires_in_seconds": CODE_LIFETIME.as_secs() });
    let mut response = with_json(StatusCode::OK, &body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
