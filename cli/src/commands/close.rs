//! `countersign close`: closes a review.

use crate::{
    Failure,
    commands::status,
    identity::{By, Side},
    render::print,
    review_arg::Which,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = caller.own(&args.which.find(&caller, Side::Proposer).await?).await?;
    let what = json!({ "review_id": review["review_id"], "closer_role": "proposer" });
    print(caller.json, &caller.call("close_review", what).await?, status::shown)
}
