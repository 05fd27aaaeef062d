//! `countersign activity`: what happened lately, one line each.

use crate::{
    Failure,
    client::rest::{At, Remote},
    render::{age, one_line, print, rows, table, text},
};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// At most so many
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
    let what = json!({ "project": args.project, "cursor": args.cursor });
    let feed = Remote::find(args.at).await?.pages("get_activity_feed", what, "entries", args.limit).await?;
    print(json, &feed, shown)
}

fn shown(feed: &Value) -> String {
    let line = |entry: &Value| {
        let words = [text(entry, "text"), entry["preview"].as_str().map(one_line).unwrap_or_default()];
        let words = words.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        [entry["seq"].to_string(), age(entry, "at"), text(entry, "number"), words]
    };
    let lines: Vec<_> = rows(feed, "entries").iter().map(line).collect();
    let mut out = table(["SEQ", "AGE", "REVIEW", "WHAT"], &lines);
    if feed["next_cursor"].is_string() {
        out.push_str(&format!("there are more: --cursor {}\n", text(feed, "next_cursor")));
    }
    out
}
