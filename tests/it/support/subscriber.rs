//! Subscribers to the event stream, over SSE or WebSocket.

use super::{
    broker::{TIMEOUT, TestBroker},
    client::TestClient,
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _, http::Request, protocol::CloseFrame},
};

pub(crate) enum Subscriber {
    Sse { answer: reqwest::Response, rest: String },
    Ws { socket: Box<WebSocketStream<MaybeTlsStream<TcpStream>>>, closed: Option<CloseFrame> },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport {
    Sse,
    Ws,
}

pub(crate) const TRANSPORTS: [Transport; 2] = [Transport::Sse, Transport::Ws];

impl Subscriber {
    /// Subscribes and reads the greeting: the subscriber and its first sequence number.
    pub(crate) async fn open(
        broker: &TestBroker,
        transport: Transport,
        query: &str,
        token: Option<&str>,
    ) -> (Self, u64) {
        let mut subscriber = Self::try_open(broker, transport, query, token).await.expect("it may subscribe");
        let ready = subscriber.next().await.expect("a greeting");
        assert_eq!(ready["type"], "ready", "{ready}");
        (subscriber, ready["seq"].as_u64().unwrap())
    }

    /// The error is status and body of the refusal.
    pub(crate) async fn try_open(
        broker: &TestBroker,
        transport: Transport,
        query: &str,
        token: Option<&str>,
    ) -> Result<Self, (u16, Value)> {
        match transport {
            Transport::Sse => {
                let mut request = reqwest::Client::new().get(broker.url(&format!("/api/v1/events?{query}")));
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                let answer = request.send().await.unwrap();
                match answer.status().as_u16() {
                    200 => Ok(Self::Sse { answer, rest: String::new() }),
                    status => Err((status, answer.json().await.unwrap())),
                }
            }
            Transport::Ws => {
                let mut request = ws_request(broker, query);
                if let Some(token) = token {
                    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
                }
                Self::upgrade(request).await
            }
        }
    }

    pub(crate) async fn upgrade(request: Request<()>) -> Result<Self, (u16, Value)> {
        match timeout(TIMEOUT, connect_async(request)).await.expect("an answer") {
            Ok((socket, _)) => Ok(Self::Ws { socket: Box::new(socket), closed: None }),
            Err(Error::Http(answer)) => {
                let body = answer.body().as_deref().unwrap_or_default();
                Err((answer.status().as_u16(), serde_json::from_slice(body).unwrap_or_default()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        timeout(TIMEOUT, self.hear()).await.expect("something to hear")
    }

    /// Whether no message arrives for this long. Use it only if there is no event to wait for.
    pub(crate) async fn is_silent(&mut self, span: Duration) -> bool {
        timeout(span, self.hear()).await.is_err()
    }

    /// How a WebSocket was closed.
    pub(crate) fn closed(&self) -> Option<(u16, String)> {
        match self {
            Self::Sse { .. } => None,
            Self::Ws { closed, .. } => closed.as_ref().map(|frame| (frame.code.into(), frame.reason.to_string())),
        }
    }

    async fn hear(&mut self) -> Option<Value> {
        match self {
            Self::Sse { answer, rest } => loop {
                if let Some(end) = rest.find("\n\n") {
                    let frame: String = rest.drain(..end + 2).collect();
                    if let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) {
                        let data: Value = serde_json::from_str(data).unwrap();
                        check_frame(&frame, &data);
                        return Some(data);
                    }
                    continue;
                }
                rest.push_str(std::str::from_utf8(&answer.chunk().await.ok()??).ok()?);
            },
            Self::Ws { socket, closed } => loop {
                match socket.next().await?.ok()? {
                    Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                    Message::Close(frame) => *closed = frame,
                    Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {}
                }
            },
        }
    }
}

/// The SSE fields agree with the data.
fn check_frame(frame: &str, data: &Value) {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(field("event: "), data["type"].as_str());
    if data["type"] != "dropped" {
        assert_eq!(field("id: "), Some(data["seq"].to_string().as_str()));
    }
}

pub(crate) fn ws_request(broker: &TestBroker, query: &str) -> Request<()> {
    format!("ws://127.0.0.1:{}/ws?{query}", broker.port()).into_client_request().unwrap()
}

/// Reviews with a discussion: each message is one event.
pub(crate) struct Discussions(Vec<(TestClient, String)>);

impl Discussions {
    pub(crate) async fn about(broker: &TestBroker, reviews: usize) -> Self {
        let mut talks = Vec::new();
        for number in 0..reviews {
            let client = broker.client();
            let review = client.submit(&format!("talk {number}")).await;
            client.claim(&review, "ada").await;
            talks.push((client, review));
        }
        Self(talks)
    }

    /// Sends an even number of messages in each review, all reviews in parallel.
    pub(crate) async fn send_messages(&self, messages: usize, body: &str) {
        assert!(messages.is_multiple_of(2), "whose turn it is then stays the same");
        let talks = self.0.iter().map(async |(client, review)| {
            for number in 0..messages {
                let role = if number % 2 == 0 { "reviewer" } else { "proposer" };
                let body = format!("{number} {body}");
                client.call("add_message", json!({ "review_id": review, "sender_role": role, "body": body })).await;
            }
        });
        futures::future::join_all(talks).await;
    }
}
