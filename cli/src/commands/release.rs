//! `countersign release`: gives a claimed seat back.

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
    /// Reason
    #[arg(long, short = 'm', value_name = "REASON")]
    message: Option<String>,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = args.which.find(&caller, Side::Reviewer).await?;
    let what = json!({ "review_id": review, "reviewer_id": caller.speaks_as()?, "reason": args.message });
    print(caller.json, &caller.call("release_claim", what).await?, status::shown)
}
