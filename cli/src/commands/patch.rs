//! `countersign patch`: shows, accepts or declines a counter-patch.

use crate::{
    CliError,
    client::pagination as whole,
    commands::diff,
    commands::status,
    identity::{IdentityArgs, Side},
    render::{print, text},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the counter-patch; unchanged into a pipe, for git apply
    Show(One),
    /// Accept: it becomes the content of the review if it still applies
    Accept(One),
    /// Decline: the content stays unchanged
    Decline(One),
}

#[derive(Debug, clap::Args)]
struct One {
    #[command(flatten)]
    which: ReviewArg,
    /// Seat of the counter-patch, if there are several
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    match args.command {
        Command::Show(one) => show(one).await,
        Command::Accept(one) => answer("accept_counter_patch", one).await,
        Command::Decline(one) => answer("reject_counter_patch", one).await,
    }
}

async fn show(one: One) -> Result<(), CliError> {
    let caller = one.by.begin().await?;
    let which = one.which.find_any(&caller).await?;
    let proposal = whole::proposal(&caller.remote, json!({ "review_id": which, "persona": one.persona })).await?;
    if caller.json {
        return terminal::write_json(&format!("{proposal:#}\n"));
    }
    let none = || anyhow!("no counter-patch in this round of {}", text(&proposal, "number"));
    diff::show(proposal["counter_patch"].as_str().ok_or_else(none)?)
}

async fn answer(tool: &str, one: One) -> Result<(), CliError> {
    let caller = one.by.begin().await?;
    let review = caller.own(&one.which.find(&caller, Side::Proposer).await?).await?;
    let what = json!({ "review_id": review["review_id"], "persona": one.persona });
    print(caller.json, &caller.call(tool, what).await?, status::shown)
}
