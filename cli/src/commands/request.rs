//! `countersign request` and `countersign resubmit`: propose the current branch or another change for review, or the next
//! round of a review.

pub(crate) mod change_source;

use crate::{
    CliError,
    client::{Client, review_path},
    commands::wait::{self, WaitArgs},
    completion,
    error::{parse_optional, parse_variant, possible_values},
    identity_args::{Caller, IdentityArgs},
    render::{
        indented, one_line, print, review,
        style::{self, BOLD, paint},
    },
    review_args::{ReviewArgs, proposals_of_branch},
    terminal,
};
use anyhow::anyhow;
use api::{
    operation::{CreateReview, GetProposal, ListReviewers},
    proposals::ProposalRequest,
    review_lists::ReviewRow,
    reviewer_pool::{ListReviewersRequest, ListReviewersResponse},
    reviews::{CreateReviewRequest, CreateReviewResponse, ReviewStatusResponse},
};
use change_source::{Source, read_file};
use domain::{
    consensus::{PolicyRequest, RuleName},
    content::RemovablePart,
    priority::Priority,
    review::{Category, Status, TargetKind},
    reviewer_pool::PoolState,
    text::escape,
};
use git::ClientRepo;
use jiff::{SignedDuration, Timestamp};
use std::{fmt::Write as _, path::PathBuf, time::Duration};

const MAX_FILES: usize = 20;

/// A reviewer that has called within this time is likely to take the next review.
const REVIEWER_SEEN: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, clap::Args)]
pub struct RequestArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    text: DescriptionArgs,
    /// Propose only what is new since the last approved review of this branch
    #[arg(long, conflicts_with = "source")]
    incremental: bool,
    /// Create a new review even if this branch has an open one [default: the next round of the open review]
    #[arg(long)]
    new: bool,
    /// Personas that review it, or @NAME for one person or agent; one seat each [default: the default panel of the broker]
    #[arg(long, value_name = "A,B", value_delimiter = ',', add = completion::personas())]
    reviewers: Vec<String>,
    /// Consensus policy: require_all, majority, or the number of required approvals
    #[arg(long, value_name = "RULE")]
    policy: Option<String>,
    /// Priority in the queue: critical, normal or low [default: by category]
    #[arg(long, value_name = "PRIORITY", add = completion::names::<Priority>())]
    priority: Option<String>,
    /// plan_review, code_change, verification or handoff
    #[arg(long, value_name = "CATEGORY", add = completion::names::<Category>())]
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
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
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
        let intent = self.title.clone().or(proposal.intent);
        if intent.as_deref().is_none_or(|intent| intent.trim().is_empty()) {
            return Err(CliError::usage(anyhow!("no intent given; describe the change in a sentence with -m")));
        }
        let description = self.description()?.or(proposal.description);
        Ok(CreateReviewRequest { intent, description, ..proposal })
    }

    fn description(&self) -> Result<Option<String>, CliError> {
        Ok(match (&self.description, &self.file) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(file)) => Some(read_file(file)?),
            (None, None) => None,
        })
    }
}

