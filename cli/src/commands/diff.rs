//! `countersign diff` and `countersign patch`: print the proposed diff or a reviewer's counter-patch, and accept or
//! reject the counter-patch. If stdout is a pipe, the diff is written unchanged, for `git apply`.

use crate::{
    CliError, completion,
    render::{
        execute_and_print, review,
        style::{BAD, BOLD, BUSY, GOOD, PLAIN, paint},
    },
    review_args::ReviewArgs,
    terminal,
};
use anyhow::anyhow;
use api::{
    Operation,
    operation::{AcceptCounterPatch, RejectCounterPatch},
    pages,
    proposals::{ContentChoice, ProposalRequest},
    reviews::{CounterPatchRequest, ReviewStatusResponse},
};
use domain::text::escape;

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
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
    /// The diff as it was after this event: a number of `countersign timeline`
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn diff(args: DiffArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(None).await?;
    let request = ProposalRequest {
        review_id,
        round: args.round,
        since_round: args.since,
        file: args.file,
        content: args.submitted.then_some(ContentChoice::Submitted),
        at: args.at,
        caller_id: caller.reading_name(),
        ..Default::default()
    };
    let proposal = pages::proposal(&caller.client, request).await?;
    if caller.client.json {
        return terminal::write_pretty_json(&proposal);
    }
    if let Some(note) = &proposal.since_note {
        terminal::remark(&escape(note));
    }
    match &proposal.diff {
        Some(diff) => print_diff(diff),
        None if args.since.is_some() => Ok(()),
        None => Err(anyhow!("{} has no diff; see `countersign show`", proposal.head.number).into()),
    }
}

#[derive(Debug, clap::Subcommand)]
pub enum PatchCommand {
    /// Print the counter-patch; unchanged into a pipe, for git apply
    Show(CounterPatchArgs),
    /// Accept: it becomes the content of the review if it still applies
    Accept(CounterPatchArgs),
    /// Decline: the content stays unchanged
    Decline(CounterPatchArgs),
}

#[derive(Debug, clap::Args)]
pub struct CounterPatchArgs {
    /// Seat of the counter-patch, if there are several
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
    persona: Option<String>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn patch(command: PatchCommand) -> Result<(), CliError> {
    match command {
        PatchCommand::Show(args) => show_patch(args).await,
        PatchCommand::Accept(args) => decide::<AcceptCounterPatch>(args).await,
        PatchCommand::Decline(args) => decide::<RejectCounterPatch>(args).await,
    }
}

async fn show_patch(args: CounterPatchArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(None).await?;
    let (persona, caller_id) = (args.persona, caller.reading_name());
    let request = ProposalRequest { review_id, persona, caller_id, ..Default::default() };
    let proposal = pages::proposal(&caller.client, request).await?;
    if caller.client.json {
        return terminal::write_pretty_json(&proposal);
    }
    let missing = || anyhow!("no counter-patch in this round of {}", proposal.head.number);
    print_diff(proposal.counter_patch.as_deref().ok_or_else(missing)?)
}

async fn decide<O>(args: CounterPatchArgs) -> Result<(), CliError>
where
    O: Operation<Request = CounterPatchRequest, Response = ReviewStatusResponse>,
{
    let (caller, review) = args.review.find_own().await?;
    let review_id = review.head.review_id.to_string();
    let request = CounterPatchRequest { review_id, persona: args.persona, caller_id: caller.acting_name()? };
    execute_and_print::<O>(&caller.client, &request, review::status).await
}

/// Coloured on a terminal, with hidden characters escaped.
fn print_diff(diff: &str) -> Result<(), CliError> {
    if !terminal::is_terminal() {
        let end = if diff.ends_with('\n') { "" } else { "\n" };
        return terminal::write_raw(format!("{diff}{end}").as_bytes());
    }
    let lines = diff.lines().map(|line| paint(style(line), &escape(&line.replace('\t', "    "))) + "\n");
    terminal::page(&lines.collect::<String>())
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
