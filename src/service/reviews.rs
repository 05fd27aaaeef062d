//! Operations that create, revise, wait for, close and cancel reviews, and accept or reject their counter-patches.

use super::{Call, error::CallError, require_text, review_view::refuse_with_at};
use actors::{Broker, CommandOutcome};
use api::{
    ErrorBody, client_repo_header,
    decode::Malformed,
    reviews::{
        CancelReviewRequest, CloseReviewRequest, CounterPatchRequest, CreateReviewRequest, CreateReviewResponse,
        ReviewStatusRequest, ReviewStatusResponse, SeatState,
    },
};
use domain::review::{AcceptCounterPatch, Command, DEFAULT_PHASE, Proposer, Review, Role};
use git::ClientRepo;

/// What a proposal says of its work if the agent says nothing.
const DEFAULT_AGENT_ROLE: &str = "proposer";

pub(super) async fn create(
    call: &Call<'_>,
    mut request: CreateReviewRequest,
) -> Result<CreateReviewResponse, CallError> {
    if let Some(intent) = &request.intent {
        require_text("intent", intent)?;
    }
    call.broker.check_name("idempotency_key", request.idempotency_key.as_ref())?;
    // The id of a client's call begins with the client's name, so it never equals the key of a caller.
    let request_key = request.idempotency_key.take().map(|key| format!("key:{key}"));
    request.idempotency_key = request_key.or_else(|| call.context.client_call_id.clone());
    request.proposer_id = call.authz.identity_for("proposer_id", request.proposer_id.take())?;
    let is_revision = request.review_id.is_some();
    let CommandOutcome { review, changed, .. } = match &request.review_id {
        Some(given) => revise(call, given, &request).await?,
        None => propose(call, &request).await?,
    };
    let content = call.broker.content(&review.round.content_hash).await?;
    let names_seats = [&request.personas, &request.reviewers].into_iter().flatten().any(|names| !names.is_empty());
    let is_default_panel = !is_revision && !names_seats;
    // A repeat keeps the panel of the first call, even if the settings have changed.
    let panel_because = if changed && is_default_panel {
        call.broker.default_panel().choose(request.category, &content.files).reasons
    } else {
        Vec::new()
    };
    Ok(CreateReviewResponse::new(&review, &content, is_revision, panel_because))
}

async fn revise(call: &Call<'_>, given: &str, request: &CreateReviewRequest) -> Result<CommandOutcome, CallError> {
    let id = call.resolve(given).await?;
    let fixed = [
        ("personas", request.personas.is_some()),
        ("reviewers", request.reviewers.is_some()),
        ("policy", request.policy.is_some()),
        ("priority", request.priority.is_some()),
    ];
    if let Some((field, _)) = fixed.iter().find(|(_, given)| *given) {
        // An unknown review is the more useful error.
        call.broker.review(id).await?;
        let problem = "not allowed with review_id; a revision keeps the seats, policy and priority of its review";
        return Err(ErrorBody::invalid(field, problem).into());
    }
    Ok(call.broker.revise(id, request).await?)
}

async fn propose(call: &Call<'_>, request: &CreateReviewRequest) -> Result<CommandOutcome, CallError> {
    let client_repo = client_repo(call)?;
    required("intent", request.intent.as_ref())?;
    let proposer = Proposer {
        agent_type: required("agent_type", request.agent_type.as_ref())?,
        agent_role: or_default("agent_role", request.agent_role.as_ref(), DEFAULT_AGENT_ROLE)?,
        phase: or_default("phase", request.phase.as_ref(), DEFAULT_PHASE)?,
        plan: request.plan.clone(),
        task: request.task.clone(),
        project: call.authz.proposal_project(request.project.clone(), call.broker.own_project().as_deref())?,
        proposer_id: request.proposer_id.clone(),
    };
    let outcome = call.broker.create(&proposer, client_repo.as_ref(), request).await?;
    call.review.get_or_init(|| outcome.review.id);
    Ok(outcome)
}

fn required(field: &'static str, given: Option<&String>) -> Result<String, CallError> {
    let text = given.ok_or_else(|| Malformed::missing(field, "required unless review_id names a review to revise"))?;
    require_text(field, text)?;
    Ok(text.clone())
}

