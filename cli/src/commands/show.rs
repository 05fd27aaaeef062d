//! `countersign show`: prints everything about one review.

use crate::{
    CliError,
    client::pagination as whole,
    commands::watch,
    identity::{Caller, IdentityArgs},
    render::issue,
    render::review,
    render::{
        age, indented, one_line, print, rows,
        style::{self, DIM, paint},
        text,
    },
    review_arg::ReviewArg,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    /// Redraw at every event of the review until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find_any(&caller).await?;
    if args.watch {
        let filter = [("review", which.clone())];
        return watch::redraw(&args.by.at, &filter, shown, async || everything(&args.by.begin().await?, &which).await)
            .await;
    }
    print(caller.json, &everything(&caller, &which).await?, shown)
}

/// The review as text without colours.
pub(crate) async fn text_of(caller: &Caller, which: &str) -> Result<String, CliError> {
    Ok(anstream::adapter::strip_str(&shown(&everything(caller, which).await?)).to_string())
}

async fn everything(caller: &Caller, which: &str) -> Result<Value, CliError> {
    let remote = &caller.remote;
    let review = remote.call("get_review_status", json!({ "review_id": which })).await?;
    let id = text(&review, "review_id");
    let proposal = whole::proposal(remote, json!({ "review_id": id })).await?;
    let of = json!({ "review_id": id, "include_suggestions": true });
    let mut issues = remote.pages("list_issues", of, "issues", usize::MAX).await?;
    let messages = whole::discussion(remote, &id).await?;
    let verdicts = whole::verdicts(remote, &proposal).await?;
    Ok(json!({
        "review": review, "proposal": proposal, "verdicts": verdicts, "issues": issues["issues"].take(),
        "messages": messages,
    }))
}

fn shown(all: &Value) -> String {
    let (review, proposal) = (&all["review"], &all["proposal"]);
    let mut out = review::head(review) + &review::about(review, Some(proposal));
    out.push_str(&review::consensus(review));
    out.push_str(&review::part("seats"));
    out.push_str(&review::seats(review));
    let files = review::files(proposal, usize::MAX);
    if !files.is_empty() {
        out.push_str(&review::part("files"));
        out.push_str(&files);
    }
    if let Some(description) = proposal["description"].as_str() {
        out.push_str(&review::part("description"));
        out.push_str(&indented(description, 2));
    }
    verdicts(&mut out, rows(all, "verdicts"));
    let issues = rows(all, "issues");
    if !issues.is_empty() {
        out.push_str(&review::part("issues"));
        out.push_str(&issue::list(issues, false));
    }
    messages(&mut out, rows(all, "messages"));
    counter_patch(&mut out, proposal);
    out.push_str(&review::next(review));
    out
}

fn verdicts(out: &mut String, verdicts: &[Value]) {
    if !verdicts.is_empty() {
        out.push_str(&review::part("verdicts"));
    }
    for said in verdicts {
        let verdict = style::verdict(said["verdict"].as_str()).painted();
        let (by, seat) = (text(said, "reviewer_id"), text(said, "persona"));
        let when = paint(DIM, &format!("round {}, {} ago", said["round"], age(said, "at")));
        let _ = writeln!(out, "  {verdict}  {by} ({seat})  {when}");
        for key in ["summary", "reason"] {
            if let Some(words) = said[key].as_str() {
                out.push_str(&indented(words, 4));
            }
        }
    }
}

fn messages(out: &mut String, messages: &[Value]) {
    if !messages.is_empty() {
        out.push_str(&review::part("discussion"));
    }
    for message in messages {
        let role = text(message, "sender_role");
        let by = message["caller_id"].as_str().map_or_else(|| role.clone(), |by| format!("{} ({role})", one_line(by)));
        let when = format!("{}, round {}, {} ago", text(message, "persona"), message["round"], age(message, "at"));
        let _ = writeln!(out, "  {by}  {}", paint(DIM, &when));
        out.push_str(&indented(message["body"].as_str().unwrap_or_default(), 4));
    }
}

fn counter_patch(out: &mut String, proposal: &Value) {
    let Some(patch) = proposal["counter_patch"].as_str() else { return };
    out.push_str(&review::part("counter-patch"));
    let (by, seat, state) = ("counter_patch_by", "counter_patch_persona", "counter_patch_status");
    let lines = patch.lines().count();
    let words = format!("{}: {} ({}), {lines} lines", text(proposal, state), text(proposal, by), text(proposal, seat));
    out.push_str(&indented(&words, 2));
}
