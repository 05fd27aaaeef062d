//! `countersign status`: prints the status of one review in a few lines.

use crate::{CliError, commands::watch, identity::IdentityArgs, render::print, render::review, review_arg::ReviewArg};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    /// Redraw at every event of the review until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find_any(&caller).await?;
    let arguments = json!({ "review_id": which });
    if args.watch {
        let ask = async || args.by.begin().await?.call("get_review_status", arguments.clone()).await;
        return watch::redraw(&args.by.at, &[("review", which.clone())], shown, ask).await;
    }
    print(caller.json, &caller.call("get_review_status", arguments).await?, shown)
}

/// Also used for the responses of commands that change only the status.
pub(crate) fn shown(status: &Value) -> String {
    review::head(status) + &review::about(status, None) + &review::consensus(status) + &review::next(status)
}
