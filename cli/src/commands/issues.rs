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
    issues::{CountIssuesRequest, IssueOrder, ListIssuesRequest, UpdateIssueRequest, UpdateIssueResponse},
    operation::{CountIssues, UpdateIssue},
};
use domain::{
    StringEnum,
    credential::Authority,
    finding::{FindingKind, FindingStatus, RequestedStatus, Severity},
    query_types::FindingGroupBy,
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
    /// Only with this status: open, fixed, wont_fix or duplicate; repeat it for several
    #[arg(long, value_name = "STATUS", add = completion::names::<FindingStatus>())]
    status: Vec<String>,
    /// Only of this severity: critical, high, medium or low; repeat it for several
    #[arg(long, value_name = "SEVERITY", add = completion::names::<Severity>())]
    severity: Vec<String>,
    /// Only of this type, such as bug or security
    #[arg(long = "type", value_name = "TYPE", value_parser = possible_values::<FindingKind>())]
    kind: Option<FindingKind>,
    /// Only those that block an approval
    #[arg(long)]
    blocking: bool,
    /// Only of reviews that are neither cancelled nor closed
    #[arg(long)]
    open_reviews: bool,
    /// Only of this project
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
    project: Option<String>,
    /// Only those that this reviewer has raised
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,
    /// Only those that contain these words
    #[arg(long, short = 'q', value_name = "WORDS")]
    search: Option<String>,
    /// Blocking and severe ones first [default: the newest first]
    #[arg(long)]
    by_urgency: bool,
    /// Print counts by file, severity, persona, reviewer, review, status, type or project
    #[arg(long, value_name = "WHAT", value_parser = possible_values::<FindingGroupBy>())]
    group_by: Option<FindingGroupBy>,
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
    let given: Vec<_> = if args.open { vec!["open".to_owned()] } else { args.status };
    let request = ListIssuesRequest {
        review_id: args.review.as_deref().map(review_args::id),
        statuses: parse_several("status", &given)?,
        severities: parse_several("severity", &args.severity)?,
        kind: args.kind,
        blocks: args.blocking.then_some(true),
        open_reviews: args.open_reviews.then_some(true),
        project: args.project,
        reviewer: args.reviewer,
        q: args.search,
        order: args.by_urgency.then_some(IssueOrder::Blocking),
        file: args.file,
        persona: args.persona,
        include_suggestions: Some(args.suggestions),
        ..Default::default()
    };
    if let Some(group_by) = args.group_by {
        // Counts have no order.
        let filter = ListIssuesRequest { order: None, ..request };
        return execute_and_print::<CountIssues>(&client, &CountIssuesRequest { group_by, filter }, issue::groups)
            .await;
    }
    let found = pagination::issues(&client, &request, args.limit).await?;
    print(client.json, &found, |found| match found.issues.as_slice() {
        [] => "no issues\n".into(),
        issues if args.full => issues.iter().map(issue::details).collect::<Vec<_>>().join("\n"),
        issues => issue::list(issues, request.review_id.is_none()),
    })
}

/// `None` if none is given.
fn parse_several<T: StringEnum>(name: &str, given: &[String]) -> Result<Option<Vec<T>>, CliError> {
    let values = given.iter().map(|value| parse_optional(name, Some(value.as_str())));
    let values: Vec<T> = values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    Ok((!values.is_empty()).then_some(values))
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
