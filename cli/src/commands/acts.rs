//! The short commands: one thing done to one review.

use crate::{
    Failure,
    commands::status,
    editor,
    identity::{By, Caller, Side},
    render::review,
    render::{indented, one_line, print, text},
    review_arg::Which,
};
use serde_json::{Value, json};

const FILES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct ClaimArgs {
    /// R-12, 12, its id or the beginning of it
    review: String,
    /// Which seat to take, where there are several [default: the first free one]
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn claim(args: ClaimArgs) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = crate::review_arg::id(&args.review);
    let what = json!({ "review_id": review, "reviewer_id": caller.speaks_as()?, "persona": args.persona });
    print(caller.json, &caller.call("claim_review", what).await?, claimed)
}

fn claimed(claimed: &Value) -> String {
    let number = text(claimed, "number");
    if claimed["auto_rejected"] == true {
        let words = one_line(claimed["validation_error"].as_str().unwrap_or_default());
        return format!("{number} was sent back: its diff does not apply\n{}", indented(&words, 2));
    }
    let head = format!("{number} is yours: seat {}, claim {}\n", text(claimed, "seat"), claimed["claim_generation"]);
    let intent = indented(&one_line(claimed["intent"].as_str().unwrap_or_default()), 2);
    let steps = [("diff", "what it changes"), ("respond", "your verdict"), ("release", "to give it back")];
    let steps = steps.map(|(word, why)| (format!("countersign {word} {number}"), why));
    head + &intent + &review::files(claimed, FILES) + &review::part("next") + &review::commands(&steps)
}

#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    which: Which,
    /// Why you give it back
    #[arg(long, short = 'm', value_name = "REASON")]
    message: Option<String>,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn release(args: ReleaseArgs) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = args.which.find(&caller, Side::Reviewer).await?;
    let what = json!({ "review_id": review, "reviewer_id": caller.speaks_as()?, "reason": args.message });
    print(caller.json, &caller.call("release_claim", what).await?, status::shown)
}

#[derive(Debug, clap::Args)]
pub struct CommentArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    text: editor::TextArgs,
    /// Which seat's discussion, where there are several
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    /// On which side [default: the proposer's where it is your proposal, else the reviewer's]
    #[arg(long, value_name = "ROLE")]
    role: Option<Side>,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn comment(args: CommentArgs) -> Result<(), Failure> {
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
) -> Result<Value, Failure> {
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

#[derive(Debug, clap::Args)]
pub struct CancelArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    text: editor::TextArgs,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn cancel(args: CancelArgs) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = caller.own(&args.which.find(&caller, Side::Proposer).await?).await?;
    let what =
        json!({ "review_id": review["review_id"], "reason": args.text.read("why it is no longer wanted").await? });
    print(caller.json, &caller.call("cancel_review", what).await?, status::shown)
}

#[derive(Debug, clap::Args)]
pub struct CloseArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    by: By,
}

pub(crate) async fn close(args: CloseArgs) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let review = caller.own(&args.which.find(&caller, Side::Proposer).await?).await?;
    let what = json!({ "review_id": review["review_id"], "closer_role": "proposer" });
    print(caller.json, &caller.call("close_review", what).await?, status::shown)
}
