//! `countersign diff`: prints the proposed diff; unchanged into a pipe, for `git apply`.

use crate::{
    CliError,
    client::pagination,
    identity::IdentityArgs,
    render::style::{BAD, BOLD, BUSY, GOOD, PLAIN, paint},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use api::proposals::{ContentChoice, ProposalRequest};
use domain::text::escape;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    review: ReviewArg,
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
    identity: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let request = ProposalRequest {
        review_id: args.review.find(&caller, None).await?,
        round: args.round,
        since_round: args.since,
        file: args.file,
        content: args.submitted.then_some(ContentChoice::Submitted),
        ..Default::default()
    };
    let proposal = pagination::proposal(&caller.client, request).await?;
    if caller.client.json {
        return terminal::write_pretty_json(&proposal);
    }
    if let Some(note) = &proposal.since_note {
        terminal::remark(&escape(note));
    }
    match &proposal.diff {
        Some(diff) => print(diff),
        None if args.since.is_some() => Ok(()),
        None => Err(anyhow!("{} has no diff; see `countersign show`", proposal.head.number).into()),
    }
}

/// Coloured on a terminal, with hidden characters escaped.
pub(crate) fn print(diff: &str) -> Result<(), CliError> {
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
