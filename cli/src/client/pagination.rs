//! Fetches all pages of a list or a long text from the broker.

use crate::{CliError, client::Client};
use api::{
    issues::{ListIssuesRequest, ListIssuesResponse},
    operation::{ListIssues, ListReviews},
    review_lists::{ListReviewsRequest, ListReviewsResponse},
};

/// Maximum number of rows in one page.
const MAX_PAGE_ROWS: usize = 200;

/// Options of the commands that list.
#[derive(Debug, Clone, clap::Args)]
pub struct PageArgs {
    /// Maximum number of rows
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Continue after an earlier page: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// Joins the pages of a response up to `limit` rows. `parts` are the rows and the cursor of the next page. A page can be
/// short or empty and still have a successor.
pub(crate) async fn collect<P, T>(
    limit: usize,
    cursor: Option<String>,
    fetch: impl AsyncFn(Option<String>, Option<u32>) -> Result<P, CliError>,
    parts: impl Fn(&mut P) -> (&mut Vec<T>, &mut Option<String>),
) -> Result<P, CliError> {
    let page_rows = |rows: usize| u32::try_from(rows.clamp(1, MAX_PAGE_ROWS)).ok();
    let mut response = fetch(cursor, page_rows(limit)).await?;
    loop {
        let (rows, next) = parts(&mut response);
        let left = limit.saturating_sub(rows.len());
        let Some(cursor) = next.take_if(|_| left > 0) else { return Ok(response) };
        let mut page = fetch(Some(cursor), page_rows(left)).await?;
        let (page_rows, page_next) = parts(&mut page);
        let (rows, next) = parts(&mut response);
        rows.append(page_rows);
        *next = page_next.take();
    }
}

pub(crate) async fn reviews(
    client: &Client,
    request: &ListReviewsRequest,
    limit: usize,
) -> Result<ListReviewsResponse, CliError> {
    let fetch = async |cursor, limit| {
        client.execute::<ListReviews>(&ListReviewsRequest { cursor, limit, ..request.clone() }).await
    };
    collect(limit, None, fetch, |page| (&mut page.reviews, &mut page.next_cursor)).await
}

pub(crate) async fn issues(
    client: &Client,
    request: &ListIssuesRequest,
    limit: usize,
) -> Result<ListIssuesResponse, CliError> {
    let fetch = async |cursor, limit| {
        client.execute::<ListIssues>(&ListIssuesRequest { cursor, limit, ..request.clone() }).await
    };
    collect(limit, None, fetch, |page| (&mut page.issues, &mut page.next_cursor)).await
}

/// All issues and suggestions of a review, or those that it had after the event `at`.
pub(crate) async fn issues_of_review(
    client: &Client,
    review_id: &str,
    at: Option<u64>,
) -> Result<ListIssuesResponse, CliError> {
    let review_id = Some(review_id.to_owned());
    let request = ListIssuesRequest { review_id, include_suggestions: Some(true), at, ..Default::default() };
    issues(client, &request, usize::MAX).await
}
