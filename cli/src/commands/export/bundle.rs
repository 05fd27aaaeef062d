//! Fetches everything about a review.

use crate::{
    CliError,
    client::{Client, pagination},
};
use api::{
    history::TimelineRound,
    issues::Issue,
    messages::Message,
    operation::GetReviewStatus,
    proposals::{ProposalRequest, ProposalResponse},
    reviews::{ReviewStatusRequest, ReviewStatusResponse},
};
use serde::Serialize;

/// A review with all its rounds, issues, messages and events.
#[derive(Debug, Serialize)]
pub(super) struct ReviewBundle {
    pub review: ReviewStatusResponse,
    pub rounds: Vec<ProposalResponse>,
    pub issues: Vec<Issue>,
    pub messages: Vec<Message>,
    pub timeline: Vec<TimelineRound>,
}

pub(super) async fn fetch(client: &Client, id: &str) -> Result<ReviewBundle, CliError> {
    let request = ReviewStatusRequest { review_id: id.to_owned(), ..Default::default() };
    let review = client.execute::<GetReviewStatus>(&request).await?;
    let mut rounds = Vec::new();
    for round in 1..=review.head.current_round.max(1) {
        let request = ProposalRequest { review_id: id.to_owned(), round: Some(round), ..Default::default() };
        rounds.push(pagination::proposal(client, request).await?);
    }
    let issues = pagination::issues_of_review(client, id).await?.issues;
    let messages = pagination::discussion(client, id).await?;
    let timeline = pagination::timeline(client, id).await?.rounds;
    Ok(ReviewBundle { review, rounds, issues, messages, timeline })
}
