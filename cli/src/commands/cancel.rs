//! `countersign cancel`: withdraws a review.

use crate::{
    CliError,
    commands::status,
    editor,
    identity::{IdentityArgs, Side},
    render::print,
    review_arg::ReviewArg,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    #[command(flatten)]
    text: editor::TextArgs,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let review = caller.own(&args.which.find(&caller, Side::Proposer).await?).await?;
    let what =
        json!({ "review_id": review["review_id"], "reason": args.text.read("why it is no longer wanted").await? });
    print(caller.json, &caller.call("cancel_review", what).await?, status::shown)
}
