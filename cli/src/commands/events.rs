//! `countersign events`: prints the events of the running broker, one line each, once or continuously.

use crate::{
    CliError,
    client::{
        BrokerArgs,
        event_stream::{EventQuery, ReceivedEvent},
    },
    review_args, terminal,
};
use api::events::Event;
use domain::text::{escape, truncate};

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
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let query = EventQuery {
        since: args.since.or((!args.follow).then_some(0)),
        review: args.review.as_deref().map(review_args::id),
        project: args.project,
        kind: args.kind,
        follow: args.follow,
    };
    let mut events = client.events(query).await?;
    while let Some(ReceivedEvent { event, json }) = events.next().await? {
        if client.json {
            terminal::write_json(&format!("{json}\n"))?;
        } else {
            terminal::write(&format!("{}\n", line(&event)))?;
        }
    }
    Ok(())
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
