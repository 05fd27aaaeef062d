//! The prompts `propose` and `review`, which clients show as slash commands.

use super::{Endpoint, instructions};
use api::placeholders::Placeholders;
use domain::review::Role;
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument, PromptMessage},
};
use serde_json::{Value, json};

/// Arguments become part of a prompt, so they stay short.
const MAX_ARGUMENT_CHARS: usize = 2_000;

const PROPOSE: &str = "propose";
const REVIEW: &str = "review";

pub(super) fn list(endpoint: Endpoint) -> Vec<Prompt> {
    let argument =
        |name: &str, description: &str| PromptArgument::new(name).with_description(description).with_required(false);
    let propose = Prompt::new(
        PROPOSE,
        Some("Submit the current work for review and follow it up to a verdict."),
        Some(vec![argument("intent", "What the change is for. Default: derived from the current work.")]),
    )
    .with_title("Propose a change");
    let review = Prompt::new(
        REVIEW,
        Some("Review one proposal, or the next one in the queue."),
        Some(vec![
            argument("review_id", "The review (id, R-12 or prefix). Default: the next in the queue."),
            argument("reviewer_id", "The name to review under. Default: choose a stable one."),
        ]),
    )
    .with_title("Review a proposal");
    match endpoint.role() {
        None => vec![propose, review],
        Some(Role::Proposer) => vec![propose],
        Some(Role::Reviewer) => vec![review],
    }
}

pub(super) fn get(
    endpoint: Endpoint,
    request: &GetPromptRequestParams,
    placeholders: &Placeholders,
) -> Result<GetPromptResponse, ErrorData> {
    let offered = list(endpoint);
    let Some(prompt) = offered.iter().find(|prompt| prompt.name == request.name) else {
        let known: Vec<_> = offered.iter().map(|prompt| prompt.name.as_str()).collect();
        let message = format!("unknown prompt; known: {}", known.join(", "));
        return Err(ErrorData::invalid_params(message, Some(json!({ "field": "name", "allowed": known }))));
    };
    let argument = |name: &str| -> Option<String> {
        let text = request.arguments.as_ref()?.get(name).and_then(Value::as_str)?.trim();
        (!text.is_empty()).then(|| domain::text::truncate(text, MAX_ARGUMENT_CHARS).to_owned())
    };
    let (task, instructions) = if prompt.name == PROPOSE {
        let intent = match argument("intent") {
            Some(intent) => format!("The intent: {intent}"),
            None => "Derive the intent from the current work.".to_owned(),
        };
        let task =
            format!("Submit the current work to the Countersign broker for review and follow it up.\n\n{intent}");
        (task, instructions::PROPOSER)
    } else {
        let review = match argument("review_id") {
            Some(id) => format!("Review {id}: start with claim_review."),
            None => "Take the next pending review.".to_owned(),
        };
        let name = match argument("reviewer_id") {
            Some(id) => format!("Your reviewer_id is {id}."),
            None => "Choose a stable reviewer_id of your own and keep it.".to_owned(),
        };
        let task = format!("Review one proposal of the Countersign broker, then stop. {review} {name}");
        (task, instructions::REVIEWER)
    };
    let text = format!("{task}\n\n{}", placeholders.fill(instructions));
    let result = GetPromptResult::new(vec![PromptMessage::new_text(rmcp::model::Role::User, text)]);
    Ok(match &prompt.description {
        Some(description) => result.with_description(description),
        None => result,
    }
    .into())
}
