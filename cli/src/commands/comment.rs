//! `countersign comment`: adds a message to the discussion of a review.

use crate::{
    CliError, editor,
    identity::{Caller, IdentityArgs, Side},
    render::{print, text},
    review_arg::ReviewArg,
};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    #[command(flatten)]
    text: editor::TextArgs,
    /// Seat of the discussion, if there are several
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    /// Role to write in [default: proposer for your own proposal, else reviewer]
    #[arg(long, value_name = "ROLE")]
    role: Option<Side>,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find_any(&caller).await?;
    let review = caller.call("get_review_status", json!({ "review_id": which })).await?;
    let body = args.text.read("the message").await?;
    let said = say(&caller, &review, args.role, args.persona.as_deref(), body).await?;
    print(caller.json, &said, |said| {
        let role = text(said, "sender_role");
        let as_what = if said["verdict"].is_string() { "a verdict" } else { "a message" };
        format!("{as_what} of the {role} in {}, which is {}\n", text(said, "number"), status_word(said))
    })
}

/// Adds a message to a review's discussion.
pub(crate) async fn say(
    caller: &Caller,
    review: &Value,
    role: Option<Side>,
    persona: Option<&str>,
    body: String,
) -> Result<Value, CliError> {
    let seat = persona.map(str::to_owned).or_else(|| caller.seat(review));
    let what = json!({
        "review_id": review["review_id"], "sender_role": caller.role(review, role), "caller_id": caller.speaks_as()?,
        "persona": seat, "body": body,
    });
    caller.call("add_message", what).await
}

fn status_word(of: &Value) -> String {
    crate::render::style::status(of["status"].as_str().unwrap_or_default()).painted()
}
