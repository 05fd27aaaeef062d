//! `countersign issues`: lists findings and changes their status.

use crate::{
    CliError,
    identity::IdentityArgs,
    render::issue,
    render::{print, rows, style, text},
    review_arg as which,
};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only of this review: R-12, 12, an id or the beginning of one
    #[arg(value_name = "REVIEW")]
    review: Option<String>,
    /// Only open ones
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Only with this status: open, fixed, wont_fix or duplicate
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only of this severity: critical, high, medium or low
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// Only on this file
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only of this seat
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    /// Include suggestions
    #[arg(long)]
    suggestions: bool,
    /// Print all details
    #[arg(long)]
    full: bool,
    /// Maximum number of findings
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    limit: usize,
    #[command(flatten)]
    by: IdentityArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Mark as fixed; from the proposer it asks the reviewer to confirm
    Fix(One),
    /// Mark as won't fix; the proposer gives the reason with -m
    WontFix(One),
    /// Proposer: dispute the issue, with the reason in -m
    Dispute(One),
    /// Reviewer: reopen or confirm as open
    Reopen(One),
    /// Reviewer: mark as duplicate of another issue of this review
    Duplicate(DuplicateArgs),
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Role {
    Proposer,
    Reviewer,
    Operator,
}

#[derive(Debug, clap::Args)]
struct One {
    /// I-41
    issue: String,
    /// Reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    message: Option<String>,
    /// Review of the issue [default: found by the issue]
    #[arg(long, value_name = "REVIEW")]
    review: Option<String>,
    /// Role to act in [default: proposer for your own proposal, else reviewer]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    #[command(flatten)]
    by: IdentityArgs,
}

#[derive(Debug, clap::Args)]
struct DuplicateArgs {
    #[command(flatten)]
    one: One,
    /// The other issue
    #[arg(long, value_name = "ISSUE")]
    of: String,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    match args.command {
        None => list(args.list).await,
        Some(Command::Fix(one)) => update(one, "fixed", None).await,
        Some(Command::WontFix(one)) => update(one, "wont_fix", None).await,
        Some(Command::Dispute(one)) => update(one, "disputed", None).await,
        Some(Command::Reopen(one)) => update(one, "open", None).await,
        Some(Command::Duplicate(args)) => update(args.one, "duplicate", Some(&args.of)).await,
    }
}

async fn list(args: ListArgs) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let what = json!({
        "review_id": args.review.as_deref().map(which::id), "severity": args.severity, "file": args.file,
        "status": if args.open { Some("open") } else { args.status.as_deref() }, "persona": args.persona,
        "include_suggestions": args.suggestions,
    });
    let found = caller.remote.pages("list_issues", what, "issues", args.limit).await?;
    let of_all = args.review.is_none();
    print(caller.json, &found, |found| match rows(found, "issues") {
        [] => "no issues\n".into(),
        issues if args.full => issues.iter().map(issue::whole).collect::<Vec<_>>().join("\n"),
        issues => issue::list(issues, of_all),
    })
}

async fn update(one: One, status: &str, duplicate_of: Option<&str>) -> Result<(), CliError> {
    let caller = one.by.begin().await?;
    let issue = number(&one.issue);
    let review = match &one.review {
        Some(given) => which::id(given),
        None => which::of_issue(&caller, &issue).await?,
    };
    let review = caller.call("get_review_status", json!({ "review_id": review })).await?;
    let role = match one.role {
        None => caller.role(&review, None),
        Some(Role::Proposer) => "proposer",
        Some(Role::Reviewer) => "reviewer",
        Some(Role::Operator) => "operator",
    };
    let what = json!({
        "review_id": review["review_id"], "issue_id": issue, "status": status, "note": one.message, "role": role,
        "caller_id": caller.speaks_as()?, "duplicate_of": duplicate_of.map(number),
    });
    print(caller.json, &caller.call("update_issue", what).await?, updated)
}

/// Accepts `41` and `i-41` for I-41.
fn number(given: &str) -> String {
    let digits = given.trim_start_matches(['I', 'i', '-']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("I-{digits}")
    } else {
        given.to_owned()
    }
}

fn updated(answer: &Value) -> String {
    let status = style::status(answer["status"].as_str().unwrap_or_default()).painted();
    issue::whole(&answer["issue"]) + &format!("{} is {status}\n", text(answer, "number"))
}
