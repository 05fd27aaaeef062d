//! `countersign events`: prints the events of the running broker, one line each, once or continuously.

use crate::{
    CliError,
    client::event_stream::{EventStream, StreamMessage},
    client::rest::{BrokerArgs, Remote},
    review_arg as which, terminal,
};
use anyhow::anyhow;
use api::events::Event;
use domain::text::{escape, truncate};
use std::time::Duration;
use tokio::time::sleep;

/// Delay between attempts to reach a broker that restarts.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

const PREVIEW_CHARS: usize = 100;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait for further events, across restarts of the broker
    #[arg(long)]
    follow: bool,
    /// Start after this sequence number [default: the first event, or with --follow the next one]
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Show only events of this review: R-12, its id, or a prefix of the id
    #[arg(long)]
    review: Option<String>,
    /// Show only events of this project
    #[arg(long)]
    project: Option<String>,
    /// Show only events of these kinds or types, separated by commas
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    at: BrokerArgs,
}

/// How a connection ended.
enum StreamEnd {
    /// All requested events were received.
    Complete,
    /// The connection was lost.
    Lost,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let mut since = args.since.or((!args.follow).then_some(0));
    let mut was_connected = false;
    loop {
        let end = match connect(&args, since).await {
            Ok(stream) => {
                was_connected = true;
                read(stream, &args, &mut since).await?
            }
            // A broker that answered before will be back.
            Err((failure, is_refusal)) if !args.follow || !was_connected || is_refusal => return Err(failure),
            Err(_) => StreamEnd::Lost,
        };
        match end {
            StreamEnd::Complete => return Ok(()),
            StreamEnd::Lost if !args.follow => {
                return Err(anyhow!("the broker ended before all events were read").into());
            }
            StreamEnd::Lost => sleep(RECONNECT_DELAY).await,
        }
    }
}

/// A failure comes with whether the broker refused the request.
async fn connect(args: &Args, since: Option<u64>) -> Result<EventStream, (CliError, bool)> {
    let remote = Remote::find(args.at.clone()).await.map_err(|failure| (failure, false))?;
    let mut query = vec![("follow", args.follow.to_string())];
    let review = args.review.as_deref().map(which::id);
    let filters = [("review", review), ("project", args.project.clone()), ("kind", args.kind.clone())];
    query.extend(filters.into_iter().filter_map(|(name, value)| Some((name, value?))));
    query.extend(since.map(|since| ("since", since.to_string())));
    remote.subscribe(&query).await
}

async fn read(mut stream: EventStream, args: &Args, since: &mut Option<u64>) -> Result<StreamEnd, CliError> {
    while let Some(message) = stream.next().await? {
        match message {
            StreamMessage::Ready { seq } => *since = Some(seq),
            StreamMessage::Event { event, json } => {
                if args.at.json {
                    terminal::write_json(&format!("{json}\n"))?;
                } else {
                    terminal::write(&format!("{}\n", line(&event)))?;
                }
                *since = Some(event.seq);
            }
            StreamMessage::Dropped { reason } => match reason.as_str() {
                "complete" => return Ok(StreamEnd::Complete),
                "token_revoked" => return Err(anyhow!("the token was revoked").into()),
                _ => return Ok(StreamEnd::Lost),
            },
        }
    }
    Ok(StreamEnd::Lost)
}

/// One line about an event. Agents wrote parts of it, so control characters are escaped.
fn line(event: &Event) -> String {
    let line = format!(
        "{:>7}  {:.3}  {:<7} {:<22} {:<17} {}  {}",
        event.seq,
        event.at,
        event.number.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        event.kind().as_str(),
        event.status.map_or("-", |status| status.as_str()),
        event.actor.as_deref().unwrap_or("-"),
        truncate(&description(event), PREVIEW_CHARS),
    );
    escape(line.trim_end()).to_string()
}

/// The text that the event is about. Events of the pool are described by a sentence.
pub(crate) fn description(event: &Event) -> String {
    let summary = || event.number.is_none().then(|| event.summary());
    event.preview().or_else(summary).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::line;
    use serde_json::json;

    #[test]
    fn an_event_is_one_line_without_control_characters() {
        let event = json!({
            "seq": 7, "at": "2026-11-16T10:00:00.000Z", "type": "message_added", "review_id": null, "number": "R-1",
            "project": null, "actor": "second-mind", "status": "claimed", "round": 1, "version": 3,
            "kind": "message_added",
            "data": { "persona": "general", "role": "reviewer", "body": "two\nlines\u{1b}[31m", "requeued": false },
        });
        let line = line(&serde_json::from_value(event).unwrap());
        assert!(!line.contains('\n') && !line.contains('\u{1b}'), "{line:?}");
        assert!(line.starts_with("      7  2026-11-16T10:00:00.000Z  R-1     message_added "), "{line:?}");
    }
}
