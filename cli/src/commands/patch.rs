//! `countersign patch`: a reviewer's counter-patch, shown, accepted or declined.

use crate::{
    Failure,
    client::pagination as whole,
    commands::diff,
    commands::status,
    identity::{By, Side},
    render::{print, text},
    review_arg::Which,
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
    /// Show it; into a pipe as it is, for git apply
    Show(One),
    /// Take it over: it becomes the content of the review, if it still applies
    Accept(One),
    /// Leave the content as it is
    Decline(One),
}

#[derive(Debug, clap::Args)]
struct One {
    #[command(flatten)]
    which: Which,
    /// Whose, where several have offered one
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Show(one) => show(one).await,
        Command::Accept(one) => answer("accept_counter_patch", one).await,
        Command::Decline(one) => answer("reject_counter_patch", one).await,
    }
}

async fn show(one: One) -> Result<(), Failure> {
    let caller = one.by.begin().await?;
    let which = one.which.find_any(&caller).await?;
    let proposal = whole::proposal(&caller.remote, json!({ "review_id": which, "persona": one.persona })).await?;
    if caller.json {
        return terminal::write_json(&format!("{proposal:#}\n"));
    }
    let none = || anyhow!("nobody has offered a counter-patch in this round of {}", text(&proposal, "number"));
    diff::show(proposal["counter_patch"].as_str().ok_or_else(none)?)
}

async fn answer(tool: &str, one: One) -> Result<(), Failure> {
    let caller = one.by.begin().await?;
    let review = caller.own(&one.which.find(&caller, Side::Proposer).await?).await?;
    let what = json!({ "review_id": review["review_id"], "persona": one.persona });
    print(caller.json, &caller.call(tool, what).await?, status::shown)
}
