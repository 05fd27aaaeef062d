//! `countersign reviewer`: the pool of the running broker, and the logs of its reviewers.

mod logs;
mod table;

use crate::{
    Failure,
    client::rest::{At, Remote},
    commands::watch,
    render::ask,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// The pool, its live reviewers with what they have done, and the last that ended
    List(ListArgs),
    /// Start one more, within the pool's limits; also ends a crash loop
    Spawn(SpawnArgs),
    /// End one, once it has finished the review it has
    Stop(StopArgs),
    /// What a reviewer has printed
    Logs(logs::Args),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Show it anew whenever something happens, until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
struct SpawnArgs {
    /// The project it is to review for [default: the repository the broker was started in]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
struct StopArgs {
    /// Its id, or its short name (codex-r1)
    reviewer: String,
    /// End it now; its review goes back to the queue
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    at: At,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::List(args) if args.watch => {
            let ask = async || Remote::find(args.at.clone()).await?.call("list_reviewers", json!({})).await;
            watch::redraw(&args.at, &[], table::pool, ask).await
        }
        Command::List(args) => ask(args.at, "list_reviewers", json!({}), table::pool).await,
        Command::Spawn(args) => {
            let project = args.project.map_or_else(|| json!({}), |project| json!({ "project": project }));
            ask(args.at, "spawn_reviewer", project, |reviewer| table::told("starting", reviewer)).await
        }
        Command::Stop(args) => {
            let what = json!({ "reviewer_id": args.reviewer, "force": args.force });
            let word = if args.force { "ending" } else { "draining" };
            ask(args.at, "kill_reviewer", what, |reviewer| table::told(word, reviewer)).await
        }
        Command::Logs(args) => logs::run(args).await,
    }
}
