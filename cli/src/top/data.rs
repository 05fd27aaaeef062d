//! Fetches the state of the broker and follows its events.

use crate::{
    CliError,
    client::event_stream::StreamMessage,
    client::rest::{BrokerArgs, Remote},
    identity::Caller,
};
use api::{
    events::Event,
    operation::{ListReviewers, ListReviews},
    reviewers::{ListReviewersRequest, ListReviewersResponse},
    reviews::{ListReviewsRequest, ReviewRow},
};
use domain::review::Status;
use serde::Serialize;
use std::time::Duration;
use tokio::{sync::mpsc, time::sleep};

/// Reviews per status, more than fit on a screen.
const ROWS: u32 = 50;

/// Delay between attempts to reach a broker that restarts.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Statuses in the order of their urgency.
const OPEN: [Status; 5] =
    [Status::ChangesRequested, Status::Approved, Status::InReview, Status::Claimed, Status::Pending];

/// A snapshot of the broker.
#[derive(Debug, Default, Serialize)]
pub(super) struct BrokerState {
    pub reviews: Vec<ReviewRow>,
    /// Absent for a caller who is not an operator.
    pub pool: Option<ListReviewersResponse>,
    /// The actor tree, line by line. Empty for a caller who is not an operator.
    pub actors: Vec<String>,
}

pub(super) async fn fetch(caller: &Caller) -> Result<BrokerState, CliError> {
    let mut reviews = Vec::new();
    for status in OPEN {
        let request = ListReviewsRequest { status: Some(status), limit: Some(ROWS), ..Default::default() };
        let page = caller.remote.execute_quietly::<ListReviews>(&request).await?;
        reviews.extend(page.reviews.into_iter().filter(|review| review.head.status == status));
    }
    let pool = optional(caller.remote.execute_quietly::<ListReviewers>(&ListReviewersRequest {}).await)?;
    let actors = optional(caller.remote.get("/debug/actors?format=text").await)?.unwrap_or_default();
    Ok(BrokerState { reviews, pool, actors: actors.lines().map(str::to_owned).collect() })
}

/// The result of a call that only operators may make.
fn optional<T>(result: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match result {
        Ok(response) => Ok(Some(response)),
        Err(failure) if failure.is_retryable() => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Sends every event, across restarts of the broker, until the receiver is dropped.
pub(super) async fn follow_events(at: &BrokerArgs, events: mpsc::Sender<Event>) {
    let mut since = None;
    loop {
        if follow_connection(at, &events, &mut since).await.is_err() {
            return;
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Reads one connection until it ends. An error means that the receiver was dropped.
async fn follow_connection(at: &BrokerArgs, events: &mpsc::Sender<Event>, since: &mut Option<u64>) -> Result<(), ()> {
    let query: Vec<_> = since.iter().map(|since| ("since", since.to_string())).collect();
    let Ok(remote) = Remote::find(at.clone()).await else { return Ok(()) };
    let Ok(mut stream) = remote.subscribe(&query).await else { return Ok(()) };
    while let Ok(Some(message)) = stream.next().await {
        match message {
            StreamMessage::Ready { seq } => *since = Some(seq),
            StreamMessage::Event { event, .. } => {
                *since = Some(event.seq);
                events.send(*event).await.map_err(|_| ())?;
            }
            StreamMessage::Dropped { .. } => return Ok(()),
        }
    }
    Ok(())
}
