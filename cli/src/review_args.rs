//! The command-line argument that names a review. If it is omitted and only one open review suits the command, the
//! command takes that one.

use crate::{
    CliError,
    client::{BrokerArgs, pagination},
    completion,
    identity_args::{Caller, IdentityArgs},
    render::clipped,
    terminal,
};
use anyhow::anyhow;
use api::{
    ErrorBody, ErrorCode,
    review_lists::{ListReviewsRequest, ReviewRow},
    reviews::ReviewStatusResponse,
};
use domain::review::{Role, Status};
use git::UserRepo;

/// Newest reviews of the caller that are searched.
const MAX_REVIEWS: usize = 500;
const INTENT_COLUMNS: usize = 50;

/// Statuses in which proposer or reviewers can still act.
pub(crate) const OPEN: [Status; 5] =
    [Status::ChangesRequested, Status::Approved, Status::InReview, Status::Claimed, Status::Pending];

/// Arguments of the commands about one review.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReviewArgs {
    /// R-12, 12, an id or the beginning of one [default: the only open review of this branch, or of yours]
    #[arg(value_name = "REVIEW", add = completion::reviews())]
    review: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Writes `12` as `R-12`. A longer number may be the beginning of an id.
pub(crate) fn id(given: &str) -> String {
    let is_number = (1..8).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("R-{given}") } else { given.to_owned() }
}

impl ReviewArgs {
    /// Whether a review is named.
    pub(crate) const fn is_given(&self) -> bool {
        self.review.is_some()
    }

    pub(crate) const fn broker(&self) -> &BrokerArgs {
        &self.identity.broker
    }

    /// The caller, and the review for a caller in this role or for one that only reads.
    pub(crate) async fn find(&self, role: Option<Role>) -> Result<(Caller, String), CliError> {
        let caller = self.identity.connect().await?;
        let review_id = match &self.review {
            Some(given) => id(given),
            None => guess(&caller, role).await?,
        };
        Ok((caller, review_id))
    }

    /// The caller, and the review if the caller may act for its proposer. These calls carry no name, so the broker would
    /// record them as the proposer's.
    pub(crate) async fn find_own(&self) -> Result<(Caller, ReviewStatusResponse), CliError> {
        let (caller, review_id) = self.find(Some(Role::Proposer)).await?;
        let review = caller.review(review_id).await?;
        let owner = review.state.proposer.identity();
        if caller.is(owner) || caller.name().is_err() {
            return Ok((caller, review));
        }
        let error = format!("{} was proposed by {owner}; to act in that name give --as {owner}", review.head.number);
        Err(ErrorBody::new(ErrorCode::NotTheProposer, error).into())
    }
}

async fn guess(caller: &Caller, role: Option<Role>) -> Result<String, CliError> {
    let name = caller.name()?;
    let open = ListReviewsRequest { statuses: Some(OPEN.to_vec()), ..Default::default() };
    let mut candidates = own_reviews(caller, open.clone()).await?;
    // A participant that is not the proposer holds a seat.
    candidates
        .retain(|review| role.is_none_or(|role| caller.is(review.proposer.identity()) == (role == Role::Proposer)));
    if role != Some(Role::Reviewer)
        && candidates.len() > 1
        && let Some(branch) = UserRepo::at(caller.dir.clone()).current_branch().await?
    {
        let of_branch = own_reviews(caller, ListReviewsRequest { branch: Some(branch), ..open }).await?;
        let is_of_branch =
            |review: &ReviewRow| of_branch.iter().any(|other| other.head.review_id == review.head.review_id);
        if candidates.iter().any(is_of_branch) {
            candidates.retain(is_of_branch);
        }
    }
    let verb = match role {
        Some(Role::Proposer) => "has proposed",
        Some(Role::Reviewer) => "holds",
        None => "has proposed or holds",
    };
    match candidates.as_slice() {
        [] => Err(CliError::usage(anyhow!("which review? {name} {verb} no open one; `countersign list` shows all"))),
        [only] => {
            terminal::remark(&format!("{}: {}", only.head.number, clipped(&only.intent, INTENT_COLUMNS)));
            Ok(only.head.number.to_string())
        }
        several => {
            let numbers: Vec<_> = several.iter().take(10).map(|review| review.head.number.to_string()).collect();
            Err(CliError::usage(anyhow!("which review? {name} {verb} {}", numbers.join(", "))))
        }
    }
}

/// The reviews that the caller proposed or holds a seat of, newest first.
async fn own_reviews(caller: &Caller, request: ListReviewsRequest) -> Result<Vec<ReviewRow>, CliError> {
    let request = ListReviewsRequest { participant: Some(caller.name()?), ..request };
    Ok(pagination::reviews(&caller.client, &request, MAX_REVIEWS).await?.reviews)
}

/// The caller's proposals of this branch, open or not, newest first.
pub(crate) async fn proposals_of_branch(caller: &Caller, branch: &str) -> Result<Vec<ReviewRow>, CliError> {
    let request = ListReviewsRequest { branch: Some(branch.to_owned()), ..Default::default() };
    let mut reviews = own_reviews(caller, request).await?;
    reviews.retain(|review| caller.is(review.proposer.identity()));
    Ok(reviews)
}

#[cfg(test)]
mod tests {
    use super::id;

    #[test]
    fn a_short_number_is_a_review_and_a_long_one_the_beginning_of_an_id() {
        assert_eq!(["12", "R-12", "12345678", "a1b2"].map(id), ["R-12", "R-12", "12345678", "a1b2"]);
    }
}
