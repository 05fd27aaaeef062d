//! `countersign resubmit`: starts the next round of a review.

use crate::{
    CliError,
    commands::request::{
        description::DescriptionArgs,
        source::{Gathered, Source},
        submit,
    },
    commands::wait::For,
    identity::{Caller, IdentityArgs, Side},
    render::text,
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    text: DescriptionArgs,
    #[command(flatten)]
    waiting: For,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let review = caller.own(&args.which.find(&caller, Side::Proposer).await?).await?;
    let mut gathered = if args.source.is_named() {
        args.source.gather(&caller.dir).await?
    } else {
        stays(&caller, &review).await?;
        Gathered::default()
    };
    let (title, description) = args.text.or_gathered(&gathered, review["intent"].as_str())?;
    let mut arguments = json!({
        "review_id": review["review_id"], "intent": title, "description": description, "proposer_id": caller.speaks_as()?,
    });
    if let Some(fields) = arguments.as_object_mut() {
        fields.append(&mut gathered.arguments);
    }
    submit(&caller, arguments, &args.waiting, &args.by).await
}

/// Without a source the broker reads the branch again. Other proposals would be resubmitted unchanged, which makes sense
/// only after an accepted counter-patch.
async fn stays(caller: &Caller, review: &Value) -> Result<(), CliError> {
    if review["has_diff"] != true || review["target"]["kind"] == "branch" {
        return Ok(());
    }
    let proposal = caller.call("get_proposal", json!({ "review_id": review["review_id"] })).await?;
    if proposal["counter_patch_status"] == "accepted" {
        terminal::remark("with the accepted counter-patch as it is");
        return Ok(());
    }
    let from = review["target"]["kind"].as_str().unwrap_or("diff");
    let words = "say what is new: --branch, --commit, --range, --staged, --worktree or --diff";
    Err(CliError::usage(anyhow!("{} was made from a {from}; {words}", text(review, "number"))))
}