fn or_default(field: &'static str, given: Option<&String>, default: &str) -> Result<String, CallError> {
    let Some(text) = given else { return Ok(default.to_owned()) };
    require_text(field, text)?;
    Ok(text.clone())
}

fn client_repo(call: &Call<'_>) -> Result<Option<ClientRepo>, ErrorBody> {
    let Some(value) = call.context.client_repo else { return Ok(None) };
    let malformed =
        || ErrorBody::invalid(client_repo_header::HEADER.as_str(), "expected two paths in base64, joined by a dot");
    let (root, objects) = client_repo_header::decode(value).ok_or_else(malformed)?;
    Ok(Some(ClientRepo { root, objects }))
}

pub(super) async fn status(call: &Call<'_>, request: ReviewStatusRequest) -> Result<ReviewStatusResponse, CallError> {
    let others = [
        ("wait", request.wait == Some(true)),
        ("since", request.since.is_some()),
        ("timeout_seconds", request.timeout_seconds.is_some()),
    ];
    refuse_with_at(request.at, &others)?;
    let wait = call.wait(request.since, request.timeout_seconds)?;
    let name = call.authz.identity_for("caller_id", request.caller_id)?;
    let name = name.as_deref();
    if request.at.is_some() {
        // Leases and branches are only known for the present.
        let past = call.view(&request.review_id, request.at, name).await?;
        return Ok(ReviewStatusResponse::new(&past, name));
    }
    let id = call.resolve(&request.review_id).await?;
    let (review, timed_out) = if request.wait.unwrap_or(false) {
        let seen = call.broker.wait_review(id, wait, call.asker(name, request.role)?).await?;
        (seen.review, Some(seen.timed_out))
    } else {
        (call.broker.review(id).await?, None)
    };
    call.touch(&review, name).await;
    let mut response = ReviewStatusResponse { timed_out, ..ReviewStatusResponse::new(&review, name) };
    set_lease_ends(&call.broker, &review, &mut response.state.seats);
    response.branch_head = call.broker.branch_head(&review).await;
    Ok(response)
}

/// Fills in when the lease of each seat ends.
pub(super) fn set_lease_ends(broker: &Broker, review: &Review, seats: &mut [SeatState]) {
    for (seat, state) in review.seats.iter().zip(seats) {
        state.lease_ends_at = broker.lease_ends_at(seat).map(Into::into);
    }
}

pub(super) async fn close(call: &Call<'_>, request: CloseReviewRequest) -> Result<ReviewStatusResponse, CallError> {
    let role = match request.closer_role {
        None if call.has_no_role() => Role::Proposer,
        given => call.role("closer_role", given)?,
    };
    let landed_as = request.landed_as;
    if landed_as.as_deref().is_some_and(|id| !is_commit_id(id)) {
        return Err(
            ErrorBody::invalid("landed_as", "expected the full id of a commit: 40 or 64 hexadecimal digits").into()
        );
    }
    let identity = call.authz.identity_for("caller_id", request.caller_id)?;
    call.execute(&request.review_id, Command::Close { by: role, identity, landed_as }).await
}

fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) async fn cancel(call: &Call<'_>, request: CancelReviewRequest) -> Result<ReviewStatusResponse, CallError> {
    require_text("reason", &request.reason)?;
    let by = call.authz.identity_for("caller_id", request.caller_id)?;
    call.execute(&request.review_id, Command::Cancel { by, reason: request.reason }).await
}

pub(super) async fn accept_counter_patch(
    call: &Call<'_>,
    request: CounterPatchRequest,
) -> Result<ReviewStatusResponse, CallError> {
    let by = call.authz.identity_for("caller_id", request.caller_id)?;
    let accept = AcceptCounterPatch { by, persona: request.persona, patched: None };
    call.execute(&request.review_id, Command::AcceptCounterPatch(accept)).await
}

pub(super) async fn reject_counter_patch(
    call: &Call<'_>,
    request: CounterPatchRequest,
) -> Result<ReviewStatusResponse, CallError> {
    let by = call.authz.identity_for("caller_id", request.caller_id)?;
    call.execute(&request.review_id, Command::RejectCounterPatch { by, persona: request.persona }).await
}
