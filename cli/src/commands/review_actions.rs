//! The short commands that read or change one review: `status`, `claim`, `add-seat`, `release`, `comment`, `cancel` and
//! `close`.

use crate::{
    CliError,
    commands::{
        broker_process,
        watch_option::{WatchArgs, print_or_watch},
    },
    completion,
    error::possible_values,
    identity_args::{Caller, IdentityArgs},
    render::{execute_and_print, indented, one_line, review, style},
    review_args::{self, ReviewArgs},
    text_draft::settle,
    text_input::TextArgs,
};
use anyhow::anyhow;
use api::{
    claims::{AddSeatRequest, AddSeatResponse, ClaimRequest, ClaimResponse, ReleaseRequest},
    messages::{MessageRequest, MessageResponse},
    operation::{AddMessage, AddSeat, CancelReview, ClaimReview, CloseReview, ReleaseClaim, TakeOver},
    reviews::{CancelReviewRequest, CloseReviewRequest, ReviewStatusResponse},
};
use domain::{
    credential::Authority,
    finding::Location,
    review::{MessageAnchor, Recipient, Role},
    text::escape,
};
use git::UserRepo;

/// Files that are listed after a claim.
const MAX_FILES: usize = 20;

pub(crate) async fn status(args: WatchArgs) -> Result<(), CliError> {
    if !args.review.is_given() {
        return match args.watch {
            true => Err(CliError::usage(anyhow!("--watch needs a review: `countersign status R-12 --watch`"))),
            false => broker_process::status(args.review.broker()).await,
        };
    }
    let (caller, review_id) = args.review.find(None).await?;
    let fetch = async || caller.review(review_id.clone()).await;
    print_or_watch(&caller.client, args.watch, Some(review_id.clone()), review::status, fetch).await
}

#[derive(Debug, clap::Args)]
pub struct ClaimArgs {
    /// R-12, 12, an id or the beginning of one
    #[arg(add = completion::reviews())]
    review: String,
    /// Seat to take, if there are several [default: the first free one]
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
    persona: Option<String>,
    /// Take a seat over that is held: another reviewer's as an operator, or your own from another client
    #[arg(long)]
    take_over: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) async fn claim(args: ClaimArgs) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let (review_id, reviewer_id) = (review_args::id(&args.review), caller.acting_name()?);
    let request = ClaimRequest { review_id, reviewer_id, persona: args.persona };
    if args.take_over {
        return execute_and_print::<TakeOver>(&caller.client, &request, render_claim).await;
    }
    execute_and_print::<ClaimReview>(&caller.client, &request, render_claim).await
}

