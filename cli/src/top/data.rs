//! Fetches the state of the broker.

use crate::{CliError, client::Client, review_arg::OPEN};
use api::{
    operation::{ListReviewers, ListReviews},
    reviewers::{ListReviewersRequest, ListReviewersResponse},
    reviews::{ListReviewsRequest, ListReviewsResponse, ReviewRow},
};
use serde::Serialize;

/// Reviews per status, more than fit on a screen.
const ROWS: u32 = 50;

/// A snapshot of the broker.
#[derive(Debug, Default, Serialize)]
pub(super) struct BrokerState {
    pub reviews: Vec<ReviewRow>,
    /// Absent for a caller who is not an operator.
    pub pool: Option<ListReviewersResponse>,
    /// The actor tree, line by line. Empty for a caller who is not an operator.
    pub actors: Vec<String>,
}

pub(super) async fn fetch(client: &Client) -> Result<BrokerState, CliError> {
    let mut reviews = Vec::new();
    for status in OPEN {
        let request = ListReviewsRequest { status: Some(status), limit: Some(ROWS), ..Default::default() };
        let page = client.execute_quietly::<ListReviews, ListReviewsResponse>(&request).await?;
        reviews.extend(page.reviews.into_iter().filter(|review| review.head.status == status));
    }
    let pool = optional(client.execute_quietly::<ListReviewers, _>(&ListReviewersRequest {}).await)?;
    let actors = optional(client.get("/debug/actors", &[("format", "text".to_owned())]).await)?.unwrap_or_default();
    Ok(BrokerState { reviews, pool, actors: actors.lines().map(str::to_owned).collect() })
}

/// The result of a call that only operators may make.
fn optional<T>(result: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match result {
        Ok(response) => Ok(Some(response)),
        Err(failure) if failure.is_retryable() => Err(failure),
        Err(_) => Ok(None),
    }
}
