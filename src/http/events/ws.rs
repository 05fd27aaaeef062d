//! `GET /ws`: the same over WebSocket. It goes one way: what the subscriber wants stands in the query.

use super::{
    Events,
    filter::Wanted,
    sse::unread,
    stream::{BEAT, End, Stream, Turn},
};
use crate::http::{self, api::problem, server::Connection};
use actors::{Caller, credentials::SecretHash};
use axum::{
    Extension,
    extract::{
        Query, State,
        rejection::QueryRejection,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::Response,
};
use futures::SinkExt as _;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// A socket that takes nothing for so long belongs to nobody who reads.
const STALLED: Duration = Duration::from_secs(3 * BEAT.as_secs());

/// Of a stream that is to end: for its last words, and for the other side to say goodbye.
const GRACE: Duration = Duration::from_secs(5);

/// Nothing that is of use to us is longer.
const MAX_INCOMING: usize = 4 << 10;

pub(in crate::http) async fn subscribe(
    State(events): State<Events>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<SecretHash>>,
    line: Option<Extension<Connection>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(_) => {
            let error = "this is a WebSocket; server-sent events are at /api/v1/events";
            return http::problem::problem(StatusCode::UPGRADE_REQUIRED, "upgrade_required", error);
        }
    };
    let Query(wanted) = match wanted {
        Ok(wanted) => wanted,
        Err(error) => return problem(unread("query", error.body_text())),
    };
    let (caller, secret) = (caller.map(|caller| caller.0), secret.map(|secret| secret.0));
    match events.open(&wanted, caller.as_ref(), secret).await {
        Ok(stream) => {
            upgrade.max_message_size(MAX_INCOMING).max_frame_size(MAX_INCOMING).on_upgrade(move |socket| async move {
                run(&events, socket, stream).await;
                // Its place among the connections is taken until here.
                drop(line);
            })
        }
        Err(failure) => problem(failure),
    }
}

async fn run(events: &Events, mut socket: WebSocket, mut stream: Stream) {
    let mut heard = Instant::now();
    let ends = Ends { overflowed: stream.overflowed(), closing: events.0.closing.clone() };
    if tell(&mut socket, vec![Message::text(stream.greeting())], &ends).await != Told::Taken {
        return;
    }
    loop {
        let turn = tokio::select! {
            turn = stream.turn() => turn,
            incoming = socket.recv() => match incoming {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {
                    heard = Instant::now();
                    continue;
                }
            },
        };
        let told = match turn {
            Turn::Tell(told) => {
                let messages: Vec<_> = told.iter().map(|told| Message::Text(told.json.clone())).collect();
                tell(&mut socket, messages, &ends).await
            }
            // Two pings without a pong.
            Turn::Beat if heard.elapsed() > 3 * BEAT => Told::Stalled,
            Turn::Beat => tell(&mut socket, vec![Message::Ping("".into())], &ends).await,
            Turn::End(end) => return part(socket, end, stream.seq()).await,
        };
        match told {
            Told::Taken => {}
            Told::Gone => return,
            Told::Stalled => {
                // Who has overflowed is counted already.
                if !ends.overflowed.is_cancelled() {
                    events.0.hub.dropped.inc();
                }
                return;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Taken,
    Gone,
    /// Nobody takes it.
    Stalled,
}

/// What leaves a full socket only a little time.
struct Ends {
    overflowed: CancellationToken,
    closing: CancellationToken,
}

impl Ends {
    async fn patience(&self) {
        tokio::select! {
            () = self.overflowed.cancelled() => {}
            () = self.closing.cancelled() => {}
            () = sleep(STALLED) => return,
        }
        sleep(GRACE).await;
    }
}

async fn tell(socket: &mut WebSocket, messages: Vec<Message>, ends: &Ends) -> Told {
    let all = async {
        for message in messages {
            socket.feed(message).await?;
        }
        socket.flush().await
    };
    tokio::select! {
        told = all => if told.is_ok() { Told::Taken } else { Told::Gone },
        () = ends.patience() => Told::Stalled,
    }
}

async fn part(mut socket: WebSocket, end: End, seq: u64) {
    let code = match end {
        End::Complete => close_code::NORMAL,
        End::Slow | End::Unreadable => close_code::AGAIN,
        End::Closing => close_code::AWAY,
        End::Revoked => close_code::POLICY,
    };
    let close = CloseFrame { code, reason: format!("{}; since={seq}", end.as_str()).into() };
    let goodbye = async {
        socket.send(Message::text(end.notice(seq))).await?;
        socket.send(Message::Close(Some(close))).await?;
        // Closing before the other side has read it would take it away again.
        while let Some(Ok(_)) = socket.recv().await {}
        Ok::<_, axum::Error>(())
    };
    let _ = timeout(GRACE, goodbye).await;
}
