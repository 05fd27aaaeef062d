//! Operations that claim a seat of a review and release it.

use super::{Call, error::CallError, proposals::page_budget, require_text};
use actors::{CommandOutcome, ReviewerCredential};
use api::{
    ErrorBody, ErrorCode,
    claims::{AddSeatRequest, AddSeatResponse, ClaimRequest, ClaimResponse, PersonaBrief, ReleaseRequest},
    decode::Malformed,
    diffs::Files,
    messages::Message,
    reviews::ReviewStatusResponse,
};
use domain::{
    credential::Authority,
    persona::Persona,
    query_types::ConventionsFile,
    review::{AddSeat, ClaimSeat, Command, ReleaseSeat, Review},
};

/// The end of a prompt holds the broker's instructions on how to report, so that much of it is never cut.
const PROMPT_END_CHARS: usize = 4_000;

/// Characters of all files with conventions together.
const MAX_CONVENTION_CHARS: usize = 12_000;

/// Messages that a claim shows to a seat that comes back, and how much of each.
const MAX_NEW_MESSAGES: usize = 20;
const MAX_MESSAGES_READ: u32 = 200;
const MAX_MESSAGE_CHARS: usize = 500;

pub(super) async fn claim(call: &Call<'_>, request: ClaimRequest) -> Result<ClaimResponse, CallError> {
    claim_seat(call, request, false).await
}

/// An operator may take any seat over, every other caller only its own.
pub(super) async fn take_over(call: &Call<'_>, request: ClaimRequest) -> Result<ClaimResponse, CallError> {
    claim_seat(call, request, true).await
}

async fn claim_seat(call: &Call<'_>, request: ClaimRequest, takes_over: bool) -> Result<ClaimResponse, CallError> {
    let reviewer_id = call.authz.identity_for("reviewer_id", request.reviewer_id)?;
    let missing = || Malformed::missing("reviewer_id", "required unless a token says who you are");
    let reviewer_id = reviewer_id.ok_or_else(missing)?;
    require_text("reviewer_id", &reviewer_id)?;
    let id = call.resolve(&request.review_id).await?;
    let (broker, credential) = (&call.broker, call.authz.credential());
    let _claiming = credential.map(ReviewerCredential::claim);
    // It may repeat a claim that it holds already, because the response may have been lost.
    if credential.is_some_and(ReviewerCredential::is_draining) && !broker.review(id).await?.is_held_by(&reviewer_id) {
        let error = "the broker is stopping this reviewer; claim nothing new and end now";
        return Err(ErrorBody::new(ErrorCode::Draining, error).into());
    }
    let takes_over = match takes_over {
        true => Some(take_over_authority(call, &*broker.review(id).await?, &reviewer_id)?),
        false => None,
    };
    let bound_to = credential.and_then(ReviewerCredential::persona);
    let pool_personas = broker.personas_kept_from(bound_to);
    if let Some(given) = request.persona.as_deref().filter(|given| bound_to.is_some_and(|own| own != *given)) {
        let own = bound_to.unwrap_or_default();
        let error = format!("this agent takes only seats of the persona {own}, not {given:?}; claim without persona");
        return Err(ErrorBody::new(ErrorCode::HasOwnSeat, error).with("seat", own).into());
    }
    let persona = request.persona.or_else(|| bound_to.map(str::to_owned));
    let claim = ClaimSeat { by: reviewer_id, persona, takes_over, check: None, pool_personas };
    let CommandOutcome { review, reply, .. } = broker.execute(id, Command::Claim(claim)).await?;
    let content = broker.content(&review.round.content_hash).await?;
    let seat = reply.seat(&review);
    let mut response = ClaimResponse::new(&review, &content, seat);
    if let (Some(re_review), Some(last_act)) = (&mut response.re_review, seat.and_then(|seat| seat.last_act)) {
        let page = broker.reader().list_messages(review.at_version(), None, last_act, MAX_MESSAGES_READ).await?;
        let concerns = |message: &Message| message.persona.is_none() || message.persona == response.seat;
        let mut messages: Vec<_> = page.items.into_iter().filter(concerns).map(shortened).collect();
        re_review.messages = messages.split_off(messages.len().saturating_sub(MAX_NEW_MESSAGES));
    }
    if let (Some(_), Some(_), Some(identity)) = (credential, seat, call.authz.identity()) {
        let workspace = broker.check_out(&review, identity).await;
        response.workspace = workspace.map(|folder| folder.display().to_string());
    }
    if let Some(persona) = response.seat.as_deref().and_then(|seat| broker.persona(seat)) {
        response.ignored_files = ignored_files(persona, &response.files);
        let max_chars = page_budget(Some(&response), call.service.settings())?;
        response.persona = Some(PersonaBrief {
            focus: persona.focus.clone(),
            prompt: without_middle(&persona.prompt, max_chars),
            ignore: persona.ignore.to_vec(),
        });
    }
    if seat.is_some() {
        let files = broker.conventions(&review, &content).await;
        let max_chars = page_budget(Some(&response), call.service.settings())?.min(MAX_CONVENTION_CHARS);
        let each = max_chars / files.len().max(1);
        let shortened = |file: ConventionsFile| ConventionsFile { text: without_middle(&file.text, each), ..file };
        response.conventions = files.into_iter().map(shortened).collect();
    }
    Ok(response)
}

