//! What is shown anew whenever the broker says that something has happened.

use crate::{
    Failure,
    client::rest::{At, Remote},
    terminal,
};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two attempts to reach a broker that restarts.
const PAUSE: Duration = Duration::from_millis(500);

/// What comes in one go is shown in one go.
const TOGETHER: Duration = Duration::from_millis(50);

/// Draws, and again after every event that the filter takes, also through restarts of the broker, until nobody reads.
pub(crate) async fn redraw(
    at: &At,
    filter: &[(&str, String)],
    show: impl Fn(&Value) -> String,
    mut ask: impl AsyncFnMut() -> Result<Value, Failure>,
) -> Result<(), Failure> {
    let mut shown = None;
    loop {
        match follow(at, filter, &show, &mut ask, &mut shown).await {
            Ok(()) => {}
            // It was there before, so it will be again.
            Err(failure) if shown.is_some() && failure.is_passing() => {}
            Err(failure) => return Err(failure),
        }
        sleep(PAUSE).await;
    }
}

/// One connection, until it is cut.
async fn follow(
    at: &At,
    filter: &[(&str, String)],
    show: &impl Fn(&Value) -> String,
    ask: &mut impl AsyncFnMut() -> Result<Value, Failure>,
    shown: &mut Option<Value>,
) -> Result<(), Failure> {
    let query: Vec<_> = filter.iter().cloned().chain([("follow", "true".to_owned())]).collect();
    let mut feed =
        Remote::find(at.clone()).await?.open("/api/v1/events", &query).await.map_err(|(failure, _)| failure)?;
    loop {
        let answer = ask().await?;
        if shown.as_ref() != Some(&answer) {
            draw(at.json, &answer, show)?;
            *shown = Some(answer);
        }
        let news = loop {
            match feed.chunk().await {
                Ok(Some(chunk)) if tells(&chunk) => break true,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break false,
            }
        };
        while let Ok(Ok(Some(_))) = timeout(TOGETHER, feed.chunk()).await {}
        if !news {
            return Ok(());
        }
    }
}

/// An event, and not only a sign of life.
fn tells(chunk: &[u8]) -> bool {
    chunk.windows(6).any(|part| part == b"data: ")
}

/// Over the last one on a terminal, else below it.
fn draw(json: bool, answer: &Value, show: &impl Fn(&Value) -> String) -> Result<(), Failure> {
    if json {
        return terminal::write_json(&format!("{answer}\n"));
    }
    let before = if terminal::is_terminal() { "\u{1b}[H\u{1b}[2J\u{1b}[3J" } else { "" };
    terminal::write_raw(before.as_bytes())?;
    terminal::write(&show(answer))
}