#[derive(Debug, clap::Args)]
pub struct AddSeatArgs {
    /// Persona of the new seat, or @NAME for one person or agent
    #[arg(long, value_name = "REVIEWER")]
    reviewer: String,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn add_seat(args: AddSeatArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(Some(Role::Proposer)).await?;
    let review = caller.review(review_id.clone()).await?;
    let role = caller.role(&review).map(|role| match role {
        Authority::Proposer => Authority::Proposer,
        Authority::Reviewer | Authority::Operator => Authority::Operator,
    });
    let caller_id = caller.acting_name()?;
    let request = AddSeatRequest { review_id, reviewer: args.reviewer, role, caller_id };
    let render = |response: &AddSeatResponse| {
        let reviewer = escape(&request.reviewer);
        let result = if response.added {
            format!("{reviewer} reviews it as well\n")
        } else {
            format!("it has a seat for {reviewer} already\n")
        };
        review::status(&response.review) + &result
    };
    execute_and_print::<AddSeat>(&caller.client, &request, render).await
}

fn render_claim(claim: &ClaimResponse) -> String {
    let number = claim.head.number;
    if claim.auto_rejected {
        let problem = one_line(claim.diff.validation_error.as_deref().unwrap_or_default());
        return format!("{number} was sent back: its diff does not apply\n{}", indented(&problem, 2));
    }
    let seat = escape(claim.seat.as_deref().unwrap_or_default());
    let head = format!("{number} is yours: seat {seat}, claim {}\n", claim.claim_generation);
    let steps = [("diff #", "what it changes"), ("respond #", "your verdict"), ("release #", "to give it back")];
    let work = review::work(&claim.proposer).map(|work| indented(&work.in_words(), 2)).unwrap_or_default();
    let intent = indented(&one_line(&claim.intent), 2) + &work + &review::conflict_with_head(&claim.diff);
    head + &intent + &review::files(&claim.files, MAX_FILES) + &review::commands(number, &steps)
}

#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Reason
    #[arg(long, short = 'm', value_name = "REASON")]
    message: Option<String>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn release(args: ReleaseArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(Some(Role::Reviewer)).await?;
    let reviewer_id = caller.acting_name()?;
    let request = ReleaseRequest { review_id, claim_generation: None, reviewer_id, reason: args.message };
    execute_and_print::<ReleaseClaim>(&caller.client, &request, review::status).await
}

#[derive(Debug, clap::Args)]
pub struct CommentArgs {
    #[command(flatten)]
    text: TextArgs,
    /// Seat of the discussion, if there are several
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
    persona: Option<String>,
    /// Write to all seats as the proposer, or to these parties as an operator
    #[arg(long, value_name = "PARTY", value_parser = possible_values::<Recipient>(), conflicts_with = "persona")]
    to: Option<Recipient>,
    /// Issue that the message is about
    #[arg(long, value_name = "I-41", add = completion::issues())]
    issue: Option<String>,
    /// File and lines that the message is about: PATH, PATH:3 or PATH:3-5; old:PATH:3 before the change; description:3
    #[arg(long, value_name = "PATH[:LINES]")]
    on: Option<String>,
    /// Role to write in [default: proposer for your own proposal, reviewer with a seat, else operator]
    #[arg(long, value_name = "ROLE", value_parser = possible_values::<Authority>())]
    role: Option<Authority>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn comment(args: CommentArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(None).await?;
    let review = caller.review(review_id).await?;
    let draft = args.text.draft(args.review.broker(), "comment", &review.head)?;
    let send = async {
        let text = args.text.read("the message", draft.as_ref()).await?;
        let mut request = message(&caller, &review, text)?;
        request.sender_role = args.role.or(request.sender_role);
        request.to = args.to;
        request.persona = args.persona.or(request.persona).filter(|_| args.to.is_none());
        request.anchor = anchor(args.issue, args.on.as_deref());
        execute_and_print::<AddMessage>(&caller.client, &request, render_message).await
    };
    settle(draft.as_ref(), send.await)
}

fn anchor(issue: Option<String>, on: Option<&str>) -> Option<MessageAnchor> {
    let on = on.map(|on| Location::parse(on).unwrap_or_else(|| Location::in_file(on, None)));
    let lines = on.as_ref().and_then(|on| on.lines);
    let anchor = MessageAnchor {
        issue,
        file: on.as_ref().and_then(Location::file).map(str::to_owned),
        line_start: lines.map(|lines| lines.start),
        line_end: lines.map(|lines| lines.end),
        side: on.as_ref().and_then(Location::old_side),
        text: on.as_ref().and_then(Location::other_text),
    };
    (anchor != MessageAnchor::default()).then_some(anchor)
}

/// A message to a review's discussion, from the caller's role and seat.
pub(crate) fn message(
    caller: &Caller,
    review: &ReviewStatusResponse,
    body: String,
) -> Result<MessageRequest, CliError> {
    Ok(MessageRequest {
        review_id: review.head.review_id.to_string(),
        sender_role: caller.role(review),
        body,
        persona: caller.seat(review).map(|seat| seat.persona.clone()),
        to: None,
        anchor: None,
        caller_id: caller.acting_name()?,
        metadata: None,
    })
}

fn render_message(message: &MessageResponse) -> String {
    let kind = if message.verdict.is_some() { "a verdict" } else { "a message" };
    let status = style::status(message.head.status).painted();
    let head = format!("{kind} of the {} in {}, which is {status}\n", message.sender_role, message.head.number);
    head + &review::waiting_on(&message.head.waiting_on)
}

#[derive(Debug, clap::Args)]
pub struct CancelArgs {
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn cancel(args: CancelArgs) -> Result<(), CliError> {
    let (caller, review) = args.review.find_own().await?;
    let draft = args.text.draft(args.review.broker(), "cancel", &review.head)?;
    let send = async {
        let reason = args.text.read("why it is no longer wanted", draft.as_ref()).await?;
        let review_id = review.head.review_id.to_string();
        let request = CancelReviewRequest { review_id, reason, caller_id: caller.acting_name()? };
        execute_and_print::<CancelReview>(&caller.client, &request, review::status).await
    };
    settle(draft.as_ref(), send.await)
}

#[derive(Debug, clap::Args)]
pub struct CloseArgs {
    /// Record the commit in which the approved change landed
    #[arg(long, value_name = "REF")]
    landed_as: Option<String>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn close(args: CloseArgs) -> Result<(), CliError> {
    let (caller, review) = args.review.find_own().await?;
    let landed_as = match args.landed_as {
        Some(name) => {
            let commit = UserRepo::at(caller.dir.clone()).resolve_commit(&name).await?;
            Some(commit.ok_or_else(|| CliError::usage(anyhow!("--landed-as {name}: no such commit here")))?)
        }
        None => None,
    };
    let review_id = review.head.review_id.to_string();
    let caller_id = caller.acting_name()?;
    let request = CloseReviewRequest { review_id, closer_role: Some(Role::Proposer), caller_id, landed_as };
    execute_and_print::<CloseReview>(&caller.client, &request, review::status).await
}
