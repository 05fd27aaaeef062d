//! `countersign resubmit`: starts the next round of a review.

use crate::{
    CliError,
    commands::{
        request::{DescriptionArgs, source::Source, submit},
        wait::WaitArgs,
    },
    identity::{Caller, IdentityArgs},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use api::{
    operation::GetProposal,
    proposals::ProposalRequest,
    reviews::{CreateReviewRequest, ReviewStatusResponse},
};
use domain::review::{Role, TargetKind};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    review: ReviewArg,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    text: DescriptionArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let review = caller.own_review(args.review.find(&caller, Some(Role::Proposer)).await?).await?;
    let change = if args.source.is_named() {
        args.source.read(&caller.dir).await?
    } else {
        check_unchanged(&caller, &review).await?;
        CreateReviewRequest::default()
    };
    let request = args.text.describe(CreateReviewRequest {
        review_id: Some(review.head.review_id.to_string()),
        intent: review.state.intent,
        proposer_id: caller.acting_name()?,
        category: None,
        ..change
    })?;
    submit(&caller, &request, &args.wait).await
}

/// Without a source the broker reads the branch again. Other proposals would be resubmitted unchanged, which makes sense
/// only after an accepted counter-patch.
async fn check_unchanged(caller: &Caller, review: &ReviewStatusResponse) -> Result<(), CliError> {
    let kind = review.state.diff.target.as_ref().map(|target| target.kind);
    if !review.state.diff.has_diff || kind == Some(TargetKind::Branch) {
        return Ok(());
    }
    let request = ProposalRequest { review_id: review.head.review_id.to_string(), ..Default::default() };
    let proposal = caller.client.execute::<GetProposal>(&request).await?;
    if proposal.counter_patch_status.as_deref() == Some("accepted") {
        terminal::remark("with the accepted counter-patch as it is");
        return Ok(());
    }
    let kind = kind.map_or("diff", TargetKind::as_str);
    let hint = "say what is new: --branch, --commit, --range, --staged, --worktree or --diff";
    Err(CliError::usage(anyhow!("{} was made from a {kind}; {hint}", review.head.number)))
}
