//! `countersign events`: the log of the running broker, one line for each event, to its end or on and on.

use crate::{
    Failure,
    client::rest::{At, Remote},
    review_arg as which, terminal,
};
use anyhow::{Context as _, anyhow};
use domain::text::escape;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two attempts to reach a broker that restarts.
const PAUSE: Duration = Duration::from_millis(500);

/// Three heartbeats: who is silent for so long is no longer there.
const SILENCE: Duration = Duration::from_secs(45);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait for what comes; also through a restart of the broker
    #[arg(long)]
    follow: bool,
    /// Begin after this sequence number [default: the first event, or with --follow the next one]
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Only of this review: its id, R-12 or a unique prefix
    #[arg(long)]
    review: Option<String>,
    /// Only of this project
    #[arg(long)]
    project: Option<String>,
    /// Only of these kinds or types, separated by commas
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    at: At,
}

/// How a connection to the broker came to its end.
enum Ended {
    /// All that was asked for is there.
    Complete,
    /// To be taken up again.
    Cut,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let mut since = args.since.or((!args.follow).then_some(0));
    let mut was_there = false;
    loop {
        let ended = match connect(&args, since).await {
            Ok(answer) => {
                was_there = true;
                read(answer, &args, &mut since).await?
            }
            // It was there before, so it will be again.
            Err((failure, is_refusal)) if !args.follow || !was_there || is_refusal => return Err(failure),
            Err(_) => Ended::Cut,
        };
        match ended {
            Ended::Complete => return Ok(()),
            Ended::Cut if !args.follow => return Err(anyhow!("the broker ended before all was read").into()),
            Ended::Cut => sleep(PAUSE).await,
        }
    }
}

/// With whether the broker itself says no.
async fn connect(args: &Args, since: Option<u64>) -> Result<reqwest::Response, (Failure, bool)> {
    let remote = Remote::find(args.at.clone()).await.map_err(|failure| (failure, false))?;
    let mut query = vec![("follow", args.follow.to_string())];
    let review = args.review.as_deref().map(which::id);
    let texts = [("review", review), ("project", args.project.clone()), ("kind", args.kind.clone())];
    query.extend(texts.into_iter().filter_map(|(name, value)| Some((name, value?))));
    query.extend(since.map(|since| ("since", since.to_string())));
    remote.open("/api/v1/events", &query).await
}

async fn read(mut answer: reqwest::Response, args: &Args, since: &mut Option<u64>) -> Result<Ended, Failure> {
    let mut rest = Vec::new();
    loop {
        let Ok(Ok(Some(chunk))) = timeout(SILENCE, answer.chunk()).await else { return Ok(Ended::Cut) };
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let part: Vec<u8> = rest.drain(..=end).collect();
            let Some(data) = part.strip_prefix(b"data: ") else { continue };
            let event: Value = serde_json::from_slice(data).context("the broker's events cannot be read")?;
            match event["type"].as_str() {
                Some("dropped") if event["reason"] == "complete" => return Ok(Ended::Complete),
                Some("dropped") if event["reason"] == "token_revoked" => {
                    return Err(anyhow!("the token was revoked").into());
                }
                Some("dropped") => return Ok(Ended::Cut),
                Some("ready") => {}
                _ if args.at.json => terminal::write_json(&format!("{event}\n"))?,
                _ => terminal::write(&format!("{}\n", line(&event)))?,
            }
            *since = event["seq"].as_u64().or(*since);
        }
    }
}

/// Agents have written much of it, so nothing in it may move the cursor.
fn line(event: &Value) -> String {
    let text = |field: &str| event[field].as_str().unwrap_or("-").to_owned();
    let said = ["intent", "summary", "reason", "body", "note", "words", "why", "exit"];
    let said = said.iter().find_map(|field| event["data"][*field].as_str()).unwrap_or_default();
    let said = domain::text::truncate(said, 100);
    let line = format!(
        "{:>7}  {}  {:<7} {:<22} {:<17} {}  {said}",
        event["seq"].as_u64().unwrap_or_default(),
        text("at"),
        text("number"),
        text("kind"),
        text("status"),
        text("actor"),
    );
    escape(line.trim_end()).to_string()
}

#[cfg(test)]
mod tests {
    use super::line;
    use serde_json::json;

    #[test]
    fn an_event_is_one_harmless_line() {
        let event = json!({
            "seq": 7, "at": "2026-11-16T10:00:00.000Z", "number": "R-1", "kind": "message_added", "status": "claimed",
            "actor": "second-mind", "data": { "body": "two\nlines\u{1b}[31m" },
        });
        let line = line(&event);
        assert!(!line.contains('\n') && !line.contains('\u{1b}'), "{line:?}");
        assert!(line.starts_with("      7  2026-11-16T10:00:00.000Z  R-1     message_added "), "{line:?}");
    }
}
