//! `countersign show`: prints everything about one review.

use crate::{
    CliError,
    client::pagination,
    commands::watch_option::{WatchArgs, print_or_watch},
    identity_args::Caller,
    render::{
        format_age, format_local, indented, issue, one_line, review,
        style::{self, DIM, paint},
    },
};
use api::{
    issues::Issue,
    messages::DiscussionRequest,
    messages::Message,
    operation::GetProposal,
    pages,
    proposals::{Iteration, ProposalRequest, ProposalResponse},
    reviews::ReviewStatusResponse,
};
use domain::{
    review::{AnchoredText, DiffSide, MessageAnchor},
    text::escape,
};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The review as it was after this event: a number of `countersign timeline`
    #[arg(long, value_name = "EVENT", conflicts_with = "watch")]
    at: Option<u64>,
    #[command(flatten)]
    watch: WatchArgs,
}

pub(crate) async fn run(ShowArgs { at, watch: args }: ShowArgs) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(None).await?;
    let fetch = async || fetch(&caller, &review_id, at).await;
    let render = |details: &ReviewDetails| match at {
        None => render(details) + &review::next(&details.review.head, details.review.state.diff.has_diff),
        Some(at) => as_it_was(at, &details.review) + &render(details),
    };
    print_or_watch(&caller.client, args.watch, Some(review_id.clone()), render, fetch).await
}

/// `as it was after event 12, 2026-11-16 10:00:00`
fn as_it_was(at: u64, review: &ReviewStatusResponse) -> String {
    paint(DIM, &format!("as it was after event {at}, {}\n", format_local(review.state.updated_at)))
}

/// Everything about a review.
#[derive(Serialize)]
struct ReviewDetails {
    review: ReviewStatusResponse,
    proposal: ProposalResponse,
    /// Of all rounds, the newest first.
    verdicts: Vec<Iteration>,
    issues: Vec<Issue>,
    messages: Vec<Message>,
}

/// A review as text without colours, with its diff.
pub(crate) struct ReviewInFull {
    pub(crate) text: String,
    /// The content that the text shows.
    pub(crate) content_hash: String,
}

pub(crate) async fn in_full(caller: &Caller, review_id: &str) -> Result<ReviewInFull, CliError> {
    let details = fetch(caller, review_id, None).await?;
    let shown = render(&details) + &review::next(&details.review.head, details.review.state.diff.has_diff);
    let mut text = anstream::adapter::strip_str(&shown).to_string();
    if let Some(diff) = &details.proposal.diff {
        let _ = write!(text, "\ndiff\n{diff}");
    }
    Ok(ReviewInFull { text, content_hash: details.proposal.content_hash.to_string() })
}

/// `at`: as it was after this event.
async fn fetch(caller: &Caller, review_id: &str, at: Option<u64>) -> Result<ReviewDetails, CliError> {
    let client = &caller.client;
    let review = caller.review_at(review_id.to_owned(), at).await?;
    let id = review.head.review_id.to_string();
    let request = ProposalRequest { review_id: id.clone(), at, ..Default::default() };
    let proposal = pages::proposal(client, request.clone()).await?;
    let mut verdicts = proposal.details.as_ref().map(|details| details.iterations.clone()).unwrap_or_default();
    for round in (1..proposal.head.current_round).rev() {
        let request = ProposalRequest { round: Some(round), ..request.clone() };
        let earlier = client.execute::<GetProposal>(&request).await?;
        verdicts.extend(earlier.details.into_iter().flat_map(|details| details.iterations));
    }
    let issues = pagination::issues_of_review(client, &id, at).await?.issues;
    let messages = pages::discussion(client, DiscussionRequest { review_id: id, at, ..Default::default() }).await?;
    Ok(ReviewDetails { review, proposal, verdicts, issues, messages })
}

fn render(details: &ReviewDetails) -> String {
    let ReviewDetails { review, proposal, .. } = details;
    let files = proposal.details.as_ref().map(|details| &details.files);
    let mut out =
        review::head(review, files) + &review::decision(review) + &review::waiting_on(&review.head.waiting_on);
    let description = proposal.description.as_deref().map(|description| indented(description, 2));
    let sections = [
        ("seats", review::seats(&review.state.seats)),
        ("files", files.map(|files| review::files(files, usize::MAX)).unwrap_or_default()),
        ("description", description.unwrap_or_default()),
        ("verdicts", details.verdicts.iter().map(verdict).collect()),
        ("issues", if details.issues.is_empty() { String::new() } else { issue::list(&details.issues, false) }),
        ("discussion", details.messages.iter().map(message).collect()),
        ("counter-patch", counter_patch(proposal)),
    ];
    for (title, section) in sections.into_iter().filter(|(_, section)| !section.is_empty()) {
        let _ = write!(out, "{}{section}", review::heading(title));
    }
    out
}

fn verdict(given: &Iteration) -> String {
    let verdict = style::verdict(Some(given.verdict)).painted();
    let (reviewer, seat) = (escape(&given.reviewer_id), escape(&given.persona));
    let when = paint(DIM, &format!("round {}, {} ago", given.round, format_age(given.at)));
    let texts = [&given.summary, &given.reason].into_iter().flatten().map(|text| indented(text, 4));
    format!("  {verdict}  {reviewer} ({seat})  {when}\n{}", texts.collect::<String>())
}

fn message(message: &Message) -> String {
    let role = message.sender_role;
    let author = message.caller_id.as_deref().map(|name| format!("{} ({role})", one_line(name)));
    let author = author.unwrap_or_else(|| role.to_string());
    let place = match (&message.persona, message.to) {
        (Some(seat), _) => escape(seat).into_owned(),
        (None, Some(to)) => format!("to {to}"),
        (None, None) => String::new(),
    };
    let anchor = message.anchor.as_ref().map(anchor).unwrap_or_default();
    let when = format!("{place}, round {}, {} ago{anchor}", message.round, format_age(message.at));
    format!("  {author}  {}\n{}", paint(DIM, &when), indented(&message.body, 4))
}

/// `, on src/a.rs:3-4 (old)` or `, on I-4`
fn anchor(anchor: &MessageAnchor) -> String {
    let lines = match (anchor.line_start, anchor.line_end) {
        (Some(start), Some(end)) if end > start => format!(":{start}-{end}"),
        (Some(start), _) => format!(":{start}"),
        (None, _) => String::new(),
    };
    let file = match (&anchor.file, anchor.text) {
        (Some(file), _) => Some(format!("{}{lines}", one_line(file))),
        (None, Some(AnchoredText::Description)) => Some(format!("the description{lines}")),
        (None, _) => None,
    };
    let side = if anchor.side == Some(DiffSide::Old) { " (old)" } else { "" };
    let parts: Vec<_> = [anchor.issue.as_deref().map(one_line), file].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(", on {}{side}", parts.join(", ")) }
}

fn counter_patch(proposal: &ProposalResponse) -> String {
    let Some(patch) = &proposal.counter_patch else { return String::new() };
    let facts = [&proposal.counter_patch_status, &proposal.counter_patch_by, &proposal.counter_patch_persona];
    let [status, reviewer, seat] = facts.map(|fact| fact.as_deref().unwrap_or_default());
    indented(&format!("{status}: {reviewer} ({seat}), {} lines", patch.lines().count()), 2)
}
