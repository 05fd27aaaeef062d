//! What the screen shows, asked of the broker; and its events, as they come.

use crate::cli::{
    Failure,
    caller::Caller,
    remote::{At, Remote},
    render::rows,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{sync::mpsc, time::sleep};

/// Of each status; more than a screen holds.
const ROWS: usize = 50;

/// Between two attempts to reach a broker that restarts.
const PAUSE: Duration = Duration::from_millis(500);

/// In the order in which somebody should look at them.
const OPEN: [&str; 5] = ["changes_requested", "approved", "in_review", "claimed", "pending"];

/// The broker at one moment.
#[derive(Debug, Default)]
pub(super) struct BrokerState {
    pub reviews: Vec<Value>,
    /// Null for whoever may not see it.
    pub pool: Value,
    pub actors: String,
}

impl BrokerState {
    pub(super) fn told(&self) -> Value {
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
    // Both are for operators only; whoever is none sees the rest.
    let pool = optional(caller.remote.call_quietly("list_reviewers", json!({})).await)?.unwrap_or_default();
    let actors = optional(caller.remote.get("/debug/actors?format=text").await)?.unwrap_or_default();
    Ok(BrokerState { reviews, pool, actors })
}

fn optional<T>(asked: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match asked {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) if failure.is_passing() => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Tells every event, also through restarts of the broker, until nobody listens.
pub(super) async fn follow_events(at: &At, told: mpsc::Sender<Value>) {
    let mut since = None;
    loop {
        if stream(at, &told, &mut since).await.is_err() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// One connection, until it is cut; an error if nobody listens any more.
async fn stream(at: &At, told: &mpsc::Sender<Value>, since: &mut Option<u64>) -> Result<(), ()> {
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
            if event["kind"].is_string() && told.send(event).await.is_err() {
                return Err(());
            }
        }
    }
    Ok(())
}
