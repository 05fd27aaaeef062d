//! The two slash commands: `propose` and `review`.

use super::{Endpoint, instructions};
use domain::review::Role;
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument, PromptMessage},
};
use serde_json::{Value, json};

/// Arguments end up in a prompt, so they stay short.
const MAX_ARGUMENT_CHARS: usize = 2_000;

const PROPOSE: &str = "propose";
const REVIEW: &str = "review";

pub(super) fn list(endpoint: Endpoint) -> Vec<Prompt> {
    let argument =
        |name: &str, description: &str| PromptArgument::new(name).with_description(description).with_required(false);
    let propose = Prompt::new(
        PROPOSE,
        Some("Submit the work at hand for review and see it through to a verdict."),
        Some(vec![argument("intent", "What the change is for. Left out: say it from the work at hand.")]),
    )
    .with_title("Propose a change");
    let review = Prompt::new(
        REVIEW,
        Some("Review one proposal, or the next one that waits."),
        Some(vec![
            argument("review_id", "The review (id, R-12 or prefix). Left out: the next in the queue."),
            argument("reviewer_id", "The name to review under. Left out: choose a stable one."),
        ]),
    )
    .with_title("Review a proposal");
    match endpoint.role() {
        None => vec![propose, review],
        Some(Role::Proposer) => vec![propose],
        Some(Role::Reviewer) => vec![review],
    }
}

pub(super) fn get(endpoint: Endpoint, request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let offered = list(endpoint);
    let Some(prompt) = offered.iter().find(|prompt| prompt.name == request.name) else {
        let known: Vec<_> = offered.iter().map(|prompt| prompt.name.as_str()).collect();
        let message = format!("unknown prompt; known: {}", known.join(", "));
        return Err(ErrorData::invalid_params(message, Some(json!({ "field": "name", "allowed": known }))));
    };
    let given = |name: &str| -> Option<String> {
        let text = request.arguments.as_ref()?.get(name).and_then(Value::as_str)?.trim();
        (!text.is_empty()).then(|| domain::text::truncate(text, MAX_ARGUMENT_CHARS).to_owned())
    };
    let text = if prompt.name == PROPOSE {
        let intent = given("intent").map_or_else(
            || "Say the intent from the work at hand.".to_owned(),
            |intent| format!("The intent: {intent}"),
        );
        format!(
            "Submit the work at hand to the Countersign broker for review, and see it through.\n\n{intent}\n\n{}",
            instructions::proposer()
        )
    } else {
        let which = given("review_id").map_or_else(
            || "Take the next pending review.".to_owned(),
            |id| format!("Review {id}: begin with claim_review."),
        );
        let name = given("reviewer_id").map_or_else(
            || "Choose a stable reviewer_id of your own and keep to it.".to_owned(),
            |id| format!("Your reviewer_id is {id}."),
        );
        format!(
            "Review one proposal of the Countersign broker, then stop. {which} {name}\n\n{}",
            instructions::reviewer()
        )
    };
    let result = GetPromptResult::new(vec![PromptMessage::new_text(rmcp::model::Role::User, text)]);
    Ok(match &prompt.description {
        Some(description) => result.with_description(description),
        None => result,
    }
    .into())
}
