//! The option `--watch` that several commands share: prints their output again whenever an event arrives, across
//! restarts of the broker.

use crate::{
    CliError,
    client::{
        Client,
        event_stream::{EventQuery, RECONNECT_DELAY},
    },
    render::print,
    review_args::ReviewArgs,
    terminal,
};
use serde::Serialize;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Events within this time cause one redraw.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// Arguments of the commands that can watch one review.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Redraw at every event of the review until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) review: ReviewArgs,
}

/// Prints what `fetch` returns; with `watch` again after every event of the review (or of all), until the output is closed.
pub(crate) async fn print_or_watch<T: Serialize>(
    client: &Client,
    watch: bool,
    review: Option<String>,
    render: impl Fn(&T) -> String,
    fetch: impl AsyncFn() -> Result<T, CliError>,
) -> Result<(), CliError> {
    if !watch {
        return print(client.json, &fetch().await?, render);
    }
    let mut events = client.events(EventQuery { review, follow: true, ..EventQuery::default() }).await?;
    let mut last = None;
    loop {
        match fetch().await {
            Ok(response) => {
                let json = serde_json::to_value(&response)?.to_string();
                if last.as_ref() != Some(&json) {
                    draw(client.json, &json, || render(&response))?;
                    last = Some(json);
                }
            }
            // The broker answered before, so it will be back.
            Err(failure) if last.is_some() && failure.is_retryable() => {
                sleep(RECONNECT_DELAY).await;
                continue;
            }
            Err(failure) => return Err(failure),
        }
        events.next().await?;
        while let Ok(event) = timeout(BATCH_TIME, events.next()).await {
            event?;
        }
    }
}

/// Replaces the previous view on a terminal; otherwise appends.
fn draw(is_json: bool, json: &str, render: impl Fn() -> String) -> Result<(), CliError> {
    if is_json {
        return terminal::write_json(&format!("{json}\n"));
    }
    let clear = if terminal::is_terminal() { "\u{1b}[H\u{1b}[2J\u{1b}[3J" } else { "" };
    terminal::write_raw(clear.as_bytes())?;
    terminal::write(&render())
}
