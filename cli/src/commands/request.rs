//! `countersign request`: proposes the current branch or another change for review.

pub(crate) mod description;
pub(crate) mod source;

use crate::{
    CliError,
    commands::wait::{self, For},
    identity::{Caller, IdentityArgs},
    render::review,
    render::{
        indented, one_line, print, strings,
        style::{self, BOLD, paint},
        text,
    },
    review_arg::own_of_branch,
    terminal,
};
use anyhow::anyhow;
use description::DescriptionArgs;
use serde_json::{Value, json};
use source::{Gathered, Source};
use std::fmt::Write as _;

const FILES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Args {
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
    #[command(flatten)]
    identity: Identity,
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
    waiting: For,
    #[command(flatten)]
    by: IdentityArgs,
}

/// Where the change belongs in the workflow.
#[derive(Debug, clap::Args)]
struct Identity {
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
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let mut gathered = args.source.gather(&caller.dir).await?;
    if args.incremental {
        return incremental(&args, &caller, gathered).await;
    }
    let (title, description) = args.text.or_gathered(&gathered, None)?;
    let arguments = args.arguments(&caller, &mut gathered, &title, description)?;
    submit(&caller, arguments, &args.waiting, &args.by).await
}

impl Args {
    fn arguments(
        &self,
        caller: &Caller,
        gathered: &mut Gathered,
        title: &str,
        description: Option<String>,
    ) -> Result<Value, CliError> {
        let Identity { agent_type, agent_role, phase, plan_id, task } = &self.identity;
        let category = self.category.as_deref().or(gathered.category);
        let reviewers = Some(&self.reviewers).filter(|reviewers| !reviewers.is_empty());
        let mut arguments = json!({
            "intent": title, "description": description, "agent_type": agent_type, "agent_role": agent_role,
            "phase": phase, "plan": plan_id, "task": task, "project": self.project, "proposer_id": caller.speaks_as()?,
            "category": category, "priority": self.priority, "personas": reviewers,
            "policy": self.policy.as_deref().map(policy), "idempotency_key": self.idempotency_key,
            "skip_diff_validation": self.skip_diff_validation.then_some(true),
        });
        if let Some(fields) = arguments.as_object_mut() {
            fields.append(&mut gathered.arguments);
        }
        Ok(arguments)
    }
}

/// A number is the count of required approvals; the broker parses the names.
fn policy(given: &str) -> Value {
    match given.parse::<u32>() {
        Ok(approvals) => json!({ "rule": "min_approvals", "min_approvals": approvals }),
        Err(_) => json!({ "rule": given }),
    }
}

/// Limits the proposal to commits that have not been reviewed.
async fn incremental(args: &Args, caller: &Caller, mut gathered: Gathered) -> Result<(), CliError> {
    let Some(branch) = gathered.arguments["target"]["branch"].as_str().map(str::to_owned) else {
        return Err(CliError::usage(anyhow!("--incremental needs a branch, but none is checked out")));
    };
    let reviews = own_of_branch(caller).await?;
    let is = |review: &Value, words: &[&str]| words.iter().any(|word| review["status"] == *word);
    let open = ["pending", "claimed", "in_review", "changes_requested"];
    if let Some(review) = reviews.iter().find(|review| is(review, &open)) {
        terminal::remark(&format!("a new round of {}, which is open for {branch}", text(review, "number")));
        let (title, description) = args.text.or_gathered(&gathered, review["intent"].as_str())?;
        let arguments = json!({
            "review_id": review["review_id"], "intent": title, "description": description,
            "proposer_id": caller.speaks_as()?, "target": gathered.arguments.remove("target"),
        });
        return submit(caller, arguments, &args.waiting, &args.by).await;
    }
    if let Some(review) = reviews.iter().find(|review| review["approved_hash"].is_string()) {
        let head = text(&review["target"], "head");
        let from = Source { base: Some(head.clone()), ..args.source.clone() };
        gathered = from.gather(&caller.dir).await?;
        terminal::remark(&format!(
            "since {}, up to which {} is approved",
            &head[..head.len().min(12)],
            text(review, "number")
        ));
    } else {
        terminal::remark(&format!("nothing of {branch} was approved yet, so all of it"));
    }
    let (title, description) = args.text.or_gathered(&gathered, None)?;
    let arguments = args.arguments(caller, &mut gathered, &title, description)?;
    submit(caller, arguments, &args.waiting, &args.by).await
}

/// Proposes, prints the result and waits if requested.
pub(crate) async fn submit(
    caller: &Caller,
    arguments: Value,
    waiting: &For,
    by: &IdentityArgs,
) -> Result<(), CliError> {
    let submitted = caller.call("create_review", arguments).await?;
    if !waiting.waits() {
        return print(caller.json, &submitted, |submitted| shown(submitted, true));
    }
    // With --json only the final result is printed.
    if !caller.json {
        terminal::write(&shown(&submitted, false))?;
    }
    wait::until_decided(&by.at, &text(&submitted, "review_id"), submitted["version"].as_u64(), waiting).await
}

fn shown(submitted: &Value, with_next: bool) -> String {
    let word =
        if submitted["revised"] == true { format!("round {}", submitted["current_round"]) } else { "submitted".into() };
    let changed = if submitted["has_diff"] == true { review::changed(submitted) } else { "no diff".into() };
    let reviewers = strings(submitted, "personas").join(", ");
    let mut out = format!("{} {word}: {changed}, for {reviewers}", paint(BOLD, &text(submitted, "number")));
    if let Some(priority) = submitted["priority"].as_str().filter(|word| *word != "normal") {
        let _ = write!(out, ", {priority} priority");
    }
    out.push('\n');
    out.push_str(&review::files(submitted, FILES));
    for because in strings(submitted, "panel_because") {
        out.push_str(&indented(because, 2));
    }
    if submitted["applies"] == false {
        let words = one_line(submitted["validation_error"].as_str().unwrap_or_default());
        out.push_str(&paint(style::BAD, &indented(&format!("✗ the diff does not apply: {words}"), 2)));
    }
    if with_next {
        out.push_str(&review::next(submitted));
    }
    out
}
