//! Fetches the state of the broker and follows its events.

use crate::{
    Failure,
    client::rest::{At, Remote},
    identity::Caller,
    render::rows,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{sync::mpsc, time::sleep};

/// Reviews per status, more than fit on a screen.
const ROWS: usize = 50;

/// Delay between attempts to reach a broker that restarts.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Statuses in the order of their urgency.
const OPEN: [&str; 5] = ["changes_requested", "approved", "in_review", "claimed", "pending"];

/// A snapshot of the broker.
#[derive(Debug, Default)]
pub(super) struct BrokerState {
    pub reviews: Vec<Value>,
    /// Null for a caller who is not an operator.
    pub pool: Value,
    pub actors: String,
}

impl BrokerState {
    pub(super) fn to_json(&self) -> Value {
        let actors: Vec<_> = self.actors.lines().collect();
        json!({ "reviews": self.reviews, "pool": self.pool, "actors": actors })
    }
}

pub(super) async fn fetch(caller: &Caller) -> Result<BrokerState, Failure> {
    let mut reviews = Vec::new();
    for status in OPEN {
        let page = caller.remote.call_quietly("list_reviews", json!({ "status": status, "limit": ROWS })).await?;
        reviews.extend(rows(&page, "reviews").iter().filter(|review| review["status"] == status).cloned());
    }
    // Only operators may see these.
    let pool = optional(caller.remote.call_quietly("list_reviewers", json!({})).await)?.unwrap_or_default();
    let actors = optional(caller.remote.get("/debug/actors?format=text").await)?.unwrap_or_default();
    Ok(BrokerState { reviews, pool, actors })
}

fn optional<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) if failure.is_passing() => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Sends every event, across restarts of the broker, until the receiver is dropped.
pub(super) async fn follow_events(at: &At, events: mpsc::Sender<Value>) {
    let mut since = None;
    loop {
        if stream(at, &events, &mut since).await.is_err() {
            return;
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Reads one connection until it ends. An error means that the receiver was dropped.
async fn stream(at: &At, events: &mpsc::Sender<Value>, since: &mut Option<u64>) -> Result<(), ()> {
    let query: Vec<_> = since.iter().map(|since| ("since", since.to_string())).collect();
    let Ok(remote) = Remote::find(at.clone()).await else { return Ok(()) };
    let Ok(mut feed) = remote.open("/api/v1/events", &query).await else { return Ok(()) };
    let mut rest = Vec::new();
    while let Ok(Some(chunk)) = feed.chunk().await {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let Some(event) = line.strip_prefix(b"data: ").and_then(|data| serde_json::from_slice::<Value>(data).ok())
            else {
                continue;
            };
            *since = event["seq"].as_u64().or(*since);
            if event["kind"].is_string() && events.send(event).await.is_err() {
                return Err(());
            }
        }
    }
    Ok(())
}
