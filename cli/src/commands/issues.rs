//! `countersign issues`: lists findings and changes their status.

use crate::{
    CliError,
    client::pagination,
    completion,
    error::{parse_optional, possible_values},
    identity_args::IdentityArgs,
    render::{execute_and_print, issue, print, review, style},
    review_args,
};
use anyhow::anyhow;
use api::{
    issues::{ListIssuesRequest, UpdateIssueRequest, UpdateIssueResponse},
    operation::UpdateIssue,
};
use domain::{
    credential::Authority,
    finding::{FindingStatus, RequestedStatus, Severity},
};

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
    #[arg(value_name = "REVIEW", add = completion::reviews())]
    review: Option<String>,
    /// Only open ones
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Only with this status: open, fixed, wont_fix or duplicate
    #[arg(long, value_name = "STATUS", add = completion::names::<FindingStatus>())]
    status: Option<String>,
    /// Only of this severity: critical, high, medium or low
    #[arg(long, value_name = "SEVERITY", add = completion::names::<Severity>())]
    severity: Option<String>,
    /// Only on this file
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only of this seat
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
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
    identity: IdentityArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Mark as fixed; from the proposer it asks the reviewer to confirm
    Fix(UpdateArgs),
    /// Mark as won't fix; the proposer gives the reason with -m
    WontFix(UpdateArgs),
    /// Proposer: dispute the issue, with the reason in -m
    Dispute(UpdateArgs),
    /// Reviewer: reopen or confirm as open
    Reopen(UpdateArgs),
    /// Reviewer: mark as duplicate of another issue of this review
    Duplicate(DuplicateArgs),
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    /// I-41
    #[arg(add = completion::issues())]
    issue: String,
    /// Reason
    #[arg(long, short = 'm', value_name = "TEXT")]
    message: Option<String>,
    /// Review of the issue [default: found by the issue]
    #[arg(long, value_name = "REVIEW", add = completion::reviews())]
    review: Option<String>,
    /// Role to act in [default: proposer for your own proposal, else reviewer]
    #[arg(long, value_name = "ROLE", value_parser = possible_values::<Authority>())]
    role: Option<Authority>,
    #[command(flatten)]
    identity: IdentityArgs,
}

#[derive(Debug, clap::Args)]
struct DuplicateArgs {
    #[command(flatten)]
    update: UpdateArgs,
    /// The other issue
    #[arg(long, value_name = "ISSUE")]
    of: String,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    match args.command {
        None => list(args.list).await,
        Some(Command::Fix(args)) => update(args, RequestedStatus::Fixed, None).await,
        Some(Command::WontFix(args)) => update(args, RequestedStatus::WontFix, None).await,
        Some(Command::Dispute(args)) => update(args, RequestedStatus::Disputed, None).await,
        Some(Command::Reopen(args)) => update(args, RequestedStatus::Open, None).await,
        Some(Command::Duplicate(args)) => update(args.update, RequestedStatus::Duplicate, Some(&args.of)).await,
    }
}

async fn list(args: ListArgs) -> Result<(), CliError> {
    let client = args.identity.broker.connect().await?;
    let status = args.status.as_deref().or(args.open.then_some("open"));
    let request = ListIssuesRequest {
        review_id: args.review.as_deref().map(review_args::id),
        status: parse_optional("status", status)?,
        severity: parse_optional("severity", args.severity.as_deref())?,
        file: args.file,
        persona: args.persona,
        include_suggestions: Some(args.suggestions),
        ..Default::default()
    };
    let found = pagination::issues(&client, &request, args.limit).await?;
    print(client.json, &found, |found| match found.issues.as_slice() {
        [] => "no issues\n".into(),
        issues if args.full => issues.iter().map(issue::details).collect::<Vec<_>>().join("\n"),
        issues => issue::list(issues, request.review_id.is_none()),
    })
}

async fn update(args: UpdateArgs, status: RequestedStatus, duplicate_of: Option<&str>) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let issue_id = number(&args.issue);
    let review_id = match &args.review {
        Some(given) => review_args::id(given),
        None => {
            let issue_id = Some(issue_id.clone());
            let request = ListIssuesRequest { issue_id, include_suggestions: Some(true), ..Default::default() };
            let found = pagination::issues(&caller.client, &request, 1).await?.issues.pop();
            let unknown = || anyhow!("no issue {}; run `countersign issues`", number(&args.issue));
            found.and_then(|issue| issue.number).ok_or_else(unknown)?.to_string()
        }
    };
    let review = caller.review(review_id).await?;
    let own_role = caller.role(&review).map(|role| match role {
        Authority::Proposer => Authority::Proposer,
        // To overrule a reviewer, an operator says so.
        Authority::Reviewer | Authority::Operator => Authority::Reviewer,
    });
    let request = UpdateIssueRequest {
        review_id: review.head.review_id.to_string(),
        issue_id,
        status,
        note: args.message,
        duplicate_of: duplicate_of.map(number),
        role: args.role.or(own_role),
        caller_id: caller.acting_name()?,
    };
    execute_and_print::<UpdateIssue>(&caller.client, &request, render_updated).await
}

/// Accepts `41` and `i-41` for I-41.
fn number(given: &str) -> String {
    let number = given.trim_start_matches(['I', 'i', '-']).parse::<u64>();
    number.map_or_else(|_| given.to_owned(), |number| format!("I-{number}"))
}

fn render_updated(response: &UpdateIssueResponse) -> String {
    let issue = response.issue.as_ref().map(issue::details).unwrap_or_default();
    let (number, status) = (response.head.number, style::status(response.head.status).painted());
    format!("{issue}{number} is {status}\n{}", review::waiting_on(&response.head.waiting_on))
}
