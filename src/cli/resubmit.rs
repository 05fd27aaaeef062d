//! `countersign resubmit`: the next round of a review.

use super::{
    Failure,
    caller::{By, Side},
    request::{source::Source, submit, words::Words},
    text::text,
    wait::For,
    which::Which,
};
use anyhow::anyhow;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    waiting: For,
    #[command(flatten)]
    by: By,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let which = args.which.find(&caller, Side::Proposer).await?;
    let review = caller.call("get_review_status", json!({ "review_id": which })).await?;
    let is_as_it_was = args.source.is_branch() && args.source.base.is_none();
    let mut gathered = if is_as_it_was {
        stays(&review)?;
        Default::default()
    } else {
        args.source.gather(&caller.dir).await?
    };
    let (title, description) = args.words.or(&gathered, review["intent"].as_str())?;
    let mut arguments = json!({
        "review_id": review["review_id"], "intent": title, "description": description, "proposer_id": caller.name,
    });
    if let Some(fields) = arguments.as_object_mut() {
        fields.append(&mut gathered.arguments);
    }
    submit(&caller, arguments, &args.waiting, &args.by).await
}

/// Where nothing is named: the broker takes a branch as it is now. Anything else would be what it was.
fn stays(review: &Value) -> Result<(), Failure> {
    if review["has_diff"] != true || review["target"]["kind"] == "branch" {
        return Ok(());
    }
    let from = review["target"]["kind"].as_str().unwrap_or("diff");
    let words = "say what is new: --commit, --range, --staged, --worktree, --diff";
    Err(Failure::usage(anyhow!("{} was made from a {from}; {words}", text(review, "number"))))
}
