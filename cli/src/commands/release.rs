//! `countersign release`: gives a claimed seat back.

use crate::{
    CliError,
    commands::status,
    identity::{IdentityArgs, Side},
    render::print,
    review_arg::ReviewArg,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    /// Reason
    #[arg(long, short = 'm', value_name = "REASON")]
    message: Option<String>,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let review = args.which.find(&caller, Side::Reviewer).await?;
    let what = json!({ "review_id": review, "reviewer_id": caller.speaks_as()?, "reason": args.message });
    print(caller.json, &caller.call("release_claim", what).await?, status::shown)
}
