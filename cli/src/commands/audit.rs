//! `countersign audit`: the log of everything that happened.

use crate::{
    Failure,
    client::rest::{At, Remote},
    render::{local_short, print, rows, table, text},
    review_arg as which,
};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this review: R-12, its id, or the beginning of it
    #[arg(long, value_name = "REVIEW")]
    review: Option<String>,
    /// Only what this one did
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only events of this kind, such as verdict_given
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// From then on: a time, a date (in UTC), or how long ago (30m, 24h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The oldest first
    #[arg(long)]
    oldest: bool,
    /// At most so many events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on after an earlier answer: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    at: At,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let json = args.at.json;
    let arguments = json!({
        "review_id": args.review.as_deref().map(which::id), "actor": args.actor, "kind": args.kind, "project": args.project,
        "since": args.since, "until": args.until, "order": if args.oldest { "oldest" } else { "newest" },
        "cursor": args.cursor,
    });
    let answer = Remote::find(args.at).await?.pages("get_audit_log", arguments, "events", args.limit).await?;
    print(json, &answer, shown)
}

fn shown(answer: &Value) -> String {
    let line = |event: &Value| {
        let actor = event["actor"].as_str().map_or_else(|| "(broker)".to_owned(), |_| text(event, "actor"));
        [
            event["seq"].to_string(),
            local_short(event, "at"),
            text(event, "number"),
            text(event, "kind"),
            actor,
            text(event, "status"),
            text(event, "detail"),
        ]
    };
    let lines: Vec<_> = rows(answer, "events").iter().map(line).collect();
    let mut out = table(["SEQ", "AT", "REVIEW", "KIND", "ACTOR", "STATUS", "WHAT"], &lines);
    if answer["next_cursor"].is_string() {
        out.push_str(&format!("there are more: --cursor {}\n", text(answer, "next_cursor")));
    }
    out
}
