//! `countersign issues`: what reviewers have found, and what is to become of it.

use crate::{
    Failure,
    identity::By,
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
    /// Only of this review: R-12, 12, its id or the beginning of it
    #[arg(value_name = "REVIEW")]
    review: Option<String>,
    /// Only those that are open
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Only in this status: open, fixed, wont_fix or duplicate
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
    /// Suggestions as well
    #[arg(long)]
    suggestions: bool,
    /// Each with all that was said of it
    #[arg(long)]
    full: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    limit: usize,
    #[command(flatten)]
    by: By,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// It is fixed: said by its reviewer that settles it, by the proposer its reviewer is asked
    Fix(One),
    /// It stays as it is; the proposer says why with -m
    WontFix(One),
    /// Proposer: it is none, because … (-m)
    Dispute(One),
    /// Reviewer: it is not settled, or still stands
    Reopen(One),
    /// Reviewer: another issue of the same review says the same
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
    /// Why
    #[arg(long, short = 'm', value_name = "TEXT")]
    message: Option<String>,
    /// The review it was raised in [default: the one that has it]
    #[arg(long, value_name = "REVIEW")]
    review: Option<String>,
    /// As who [default: the proposer where it is your proposal, else the reviewer]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    #[command(flatten)]
    by: By,
}

#[derive(Debug, clap::Args)]
struct DuplicateArgs {
    #[command(flatten)]
    one: One,
    /// The issue that says the same
    #[arg(long, value_name = "ISSUE")]
    of: String,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        None => list(args.list).await,
        Some(Command::Fix(one)) => update(one, "fixed", None).await,
        Some(Command::WontFix(one)) => update(one, "wont_fix", None).await,
        Some(Command::Dispute(one)) => update(one, "disputed", None).await,
        Some(Command::Reopen(one)) => update(one, "open", None).await,
        Some(Command::Duplicate(args)) => update(args.one, "duplicate", Some(&args.of)).await,
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
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

async fn update(one: One, status: &str, duplicate_of: Option<&str>) -> Result<(), Failure> {
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

/// `41` and `i-41` are meant for I-41.
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