pub(crate) async fn request(args: RequestArgs) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let change = args.source.read(&caller.dir).await?;
    // Without it the broker would refuse the change of a repository that it does not know yet.
    let project = match &args.project {
        Some(given) => Some(given.clone()),
        None => caller.client.register_repository(&caller.dir).await?.map(|project| project.name),
    };
    let request = match args.next_round(&caller, &change, project).await? {
        Some(request) => request,
        None if args.incremental => args.incremental(&caller, change).await?,
        None => args.new_review(&caller, change)?,
    };
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
            reviewers: Some(self.reviewers.clone()).filter(|reviewers| !reviewers.is_empty()),
            policy: self.policy.as_deref().map(policy).transpose()?,
            idempotency_key: self.idempotency_key.clone(),
            skip_diff_validation: self.skip_diff_validation.then_some(true),
            ..self.text.describe(change)?
        })
    }

    /// The next round of the open review of this branch, if there is one.
    async fn next_round(
        &self,
        caller: &Caller,
        change: &CreateReviewRequest,
        project: Option<String>,
    ) -> Result<Option<CreateReviewRequest>, CliError> {
        let branch = change.target.as_ref().and_then(|target| target.branch.as_deref());
        let Some(branch) = branch.filter(|_| !self.new && self.idempotency_key.is_none()) else { return Ok(None) };
        // A token may not tell its name; its proposals cannot be found then.
        if caller.name().is_err() {
            return Ok(None);
        }
        let is_open = |status: Status| status.is_open() || status == Status::ChangesRequested;
        let folder = ClientRepo::find(&caller.dir).and_then(|repo| Some(repo.root.file_name()?.to_owned()));
        let project = project.or_else(|| Some(folder?.to_string_lossy().into_owned()));
        let is_here = |review: &ReviewRow| review.proposer.project.is_none() || review.proposer.project == project;
        let reviews = proposals_of_branch(caller, branch).await?;
        let find = |wanted: &dyn Fn(Status) -> bool| {
            reviews.iter().find(|review| wanted(review.head.status) && is_here(review))
        };
        let Some(open) = find(&is_open) else {
            // The approved commits may have landed. A new round would withdraw their approval.
            if let Some(approved) = find(&|status| status == Status::Approved).filter(|_| !self.incremental) {
                let number = approved.head.number;
                terminal::remark(&format!(
                    "{branch} has an approved review, {number}: this is a new review (`countersign resubmit {number}` replaces \
                     what was approved, --incremental proposes only what is new)"
                ));
            }
            return Ok(None);
        };
        let fixed = [
            ("--reviewers", !self.reviewers.is_empty()),
            ("--policy", self.policy.is_some()),
            ("--priority", self.priority.is_some()),
            ("--category", self.category.is_some()),
        ];
        if let Some((option, _)) = fixed.iter().find(|(_, given)| *given) {
            let number = open.head.number;
            let hint = "add --new for another review; `countersign add-seat` asks for one more reviewer";
            return Err(CliError::usage(anyhow!(
                "{number} is open for {branch}, and a round keeps its {option}; {hint}"
            )));
        }
        terminal::remark(&format!(
            "{branch} has an open review, {}: this is its next round (--new creates another review)",
            open.head.number
        ));
        warn_if_escalated(&caller.review(open.head.review_id.to_string()).await?);
        Ok(Some(CreateReviewRequest {
            review_id: Some(open.head.review_id.to_string()),
            proposer_id: caller.acting_name()?,
            target: change.target.clone(),
            change_note: self.text.title.clone(),
            description: self.text.description()?,
            skip_diff_validation: self.skip_diff_validation.then_some(true),
            ..CreateReviewRequest::default()
        }))
    }

    /// Limits the proposal to commits that have not been reviewed.
    async fn incremental(&self, caller: &Caller, change: CreateReviewRequest) -> Result<CreateReviewRequest, CliError> {
        let Some(branch) = change.target.as_ref().and_then(|target| target.branch.clone()) else {
            return Err(CliError::usage(anyhow!("--incremental needs a branch, but none is checked out")));
        };
        for row in proposals_of_branch(caller, &branch).await? {
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
    /// What changed in this round, and why
    #[arg(long, short = 'm', visible_alias = "message", value_name = "TEXT")]
    note: Option<String>,
    /// New title of the review [default: stays as it is]
    #[arg(long, visible_alias = "intent", value_name = "TEXT")]
    title: Option<String>,
    /// New description [default: stays as it is]
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    description: Option<String>,
    /// Read the new description from a file, or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Remove a part of the content: diff or description; repeatable
    #[arg(long, value_name = "PART", value_parser = possible_values::<RemovablePart>())]
    remove: Vec<RemovablePart>,
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
        match args.remove.is_empty() {
            true => new_change(&caller, &review).await?,
            false => CreateReviewRequest::default(),
        }
    };
    warn_if_escalated(&review);
    let description = match (args.description, &args.file) {
        (None, Some(file)) => Some(read_file(file)?),
        (description, _) => description,
    };
    let request = CreateReviewRequest {
        review_id: Some(review.head.review_id.to_string()),
        // A title that stands for the files would replace the one that says what the change is for.
        intent: args.title,
        change_note: args.note,
        description,
        remove: Some(args.remove).filter(|parts| !parts.is_empty()),
        proposer_id: caller.acting_name()?,
        category: None,
        ..change
    };
    submit(&caller, &request, &args.wait).await
}