/// A reviewer takes its own seat over from another client; every other seat needs an operator.
fn take_over_authority(call: &Call<'_>, review: &Review, reviewer: &str) -> Result<Authority, ErrorBody> {
    let is_operator = call.context.endpoint_role.is_none()
        && call.authz.authority().is_none_or(|authority| authority == Authority::Operator);
    if review.is_held_by(reviewer) {
        return Ok(Authority::Reviewer);
    }
    if is_operator {
        return Ok(Authority::Operator);
    }
    let error = "only an operator can take over the seat of another reviewer; claim a free seat with claim_review";
    Err(ErrorBody::new(ErrorCode::WrongRole, error))
}

/// The start of a message. get_discussion returns the rest.
fn shortened(mut message: Message) -> Message {
    let total = message.body.chars().count();
    if total > MAX_MESSAGE_CHARS {
        message.body = domain::text::truncate(&message.body, MAX_MESSAGE_CHARS).to_owned();
        message.body_total = Some(total);
    }
    message
}

pub(super) async fn add_seat(call: &Call<'_>, request: AddSeatRequest) -> Result<AddSeatResponse, CallError> {
    require_text("reviewer", &request.reviewer)?;
    // Without a token and a role the caller is the proposer, as in the other calls about its review.
    let given = match (request.role, call.authz.authority()) {
        (None, None) => Some(Authority::Proposer),
        (role, _) => role,
    };
    let role = call.acting_role("role", given)?;
    let by = call.acting_name(role, request.caller_id)?;
    let id = call.resolve(&request.review_id).await?;
    let command = Command::AddSeat(AddSeat { role, by: by.clone(), persona: request.reviewer });
    let CommandOutcome { review, changed, .. } = call.broker.execute(id, command).await?;
    Ok(AddSeatResponse { added: changed, review: ReviewStatusResponse::new(&review, by.as_deref()) })
}

/// The listed files that a persona does not review. A renamed file counts by its new name.
pub(super) fn ignored_files(persona: &Persona, files: &Files) -> Vec<String> {
    let paths = files.affected_files.iter().map(|file| &file.path);
    paths.filter(|path| persona.ignore.matches(path)).cloned().collect()
}

/// At most `max_chars` characters of a prompt: its start and its end.
fn without_middle(prompt: &str, max_chars: usize) -> String {
    let total = prompt.chars().count();
    if total <= max_chars {
        return prompt.to_owned();
    }
    let tail = PROMPT_END_CHARS.min(max_chars / 2);
    let start: String = prompt.chars().take(max_chars - tail).collect();
    let end: String = prompt.chars().skip(total - tail).collect();
    format!("{start}… [{max_chars} of {total} characters; the middle is left out] …{end}")
}

pub(super) async fn release(call: &Call<'_>, request: ReleaseRequest) -> Result<ReviewStatusResponse, CallError> {
    let generation = request.claim_generation;
    let (by, id) = call.identify_claim(&request.review_id, request.reviewer_id, generation).await?;
    // A dedicated reviewer would be started for the same seat again and again, so an operator is asked.
    let gave_up = call.authz.scope().is_some_and(|scope| scope.only_review().is_some());
    let release = ReleaseSeat { by, generation, reason: request.reason, gave_up };
    let name = release.by.clone();
    let outcome = call.broker.execute(id, Command::Release(release)).await?;
    Ok(ReviewStatusResponse::new(&outcome.review, name.as_deref()))
}
