//! `countersign request` and `countersign resubmit`: propose the current branch or another change for review, or the next
//! round of a review.

pub(crate) mod source;

use crate::{
    CliError,
    commands::wait::{self, WaitArgs},
    error::{parse_optional, parse_variant},
    identity::{Caller, IdentityArgs},
    render::{
        indented, one_line, print, review,
        style::{self, BOLD, paint},
    },
    review_args::{ReviewArgs, proposals_of_branch},
    terminal,
};
use anyhow::anyhow;
use api::{
    operation::{CreateReview, GetProposal},
    proposals::ProposalRequest,
    reviews::{CreateReviewRequest, CreateReviewResponse, ReviewStatusResponse},
};
use domain::{
    consensus::{PolicyRequest, RuleName},
    priority::Priority,
    review::{Status, TargetKind},
    text::escape,
};
use source::{Source, read_file};
use std::{fmt::Write as _, path::PathBuf};

const MAX_FILES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct RequestArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    text: DescriptionArgs,
    /// Propose only what is new since the last review of this branch: revises the open review, or starts after the last approval
    #[arg(long, conflicts_with = "source")]
    incremental: bool,
    /// Personas that review it, one seat each [default: the default panel of the broker]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    reviewers: Vec<String>,
    /// Consensus policy: require_all, majority, or the number of required approvals
    #[arg(long, value_name = "RULE")]
    policy: Option<String>,
    /// Priority in the queue: critical, normal or low [default: by category]
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// plan_review, code_change, verification or handoff
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Kind of agent that proposes
    #[arg(long, value_name = "TYPE", default_value = "cli")]
    agent_type: String,
    /// Role of the agent
    #[arg(long, value_name = "ROLE", default_value = "proposer")]
    agent_role: String,
    /// Phase of the work
    #[arg(long, value_name = "PHASE", default_value = "work")]
    phase: String,
    /// Plan that the change belongs to
    #[arg(long, value_name = "PLAN")]
    plan_id: Option<String>,
    /// Task that the change belongs to
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Registered project [default: the current repository]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Skip the check that the diff applies; reviewers see that it was skipped
    #[arg(long)]
    skip_diff_validation: bool,
    /// Idempotency key: a repeated call with this key returns the first review
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// The intent and description of a proposal.
#[derive(Debug, Clone, clap::Args)]
struct DescriptionArgs {
    /// Intent of the change in a sentence [default: the commits' subjects, or the plan's title]
    #[arg(long, short = 'm', visible_alias = "intent", value_name = "TEXT")]
    title: Option<String>,
    /// Longer description [default: the commits' messages, or the plan]
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    description: Option<String>,
    /// Read the description from a file, or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
}

impl DescriptionArgs {
    /// Replaces the texts of `proposal` by the given ones. An intent is required.
    fn describe(&self, proposal: CreateReviewRequest) -> Result<CreateReviewRequest, CliError> {
        let intent = self.title.clone().unwrap_or(proposal.intent);
        if intent.trim().is_empty() {
            return Err(CliError::usage(anyhow!("no intent given; describe the change in a sentence with -m")));
        }
        let description = match (&self.description, &self.file) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(file)) => Some(read_file(file)?),
            (None, None) => proposal.description,
        };
        Ok(CreateReviewRequest { intent, description, ..proposal })
    }
}

pub(crate) async fn request(args: RequestArgs) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let change = args.source.read(&caller.dir).await?;
    let request =
        if args.incremental { args.incremental(&caller, change).await? } else { args.new_review(&caller, change)? };
    submit(&caller, &request, &args.wait).await
}

impl RequestArgs {
    fn new_review(&self, caller: &Caller, change: CreateReviewRequest) -> Result<CreateReviewRequest, CliError> {
        Ok(CreateReviewRequest {
            agent_type: Some(self.agent_type.clone()),
            agent_role: Some(self.agent_role.clone()),
            phase: Some(self.phase.clone()),
            plan: self.plan_id.clone(),
            task: self.task.clone(),
            project: self.project.clone(),
            proposer_id: caller.acting_name()?,
            category: parse_optional("category", self.category.as_deref())?.or(change.category),
            priority: parse_optional("priority", self.priority.as_deref())?,
            personas: Some(self.reviewers.clone()).filter(|reviewers| !reviewers.is_empty()),
            policy: self.policy.as_deref().map(policy).transpose()?,
            idempotency_key: self.idempotency_key.clone(),
            skip_diff_validation: self.skip_diff_validation.then_some(true),
            ..self.text.describe(change)?
        })
    }

