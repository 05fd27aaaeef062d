//! `countersign diff`: prints the proposed diff; unchanged into a pipe, for `git apply`.

use crate::{
    CliError,
    client::pagination as whole,
    identity::IdentityArgs,
    render::{
        style::{BAD, BOLD, BUSY, GOOD, PLAIN, paint},
        text,
    },
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use domain::text::escape;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    /// Diff of an earlier round
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Only changes since this round
    #[arg(long, value_name = "N")]
    since: Option<u32>,
    /// Only this file
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// The submitted diff, even if an accepted counter-patch replaced it
    #[arg(long)]
    submitted: bool,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find_any(&caller).await?;
    let arguments = json!({
        "review_id": which, "round": args.round, "since_round": args.since, "file": args.file,
        "content": args.submitted.then_some("submitted"),
    });
    let proposal = whole::proposal(&caller.remote, arguments).await?;
    if caller.json {
        return terminal::write_json(&format!("{proposal:#}\n"));
    }
    if let Some(note) = proposal["since_note"].as_str() {
        terminal::remark(&escape(note));
    }
    match proposal["diff"].as_str() {
        Some(diff) => show(diff),
        None if args.since.is_some() => Ok(()),
        None => Err(anyhow!("{} has no diff; see `countersign show`", text(&proposal, "number")).into()),
    }
}

/// Coloured on a terminal, with hidden characters escaped.
pub(crate) fn show(diff: &str) -> Result<(), CliError> {
    if !terminal::is_terminal() {
        let end = if diff.ends_with('\n') { "" } else { "\n" };
        return terminal::write_raw(format!("{diff}{end}").as_bytes());
    }
    let lines = diff.lines().map(|line| paint(style(line), &escape(&line.replace('\t', "    "))) + "\n");
    terminal::write(&lines.collect::<String>())
}

fn style(line: &str) -> anstyle::Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
        [b'+', ..] => GOOD,
        [b'-', ..] => BAD,
        [b'@', b'@', ..] => BUSY,
        _ if line.starts_with("diff ") || line.starts_with("index ") => BOLD,
        _ => PLAIN,
    }
}
