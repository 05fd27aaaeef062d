//! Operations that list, wait for and count reviews.

use super::{
    Authorization, Call, JsonText, Service, error::CallError, pagination::rows_that_fit, reviews::set_lease_ends,
};
use actors::{Broker, ListQuery, Listing};
use api::{
    ErrorBody, ErrorCode,
    decode::Malformed,
    review_lists::{
        CountReviewsRequest, CountReviewsResponse, DiffSize, ListReviewsRequest, ListReviewsResponse, ListedOrder,
        MAX_COUNTED_TURNS, ReviewRow, RowDetails, StatusCounts,
    },
};
use domain::review::{Review, Status};
use store::ListedDetails;

pub(super) async fn list(call: &Call<'_>, request: ListReviewsRequest) -> Result<ListReviewsResponse, CallError> {
    let waits = request.wait.unwrap_or(false);
    let (since, wait) = (request.since, call.wait(request.since, request.timeout_seconds));
    let (caller_id, role) = (request.caller_id.clone(), request.role);
    let details = request.details.unwrap_or(false);
    let query = list_query(request)?;
    let caller_id = match query.my_turn {
        true => call.authz.identity_for("caller_id", caller_id)?,
        false => call.authz.queue_identity(caller_id)?,
    };
    if query.my_turn && caller_id.is_none() {
        return Err(
            Malformed::missing("caller_id", "my_turn needs your own id, unless a token says who you are").into()
        );
    }
    let role = call.asker(caller_id.as_deref(), role)?.role;
    let query = call.authz.limit_list(ListQuery { caller_id, role, ..query })?;
    // An agent that is bound to a persona can take no other seats.
    let bound_to = call.authz.credential().and_then(|credential| credential.persona());
    let kept_for_pool = call.broker.personas_kept_from(bound_to);
    let query = ListQuery { persona: query.persona.or(bound_to.map(str::to_owned)), kept_for_pool, ..query };
    let (wait, broker) = (wait?, &call.broker);
    let is_anonymous = waits && query.caller_id.is_none();
    let is_for_work = query.my_turn || query.status == Some(Status::Pending);
    let credential = call.authz.credential().filter(|_| is_for_work);
    let wait_for_work = async || match query.my_turn {
        true => broker.wait_turn(query.clone(), wait).await,
        false => broker.wait_list(query.clone(), wait).await,
    };
    let listing = match credential {
        Some(credential) if credential.is_draining() => return Ok(draining(since)),
        Some(credential) if waits => tokio::select! {
            listing = wait_for_work() => listing?,
            () = credential.drained() => return Ok(draining(since)),
        },
        None if waits => wait_for_work().await?,
        Some(_) | None => broker.list(query.clone()).await?,
    };
    // A caller without a name might be offered a second seat of a review, so it is offered no started reviews.
    let hint = (is_anonymous && listing.page.items.is_empty()).then_some(
        "Pass your reviewer_id as caller_id to also see reviews that others have started and that have a free seat.",
    );
    let mut response = fit(call.service, query, listing, details).await?;
    response.timed_out = response.timed_out.filter(|_| waits);
    response.next = hint.map(Into::into);
    Ok(response)
}

fn list_query(request: ListReviewsRequest) -> Result<ListQuery, ErrorBody> {
    let waits = request.wait.unwrap_or(false);
    let my_turn = request.my_turn.unwrap_or(false);
    if waits && request.status != Some(Status::Pending) && !my_turn {
        let error = "wait: only a list with status \"pending\" or with my_turn can be waited for";
        return Err(ErrorBody::new(ErrorCode::WaitNeedsPending, error).with("field", "wait"));
    }
    if waits && request.cursor.is_some() {
        return Err(ErrorBody::invalid("cursor", "not allowed with wait, which returns the first page"));
    }
    if request.limit == Some(0) {
        return Err(ErrorBody::invalid("limit", "expected 1 or more"));
    }
    if request.status.is_some() && request.statuses.is_some() {
        return Err(ErrorBody::invalid("statuses", "not allowed with status"));
    }
    let wants_open = request.open.unwrap_or(false);
    if wants_open && (request.status.is_some() || request.statuses.is_some()) {
        return Err(ErrorBody::invalid("open", "not allowed with status or statuses"));
    }
    let open =
        || Status::ALL.iter().copied().filter(|status| !matches!(status, Status::Cancelled | Status::Closed)).collect();
    let projects = requested_projects(request.project, request.projects)?;
    Ok(ListQuery {
        status: request.status,
        statuses: if wants_open { open() } else { request.statuses.unwrap_or_default() },
        by_priority: request.order == Some(ListedOrder::Priority),
        branch: request.branch,
        participant: request.participant,
        proposer: request.proposer,
        persona: request.persona,
        search: request.q,
        category: request.category,
        projects,
        for_work: waits,
        my_turn,
        limit: request.limit,
        cursor: request.cursor,
        ..ListQuery::default()
    })
}

