//! `countersign status`: where one review stands, in a few lines.

use crate::{Failure, commands::watch, identity::By, render::print, render::review, review_arg::Which};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Show it anew whenever something happens to it, until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let which = args.which.find_any(&caller).await?;
    let arguments = json!({ "review_id": which });
    if args.watch {
        let ask = async || args.by.begin().await?.call("get_review_status", arguments.clone()).await;
        return watch::redraw(&args.by.at, &[("review", which.clone())], shown, ask).await;
    }
    print(caller.json, &caller.call("get_review_status", arguments).await?, shown)
}

/// Also of the answers of those commands that change no more than this.
pub(crate) fn shown(status: &Value) -> String {
    review::head(status) + &review::about(status, None) + &review::consensus(status) + &review::next(status)
}
