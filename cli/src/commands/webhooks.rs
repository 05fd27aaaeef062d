//! `countersign webhooks`: who is told of events, and what could not be told.

use crate::{
    Failure,
    client::rest::{At, Remote, encoded},
    render::{local, number, print, rows, strings, table, text},
};
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every webhook, how far it has been told, and what is wrong
    List(At),
    /// The events that a webhook could not be told
    Dead(DeadArgs),
    /// Have dead ones tried again
    Redeliver(Chosen),
    /// Forget dead ones; the events stay in the log
    Drop(Chosen),
}

#[derive(Debug, clap::Args)]
struct DeadArgs {
    /// The webhook's name
    name: String,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Go on after an earlier answer: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
struct Chosen {
    /// The webhook's name
    name: String,
    /// Places in the log, as `dead` shows them
    #[arg(value_name = "SEQ", required_unless_present = "all", conflicts_with = "all")]
    seqs: Vec<u64>,
    /// All there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    at: At,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::List(at) => ask(at, "/api/v1/webhooks", shown).await,
        Command::Dead(DeadArgs { name, limit, cursor, at }) => {
            let cursor = cursor.map(|cursor| format!("&cursor={}", encoded(&cursor))).unwrap_or_default();
            ask(at, &format!("/api/v1/webhooks/{}/dead?limit={limit}{cursor}", encoded(&name)), shown_dead).await
        }
        Command::Redeliver(chosen) => change(chosen, "redeliver", "will be tried again").await,
        Command::Drop(chosen) => change(chosen, "drop", "dropped").await,
    }
}

async fn ask(at: At, path: &str, show: impl Fn(&Value) -> String) -> Result<(), Failure> {
    let json = at.json;
    print(json, &Remote::find(at).await?.read(path).await?, show)
}

async fn change(chosen: Chosen, act: &str, what: &str) -> Result<(), Failure> {
    let json = chosen.at.json;
    let which = if chosen.all { json!({ "all": true }) } else { json!({ "seqs": chosen.seqs }) };
    let path = format!("/api/v1/webhooks/{}/{act}", encoded(&chosen.name));
    let done = Remote::find(chosen.at).await?.post(&path, &which).await?;
    print(json, &done, |done| format!("{} {what}\n", number(done, "count")))
}

fn shown(answer: &Value) -> String {
    let hooks = rows(answer, "webhooks");
    if hooks.is_empty() {
        return "no webhooks; see [webhooks] in the settings\n".to_owned();
    }
    let line = |hook: &Value| {
        let events = strings(hook, "events").join(" ");
        let state = match (&hook["configured"], hook["failing"].as_object()) {
            (Value::Bool(false), _) => "not configured".to_owned(),
            (_, Some(_)) => format!("failing: {}", text(hook, "last_error")),
            (_, None) => "ok".to_owned(),
        };
        [
            text(hook, "name"),
            text(hook, "url"),
            if events.is_empty() { "all".to_owned() } else { events },
            number(hook, "cursor").to_string(),
            number(hook, "lag").to_string(),
            number(hook, "dead").to_string(),
            local(hook, "last_delivery"),
            state,
        ]
    };
    let lines: Vec<_> = hooks.iter().map(line).collect();
    table(["NAME", "URL", "EVENTS", "CURSOR", "LAG", "DEAD", "LAST DELIVERY", "STATE"], &lines)
}

fn shown_dead(answer: &Value) -> String {
    let line = |dead: &Value| {
        let waiting = if dead["waiting"] == true { "waits to be tried again" } else { "" };
        [
            number(dead, "seq").to_string(),
            local(dead, "at"),
            text(dead, "kind"),
            text(dead, "number"),
            number(dead, "attempts").to_string(),
            text(dead, "last_error"),
            waiting.to_owned(),
        ]
    };
    let lines: Vec<_> = rows(answer, "dead").iter().map(line).collect();
    if lines.is_empty() {
        return "nothing is dead\n".to_owned();
    }
    let mut out = table(["SEQ", "AT", "KIND", "REVIEW", "ATTEMPTS", "LAST ERROR", ""], &lines);
    if answer["next_cursor"].is_string() {
        out.push_str(&format!("there are more: --cursor {}\n", text(answer, "next_cursor")));
    }
    out
}
