//! Collects everything about a review, page by page.

use crate::{
    CliError,
    client::pagination::{self, collect},
    client::rest::Remote,
};
use api::{
    history::TimelineRound,
    issues::{Issue, ListIssuesRequest},
    messages::Message,
    operation::{GetReviewStatus, ListIssues},
    proposals::{ProposalRequest, ProposalResponse},
    reviews::{ReviewStatusRequest, ReviewStatusResponse},
};
use serde::Serialize;

/// Maximum number of issues per review.
const MAX_ISSUES: usize = 10_000;

/// A review with all its rounds, issues, messages and events.
#[derive(Debug, Serialize)]
pub(super) struct ReviewBundle {
    pub review: ReviewStatusResponse,
    pub rounds: Vec<ProposalResponse>,
    pub issues: Vec<Issue>,
    pub messages: Vec<Message>,
    pub timeline: Vec<TimelineRound>,
}

pub(super) async fn gather(broker: &Remote, id: &str) -> Result<ReviewBundle, CliError> {
    let request = ReviewStatusRequest { review_id: id.to_owned(), ..Default::default() };
    let review = broker.execute::<GetReviewStatus>(&request).await?;
    let mut rounds = Vec::new();
    for round in 1..=review.head.current_round.max(1) {
        let request = ProposalRequest { review_id: id.to_owned(), round: Some(round), ..Default::default() };
        rounds.push(pagination::complete_proposal(broker, request).await?);
    }
    let (issues, _) = collect(MAX_ISSUES, None, async |cursor, limit| {
        let request = ListIssuesRequest {
            review_id: Some(id.to_owned()),
            include_suggestions: Some(true),
            limit: Some(limit),
            cursor,
            ..Default::default()
        };
        let page = broker.execute::<ListIssues>(&request).await?;
        Ok((page.issues, page.next_cursor))
    })
    .await?;
    let messages = pagination::complete_discussion(broker, id).await?;
    let timeline = pagination::timeline(broker, id).await?.rounds;
    Ok(ReviewBundle { review, rounds, issues, messages, timeline })
}
