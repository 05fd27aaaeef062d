//! `countersign patch`: shows, accepts or declines a counter-patch.

use crate::{
    CliError,
    client::pagination,
    commands::diff,
    identity::IdentityArgs,
    render::{execute_and_print, review},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use api::{
    Operation,
    counter_patches::CounterPatchRequest,
    operation::{AcceptCounterPatch, RejectCounterPatch},
    proposals::ProposalRequest,
    reviews::ReviewStatusResponse,
};
use domain::review::Role;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the counter-patch; unchanged into a pipe, for git apply
    Show(PatchArgs),
    /// Accept: it becomes the content of the review if it still applies
    Accept(PatchArgs),
    /// Decline: the content stays unchanged
    Decline(PatchArgs),
}

#[derive(Debug, clap::Args)]
struct PatchArgs {
    #[command(flatten)]
    review: ReviewArg,
    /// Seat of the counter-patch, if there are several
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    match args.command {
        Command::Show(args) => show(args).await,
        Command::Accept(args) => decide::<AcceptCounterPatch>(args).await,
        Command::Decline(args) => decide::<RejectCounterPatch>(args).await,
    }
}

async fn show(args: PatchArgs) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let review_id = args.review.find(&caller, None).await?;
    let request = ProposalRequest { review_id, persona: args.persona, ..Default::default() };
    let proposal = pagination::proposal(&caller.client, request).await?;
    if caller.client.json {
        return terminal::write_pretty_json(&proposal);
    }
    let missing = || anyhow!("no counter-patch in this round of {}", proposal.head.number);
    diff::print(proposal.counter_patch.as_deref().ok_or_else(missing)?)
}

async fn decide<O>(args: PatchArgs) -> Result<(), CliError>
where
    O: Operation<Request = CounterPatchRequest, Response = ReviewStatusResponse>,
{
    let caller = args.identity.connect().await?;
    let review = caller.own_review(args.review.find(&caller, Some(Role::Proposer)).await?).await?;
    let request = CounterPatchRequest { review_id: review.head.review_id.to_string(), persona: args.persona };
    execute_and_print::<O>(&caller.client, &request, review::status).await
}