/// A new round does not end an escalation.
fn warn_if_escalated(review: &ReviewStatusResponse) {
    if let Some(why) = review.escalate_why {
        let why = style::spaced(why.as_str());
        terminal::remark(&format!(
            "warning: {} waits for an operator ({why}), also after this round",
            review.head.number
        ));
    }
}

/// Without a source the broker reads the branch again. After an accepted counter-patch the content stays as it is. Of a
/// diff, the next round is what is staged; the other proposals would be resubmitted unchanged.
async fn new_change(caller: &Caller, review: &ReviewStatusResponse) -> Result<CreateReviewRequest, CliError> {
    let kind = review.state.diff.target.as_ref().map(|target| target.kind);
    if !review.state.diff.has_diff || kind == Some(TargetKind::Branch) {
        return Ok(CreateReviewRequest::default());
    }
    let request = ProposalRequest { review_id: review.head.review_id.to_string(), ..Default::default() };
    let proposal = caller.client.execute::<GetProposal>(&request).await?;
    if proposal.counter_patch_status.as_deref() == Some("accepted") {
        terminal::remark("with the accepted counter-patch as it is");
        return Ok(CreateReviewRequest::default());
    }
    let staged = Source { staged: true, ..Source::default() };
    if kind.is_none()
        && let Ok(change) = staged.read(&caller.dir).await
    {
        terminal::remark("with what is staged");
        return Ok(change);
    }
    let kind = kind.map_or("diff", TargetKind::as_str);
    let hint = "say what is new: --branch, --commit, --range, --staged, --worktree or --diff";
    Err(CliError::usage(anyhow!("{} was made from a {kind}; {hint}", review.head.number)))
}

/// Proposes, prints the result and waits if requested.
async fn submit(caller: &Caller, request: &CreateReviewRequest, wait: &WaitArgs) -> Result<(), CliError> {
    let client = &caller.client;
    let submitted = client.execute::<CreateReview>(request).await?;
    let next =
        || review::waiting_on(&submitted.head.waiting_on) + &review::next(&submitted.head, submitted.diff.has_diff);
    let Some(limit) = wait.wait else {
        print(client.json, &submitted, |submitted| render(submitted, client) + &next())?;
        remark_if_alone(caller, &submitted).await;
        return Ok(());
    };
    // With --json only the final result is printed.
    if !client.json {
        terminal::write(&render(&submitted, client))?;
    }
    remark_if_alone(caller, &submitted).await;
    let review_id = submitted.head.review_id.to_string();
    wait::wait(client, &review_id, Some(submitted.head.version), limit, false).await
}

/// Says that no reviewer will take the review, and how to get one. Only an operator can tell.
async fn remark_if_alone(caller: &Caller, submitted: &CreateReviewResponse) {
    let client = &caller.client;
    let (number, status) = (submitted.head.number, submitted.head.status);
    if client.json || status != Status::Pending {
        return;
    }
    let Ok(pool) =
        client.execute_quietly::<ListReviewers, ListReviewersResponse>(&ListReviewersRequest::default()).await
    else {
        return;
    };
    let is_seen = pool.last_reviewer_call_at.is_some_and(|at| {
        Timestamp::now().duration_since(at) < SignedDuration::try_from(REVIEWER_SEEN).unwrap_or_default()
    });
    if pool.state != PoolState::Disabled || is_seen {
        return;
    }
    terminal::remark(&format!(
        "no reviewer is there: the pool is off and no reviewer has called lately. Any of these helps:\n  \
         countersign respond {number} --as reviewer   review it yourself, in another terminal\n  \
         countersign open {number}                    review it on the page\n  \
         \"Review the pending changes in Countersign.\"   say this to another agent that is connected (countersign init)\n  \
         pool.enabled = true                         let the broker start reviewers (docs/reviewers.md)"
    ));
}

fn render(submitted: &CreateReviewResponse, client: &Client) -> String {
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
    // Not wrapped: terminals make a link of it.
    let _ = writeln!(out, "  {}", client.page_url(&review_path(head.number)));
    out
}
