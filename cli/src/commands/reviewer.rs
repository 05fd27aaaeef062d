//! `countersign reviewer`: lists, starts and stops the reviewers of the pool, and prints their logs.

mod logs;
mod table;

use crate::{CliError, client::BrokerArgs, commands::watch, render::execute_and_print};
use api::{
    operation::{KillReviewer, ListReviewers, SpawnReviewer},
    reviewers::{KillReviewerRequest, ListReviewersRequest, SpawnReviewerRequest},
};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the pool, its running reviewers with statistics, and the last that ended
    List(ListArgs),
    /// Start one more reviewer within the pool's limits; also ends a crash loop
    Spawn(SpawnArgs),
    /// Stop a reviewer after its current review
    Stop(StopArgs),
    /// Print the output of a reviewer
    Logs(logs::Args),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Update the view after every event, until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

#[derive(Debug, clap::Args)]
struct SpawnArgs {
    /// Project to review for [default: the repository the broker was started in]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    #[command(flatten)]
    broker: BrokerArgs,
}

#[derive(Debug, clap::Args)]
struct StopArgs {
    /// Id or short name of the reviewer (codex-r1)
    reviewer: String,
    /// Stop it now; its review returns to the queue
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    match args.command {
        Command::List(args) => {
            let client = args.broker.connect().await?;
            if args.watch {
                let fetch = async || client.execute::<ListReviewers>(&ListReviewersRequest {}).await;
                return watch::redraw(&client, None, table::pool, fetch).await;
            }
            execute_and_print::<ListReviewers>(&client, &ListReviewersRequest {}, table::pool).await
        }
        Command::Spawn(args) => {
            let client = args.broker.connect().await?;
            let request = SpawnReviewerRequest { project: args.project };
            execute_and_print::<SpawnReviewer>(&client, &request, |reviewer| table::one("starting", reviewer)).await
        }
        Command::Stop(args) => {
            let client = args.broker.connect().await?;
            let action = if args.force { "ending" } else { "draining" };
            let request = KillReviewerRequest { reviewer_id: args.reviewer, force: Some(args.force) };
            execute_and_print::<KillReviewer>(&client, &request, |reviewer| table::one(action, reviewer)).await
        }
        Command::Logs(args) => logs::run(args).await,
    }
}
