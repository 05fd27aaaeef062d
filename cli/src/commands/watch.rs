//! Redraws a view whenever an event arrives, across restarts of the broker.

use crate::{
    CliError,
    client::event_stream::StreamMessage,
    client::rest::{BrokerArgs, Remote},
    terminal,
};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Delay between attempts to reach a broker that restarts.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Events within this time cause one redraw.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// Draws the view, and again after every event that matches the filter, until the output is closed.
pub(crate) async fn redraw<T: Serialize>(
    at: &BrokerArgs,
    filter: &[(&str, String)],
    render: impl Fn(&T) -> String,
    mut fetch: impl AsyncFnMut() -> Result<T, CliError>,
) -> Result<(), CliError> {
    let mut drawn = None;
    loop {
        match follow(at, filter, &render, &mut fetch, &mut drawn).await {
            Ok(()) => {}
            // The broker answered before, so it will be back.
            Err(failure) if drawn.is_some() && failure.is_retryable() => {}
            Err(failure) => return Err(failure),
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Draws until the connection is lost.
async fn follow<T: Serialize>(
    at: &BrokerArgs,
    filter: &[(&str, String)],
    render: &impl Fn(&T) -> String,
    fetch: &mut impl AsyncFnMut() -> Result<T, CliError>,
    drawn: &mut Option<Value>,
) -> Result<(), CliError> {
    let query: Vec<_> = filter.iter().cloned().chain([("follow", "true".to_owned())]).collect();
    let mut stream = Remote::find(at.clone()).await?.subscribe(&query).await.map_err(|(failure, _)| failure)?;
    loop {
        let response = fetch().await?;
        let json = serde_json::to_value(&response)?;
        if drawn.as_ref() != Some(&json) {
            draw(at.json, &json, || render(&response))?;
            *drawn = Some(json);
        }
        match stream.next().await? {
            Some(StreamMessage::Ready { .. } | StreamMessage::Event { .. }) => {}
            Some(StreamMessage::Dropped { .. }) | None => return Ok(()),
        }
        while let Ok(Ok(Some(message))) = timeout(BATCH_TIME, stream.next()).await {
            if matches!(message, StreamMessage::Dropped { .. }) {
                return Ok(());
            }
        }
    }
}

/// Replaces the previous view on a terminal; otherwise appends.
fn draw(json: bool, value: &Value, render: impl Fn() -> String) -> Result<(), CliError> {
    if json {
        return terminal::write_json(&format!("{value}\n"));
    }
    let clear = if terminal::is_terminal() { "\u{1b}[H\u{1b}[2J\u{1b}[3J" } else { "" };
    terminal::write_raw(clear.as_bytes())?;
    terminal::write(&render())
}