fn requested_projects(one: Option<String>, several: Option<Vec<String>>) -> Result<Vec<String>, ErrorBody> {
    match (one, several) {
        (Some(_), Some(_)) => {
            let error = "give either project or projects, not both";
            Err(ErrorBody::new(ErrorCode::ProjectAndProjects, error).with("field", "projects"))
        }
        (Some(project), None) => Ok(vec![project]),
        (None, projects) => Ok(projects.unwrap_or_default()),
    }
}

pub(super) async fn count(call: &Call<'_>, request: CountReviewsRequest) -> Result<CountReviewsResponse, CallError> {
    let caller_id = call.authz.identity_for("caller_id", request.caller_id)?;
    let role = call.asker(caller_id.as_deref(), request.role)?.role;
    let query = call.authz.limit_list(ListQuery {
        branch: request.branch,
        participant: request.participant,
        proposer: request.proposer,
        persona: request.persona,
        search: request.q,
        category: request.category,
        projects: requested_projects(request.project, request.projects)?,
        role,
        caller_id,
        ..ListQuery::default()
    })?;
    let counts = call.broker.count(&query).await?;
    let my_turn = match &query.caller_id {
        Some(_) => Some(call.broker.count_turns(&query, MAX_COUNTED_TURNS).await? as u64),
        None => None,
    };
    let of = |status| counts.by_status.get(&status).copied().unwrap_or(0);
    let by_status = StatusCounts {
        pending: of(Status::Pending),
        claimed: of(Status::Claimed),
        in_review: of(Status::InReview),
        changes_requested: of(Status::ChangesRequested),
        approved: of(Status::Approved),
        rejected: of(Status::Rejected),
        cancelled: of(Status::Cancelled),
        closed: of(Status::Closed),
    };
    Ok(CountReviewsResponse { by_status, escalated: counts.escalated, my_turn })
}

/// Ends the loop of a pool reviewer.
fn draining(since: Option<u64>) -> ListReviewsResponse {
    ListReviewsResponse {
        reviews: Vec::new(),
        seq: since.unwrap_or_default(),
        total: None,
        next_cursor: None,
        timed_out: None,
        draining: Some(true),
        next: Some(
            "The broker is stopping this reviewer: finish what you have claimed, claim nothing new, then end.".into(),
        ),
    }
}

/// The response to a list, with fewer rows if they are too long for one response.
async fn fit(
    service: &Service,
    query: ListQuery,
    listing: Listing,
    details: bool,
) -> Result<ListReviewsResponse, CallError> {
    let Listing { mut page, seq, timed_out } = listing;
    let caller = query.caller_id.as_deref();
    let is_first = query.cursor.is_none();
    let claimant = caller.filter(|_| query.status == Some(Status::Pending) || query.my_turn);
    loop {
        let mut reviews: Vec<_> = page.items.iter().map(|review| ReviewRow::new(review, claimant, caller)).collect();
        if details {
            add_details(&service.broker, &page.items, &mut reviews).await?;
        }
        // Only a list of several pages has to be counted.
        let total = match &page.next_cursor {
            None if is_first && !query.my_turn => Some(page.items.len() as u64),
            Some(_) | None => service.broker.count_listed(&query).await?,
        };
        let response = ListReviewsResponse {
            reviews,
            seq,
            total,
            next_cursor: page.next_cursor.clone(),
            timed_out: Some(timed_out),
            draining: None,
            next: None,
        };
        match rows_that_fit(page.items.len(), &response, service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => {
                let limit = u32::try_from(rows).ok();
                page = service.broker.list(ListQuery { limit, ..query.clone() }).await?.page;
            }
        }
    }
}

async fn add_details(broker: &Broker, reviews: &[Review], rows: &mut [ReviewRow]) -> Result<(), CallError> {
    let numbers: Vec<_> = reviews.iter().map(|review| review.number).collect();
    let mut listed = broker.reader().list_details(&numbers).await?;
    for (review, row) in reviews.iter().zip(rows) {
        let ListedDetails { file_count, added, removed, open_issues } =
            listed.remove(&review.number).unwrap_or_default();
        let size = DiffSize { files: file_count, additions: added, deletions: removed };
        let mut details = RowDetails::new(review, size, &open_issues);
        set_lease_ends(broker, review, &mut details.seats);
        row.details = Some(details);
    }
    Ok(())
}

impl Service {
    /// The first page of pending reviews.
    pub(crate) async fn queue(&self, authz: Authorization<'_>) -> Result<JsonText, CallError> {
        let query = authz.limit_list(ListQuery { status: Some(Status::Pending), ..ListQuery::default() })?;
        let listing = self.broker.list(query.clone()).await?;
        let response = ListReviewsResponse { timed_out: None, ..fit(self, query, listing, false).await? };
        Ok(JsonText(serde_json::to_string(&response)?))
    }
}