    /// Limits the proposal to commits that have not been reviewed.
    async fn incremental(&self, caller: &Caller, change: CreateReviewRequest) -> Result<CreateReviewRequest, CliError> {
        let Some(branch) = change.target.as_ref().and_then(|target| target.branch.clone()) else {
            return Err(CliError::usage(anyhow!("--incremental needs a branch, but none is checked out")));
        };
        let reviews = proposals_of_branch(caller, &branch).await?;
        let is_open = |status: Status| status.is_open() || status == Status::ChangesRequested;
        if let Some(open) = reviews.iter().find(|review| is_open(review.head.status)) {
            terminal::remark(&format!("a new round of {}, which is open for {branch}", open.head.number));
            let review = caller.review(open.head.review_id.to_string()).await?;
            return self.text.describe(CreateReviewRequest {
                review_id: Some(review.head.review_id.to_string()),
                proposer_id: caller.acting_name()?,
                intent: review.state.intent,
                ..change
            });
        }
        for row in reviews {
            let review = caller.review(row.head.review_id.to_string()).await?;
            if let (Some(_), Some(target)) = (review.state.approved_hash, review.state.diff.target) {
                let (head, number) = (target.head, review.head.number);
                terminal::remark(&format!("since {}, up to which {number} is approved", &head[..head.len().min(12)]));
                let source = Source { base: Some(head), ..self.source.clone() };
                return self.new_review(caller, source.read(&caller.dir).await?);
            }
        }
        terminal::remark(&format!("nothing of {branch} was approved yet, so all of it"));
        self.new_review(caller, change)
    }
}

/// A number is the count of required approvals.
fn policy(given: &str) -> Result<PolicyRequest, CliError> {
    let (rule, min_approvals) = match given.parse() {
        Ok(approvals) => (RuleName::MinApprovals, Some(approvals)),
        Err(_) => (parse_variant("policy.rule", given)?, None),
    };
    Ok(PolicyRequest { rule: Some(rule), min_approvals, ..PolicyRequest::default() })
}

#[derive(Debug, clap::Args)]
pub struct ResubmitArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    text: DescriptionArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn resubmit(args: ResubmitArgs) -> Result<(), CliError> {
    let (caller, review) = args.review.find_own().await?;
    let change = if args.source.is_named() {
        args.source.read(&caller.dir).await?
    } else {
        check_unchanged(&caller, &review).await?;
        CreateReviewRequest::default()
    };
    let request = args.text.describe(CreateReviewRequest {
        review_id: Some(review.head.review_id.to_string()),
        intent: review.state.intent,
        proposer_id: caller.acting_name()?,
        category: None,
        ..change
    })?;
    submit(&caller, &request, &args.wait).await
}

/// Without a source the broker reads the branch again. Other proposals would be resubmitted unchanged, which makes sense
/// only after an accepted counter-patch.
async fn check_unchanged(caller: &Caller, review: &ReviewStatusResponse) -> Result<(), CliError> {
    let kind = review.state.diff.target.as_ref().map(|target| target.kind);
    if !review.state.diff.has_diff || kind == Some(TargetKind::Branch) {
        return Ok(());
    }
    let request = ProposalRequest { review_id: review.head.review_id.to_string(), ..Default::default() };
    let proposal = caller.client.execute::<GetProposal>(&request).await?;
    if proposal.counter_patch_status.as_deref() == Some("accepted") {
        terminal::remark("with the accepted counter-patch as it is");
        return Ok(());
    }
    let kind = kind.map_or("diff", TargetKind::as_str);
    let hint = "say what is new: --branch, --commit, --range, --staged, --worktree or --diff";
    Err(CliError::usage(anyhow!("{} was made from a {kind}; {hint}", review.head.number)))
}

/// Proposes, prints the result and waits if requested.
async fn submit(caller: &Caller, request: &CreateReviewRequest, wait: &WaitArgs) -> Result<(), CliError> {
    let client = &caller.client;
    let submitted = client.execute::<CreateReview>(request).await?;
    let next = || review::next(&submitted.head, false);
    let Some(limit) = wait.wait else {
        return print(client.json, &submitted, |submitted| render(submitted) + &next());
    };
    // With --json only the final result is printed.
    if !client.json {
        terminal::write(&render(&submitted))?;
    }
    let review_id = submitted.head.review_id.to_string();
    wait::wait(client, &review_id, Some(submitted.head.version), limit, false).await
}

fn render(submitted: &CreateReviewResponse) -> String {
    let CreateReviewResponse { head, files, priority, .. } = submitted;
    let action = if submitted.revised { format!("round {}", head.current_round) } else { "submitted".into() };
    let changed = if submitted.diff.has_diff { review::changed_files(files) } else { "no diff".into() };
    let reviewers = escape(&submitted.personas.join(", ")).into_owned();
    let mut out = format!("{} {action}: {changed}, for {reviewers}", paint(BOLD, &head.number.to_string()));
    if *priority != Priority::Normal {
        let _ = write!(out, ", {priority} priority");
    }
    out.push('\n');
    out.push_str(&review::files(files, MAX_FILES));
    for rule in &submitted.panel_because {
        out.push_str(&indented(rule, 2));
    }
    if submitted.diff.applies == Some(false) {
        let problem = one_line(submitted.diff.validation_error.as_deref().unwrap_or_default());
        out.push_str(&paint(style::BAD, &indented(&format!("✗ the diff does not apply: {problem}"), 2)));
    }
    out
}
