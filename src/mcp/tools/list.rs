//! Which reviews there are, how one stands, and waiting for either to change.

use super::{Call, Done, propose::category};
use crate::mcp::{
    Server,
    args::{GetReviewStatus, ListReviews},
    present::{Answer, List, ReviewRow, Status},
    refusal::Refused,
    who::Who,
};
use actors::requests::{ListQuery, Listing};
use domain::review::Status as ReviewStatus;

pub(super) async fn list(args: ListReviews, call: &Call<'_>) -> Done {
    let (query, waits) = read(&args)?;
    let query = call.who.confine(ListQuery { caller_id: call.who.listens_as(args.caller_id)?, ..query })?;
    let wait = call.wait(args.since, args.timeout_seconds)?;
    let broker = &call.server.broker;
    let anonymous = waits && query.caller_id.is_none();
    let credential = call.who.credential().filter(|_| query.status == Some(ReviewStatus::Pending));
    let listing = match credential {
        Some(credential) if credential.is_draining() => return draining(args.since),
        Some(credential) if waits => tokio::select! {
            listing = broker.wait_list(query.clone(), wait) => listing?,
            () = credential.drained() => return draining(args.since),
        },
        None if waits => broker.wait_list(query.clone(), wait).await?,
        Some(_) | None => broker.list(query.clone()).await?,
    };
    let hint = (anonymous && listing.page.items.is_empty()).then_some(NAME_YOURSELF);
    fitted(query, listing, waits, hint, call.server).await
}

/// Whoever does not say who it is might be offered a second seat of a review, so it is offered none.
const NAME_YOURSELF: &str =
    "Give your reviewer_id as caller_id to be shown also reviews that others have begun and that have a free seat.";

fn read(args: &ListReviews) -> Result<(ListQuery, bool), Refused> {
    let status = args.status.as_deref().map(status_word).transpose()?;
    let category = args.category.as_deref().map(category).transpose()?;
    let waits = args.wait.unwrap_or(false);
    if waits && status != Some(ReviewStatus::Pending) {
        return Err(Refused::new("wait_needs_pending", "wait: only with status \"pending\" can a list be waited for")
            .with("field", "wait"));
    }
    if waits && args.cursor.is_some() {
        return Err(Refused::invalid("cursor", "not together with wait; a wait answers with the first page"));
    }
    if args.limit == Some(0) {
        return Err(Refused::invalid("limit", "expected 1 or more"));
    }
    let projects = match (&args.project, &args.projects) {
        (Some(_), Some(_)) => {
            return Err(Refused::new("project_and_projects", "give either project or projects, not both")
                .with("field", "projects"));
        }
        (Some(project), None) => vec![project.clone()],
        (None, Some(projects)) => projects.clone(),
        (None, None) => Vec::new(),
    };
    let query = ListQuery {
        status,
        category,
        projects,
        for_work: waits,
        limit: args.limit,
        cursor: args.cursor.clone(),
        ..ListQuery::default()
    };
    Ok((query, waits))
}

fn status_word(word: &str) -> Result<ReviewStatus, Refused> {
    ReviewStatus::parse(word).ok_or_else(|| {
        let allowed: Vec<_> = ReviewStatus::ALL.iter().map(|status| status.as_str()).collect();
        Refused::unknown_word("unknown_status", "status", word, &allowed)
    })
}

/// The end of a pool reviewer's loop.
fn draining(since: Option<u64>) -> Done {
    Ok(Answer::of(&List {
        reviews: Vec::new(),
        version: since.unwrap_or_default(),
        next_cursor: None,
        timed_out: None,
        draining: Some(true),
        next: Some("The broker ends this reviewer: finish what you have claimed, claim nothing new, then end."),
    })?)
}

/// The listing as an answer no client cuts: where its rows are too long, fewer of them.
async fn fitted(query: ListQuery, listing: Listing, waited: bool, next: Option<&'static str>, server: &Server) -> Done {
    let Listing { mut page, version, timed_out } = listing;
    loop {
        let list = List {
            reviews: page.items.iter().map(ReviewRow::of).collect(),
            version,
            next_cursor: page.next_cursor.as_deref(),
            timed_out: waited.then_some(timed_out),
            draining: None,
            next,
        };
        let answer = Answer::of(&list)?;
        let (rows, chars) = (page.items.len(), answer.text.chars().count());
        if chars <= server.settings.page_chars || rows <= 1 {
            return Ok(answer);
        }
        let fits = (rows * server.settings.page_chars / chars).clamp(1, rows - 1);
        let limit = u32::try_from(fits).ok();
        page = server.broker.list(ListQuery { limit, ..query.clone() }).await?.page;
    }
}

/// The first page of what is pending.
pub(in crate::mcp) async fn queue(server: &Server, who: Who<'_>) -> Done {
    let query = who.confine(ListQuery { status: Some(ReviewStatus::Pending), ..ListQuery::default() })?;
    let listing = server.broker.list(query.clone()).await?;
    fitted(query, listing, false, None, server).await
}

pub(super) async fn status(args: GetReviewStatus, call: &Call<'_>) -> Done {
    let wait = call.wait(args.since, args.timeout_seconds)?;
    call.who.speaks_as("caller_id", args.caller_id)?;
    let id = call.resolve(&args.review_id).await?;
    if !args.wait.unwrap_or(false) {
        return super::propose::status(call.server.broker.review(id).await?);
    }
    let seen = call.server.broker.wait_review(id, wait).await?;
    let status = Status { timed_out: Some(seen.timed_out), ..Status::of(&seen.review) };
    Ok(Answer::of(&status)?)
}
