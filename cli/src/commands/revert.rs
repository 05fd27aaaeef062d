//! `countersign revert`: reverts commits that landed first and whose review then ended without an approval.
//!
//! In optimistic mode a change is committed first and reviewed later. If it is not approved, this command reverts its
//! commits and the later commits of its plan, and stages an accepted counter-patch.

use crate::{
    CliError,
    approval_source_args::SourceArgs,
    completion,
    config_overrides::ConfigArgs,
    gate_settings::{Caller, GateFailure, GateSettings, locate, name_repo_option},
    render::{
        clipped,
        gate::{name, short_id},
    },
    terminal,
};
use anyhow::{Context as _, anyhow};
use domain::{
    diff::{ZeroContext, apply_parts},
    ids::ReviewNumber,
};
use gate::{ApprovalSource, Candidate, Gate, RecentHistory, ReviewedContent};
use git::UserRepo;
use serde::Serialize;
use serde_json::json;
use store::read_only_database::ReadOnlyStore;

const SUBJECT_CHARS: usize = 60;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// R-12, a review id, or the beginning of one
    #[arg(add = completion::reviews())]
    review: String,
    /// Revert this commit [default: found by the review's target, receipts and content]
    #[arg(long, value_name = "REF")]
    commit: Vec<String>,
    /// Leave later commits of the plan in place
    #[arg(long)]
    only: bool,
    /// Revert even if the review was approved
    #[arg(long)]
    force: bool,
    /// Show what would be reverted and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

struct Plan {
    review: ReviewedContent,
    /// Newest first.
    commits: Vec<Candidate>,
    /// The accepted counter-patch, to be staged after the revert.
    patch: Option<String>,
}

enum PatchResult {
    NotApplied,
    Staged,
    Failed(String),
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let location = locate(&args.config).map_err(name_repo_option).map_err(CliError::usage)?;
    let settings = GateSettings::load(&args.config, Some(location.root()), Caller::Command).map_err(CliError::usage)?;
    let policy = settings.policy(&SourceArgs::default()).map_err(GateFailure::error)?;
    let mut gate = Gate::open(&location, ApprovalSource::None, policy).await?;
    let repo = gate.repo.clone();
    check_no_operation_in_progress(&repo).await?;
    let mut store = ReadOnlyStore::open(&settings.config.server.data_dir.database()).await?;
    let plan = plan(&args, &mut gate, &mut store).await?;
    check_no_merges(&repo, &plan).await?;
    if args.dry_run {
        return print(&args, &plan, &PatchResult::NotApplied);
    }
    check_clean(&repo, plan.review.number).await?;
    revert(&repo, &plan).await?;
    let patched = match &plan.patch {
        Some(patch) => stage_patch(&repo, patch).await,
        None => PatchResult::NotApplied,
    };
    print(&args, &plan, &patched)
}

async fn plan(args: &Args, gate: &mut Gate, store: &mut ReadOnlyStore) -> Result<Plan, CliError> {
    let review = find_review(store, &args.review).await?;
    if review.approved && !args.force {
        return Err(anyhow!("{} was approved; pass --force to revert it", review.number).into());
    }
    let history = RecentHistory::load(&gate.repo).await?;
    let mut ids = Vec::new();
    for name in &args.commit {
        ids.extend(Candidate::from_commit(&gate.repo, name).await?.commit);
    }
    if ids.is_empty() {
        let rounds = store.list_submitted_rounds(review.number).await?;
        ids = history.find_landed(gate, &rounds).await?;
    }
    if ids.is_empty() {
        return Err(anyhow!("no unreverted commit of {} found in HEAD; name it with --commit", review.number).into());
    }
    if !args.only && review.proposer.plan.is_some() {
        let mut others = Vec::new();
        for number in store.list_plan(&review.proposer).await? {
            if number != review.number {
                let rounds = store.list_submitted_rounds(number).await?;
                others.extend(history.find_landed(gate, &rounds).await?);
            }
        }
        // By position, not by review number: a repeated task may have kept an older review.
        let newer = history.newer_than(&ids, others);
        ids.extend(newer);
    }
    let commits = history.select(&ids)?;
    let patch = store.find_accepted_patch(review.number).await?;
    Ok(Plan { review, commits, patch })
}

async fn find_review(database: &mut ReadOnlyStore, name: &str) -> Result<ReviewedContent, CliError> {
    let number = match database.find_by_name(name).await?.as_slice() {
        [(number, _)] => *number,
        [] => return Err(anyhow!("no review {name:?}; `countersign list` shows all").into()),
        several => {
            let ids: Vec<_> = several.iter().map(|(_, id)| id.as_str()).collect();
            return Err(anyhow!("{name:?} is ambiguous: {}", ids.join(", ")).into());
        }
    };
    Ok(database.find_reviewed_content(number).await?.context("the review is missing")?)
}

/// A failed revert would mix with the operation, or abort it.
async fn check_no_operation_in_progress(repo: &UserRepo) -> anyhow::Result<()> {
    match repo.operation_in_progress().await? {
        None => Ok(()),
        Some((operation, file)) => {
            Err(anyhow!("git is in the middle of {operation} ({file}); finish or abort it first"))
        }
    }
}

async fn check_clean(repo: &UserRepo, number: ReviewNumber) -> anyhow::Result<()> {
    let changed = repo.git(["status", "--porcelain", "--untracked-files=no"]).await?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(anyhow!(
            "the working tree has changes ({}{}); run `git stash`, then `countersign revert {number}` again, then `git stash pop`",
            clipped(first.trim(), 80),
            if changed.lines().count() > 1 { ", …" } else { "" },
        )),
    }
}

/// A merge mixes the reverted commits with others.
async fn check_no_merges(repo: &UserRepo, plan: &Plan) -> anyhow::Result<()> {
    let Some(oldest) = plan.commits.last().and_then(|commit| commit.commit.clone()) else { return Ok(()) };
    let merges = Candidate::list(repo, &["--merges", "HEAD", &format!("^{oldest}")]).await?;
    let own = plan.commits.iter().find(|commit| commit.parents.len() > 1);
    match merges.first().or(own) {
        None => Ok(()),
        Some(merge) => Err(anyhow!("{} is a merge on top of the commits to revert; revert by hand", name(merge))),
    }
}

/// Reverts all commits or none. If one does not revert cleanly, the working tree stays as it was.
async fn revert(repo: &UserRepo, plan: &Plan) -> anyhow::Result<()> {
    let before = repo.git(["rev-parse", "HEAD"]).await?;
    let ids = plan.commits.iter().filter_map(|commit| commit.commit.as_deref());
    let reverted = repo.try_git(["revert", "--no-edit"].into_iter().chain(ids)).await?;
    if reverted.success {
        return Ok(());
    }
    let message = clipped(reverted.stderr().lines().next().unwrap_or_default(), 200);
    let aborted = repo.try_git(["revert", "--abort"]).await?;
    let now = repo.git(["rev-parse", "HEAD"]).await?;
    if now != before {
        // Some commits were reverted before one failed, and git no longer has the sequence to abort.
        repo.git(["reset", "--keep", &before]).await?;
    }
    let left = repo.git(["status", "--porcelain", "--untracked-files=no"]).await?;
    match left.is_empty() {
        true => Err(anyhow!("git could not revert: {message}; nothing was changed")),
        false => Err(anyhow!("git could not revert: {message}; and could not undo it: {}", aborted.stderr())),
    }
}

async fn stage_patch(repo: &UserRepo, patch: &str) -> PatchResult {
    for part in apply_parts(patch) {
        let strip = format!("-p{}", part.strip);
        let mut args = vec!["apply", "--index", "--whitespace=nowarn", &strip];
        if part.zero_context == ZeroContext::Certain {
            args.push("--unidiff-zero");
        }
        let text = if part.text.ends_with('\n') { part.text.to_owned() } else { format!("{}\n\n", part.text) };
        if let Err(error) = repo.git_with_input(args, text.as_bytes()).await {
            return PatchResult::Failed(error.to_string());
        }
    }
    PatchResult::Staged
}

fn print(args: &Args, plan: &Plan, patched: &PatchResult) -> Result<(), CliError> {
    if args.json {
        return terminal::write_pretty_json(&revert_answer(args, plan, patched));
    }
    let number = plan.review.number;
    let verb = if args.dry_run { "would revert" } else { "reverted" };
    let count = match plan.commits.len() {
        1 => "1 commit".to_owned(),
        count => format!("{count} commits, newest first"),
    };
    let mut out = format!("{number}: {verb} {count}\n");
    for commit in &plan.commits {
        let id = short_id(commit.commit.as_deref().unwrap_or_default());
        out.push_str(&format!("  {id}  {}\n", clipped(&commit.subject, SUBJECT_CHARS)));
    }
    match (patched, args.dry_run, &plan.patch) {
        (PatchResult::Staged, ..) => out.push_str(&format!(
            "the accepted counter-patch is staged\nnext: countersign resubmit {number} --staged, and commit after the \
             approval; in optimistic mode: commit it, then countersign resubmit {number} --commit HEAD\n"
        )),
        (PatchResult::Failed(message), ..) => out.push_str(&format!(
            "the accepted counter-patch does not apply here: {}\nnext: countersign diff {number}\n",
            clipped(message, 300)
        )),
        (PatchResult::NotApplied, true, Some(_)) => {
            out.push_str("would then stage the accepted counter-patch\n");
        }
        (PatchResult::NotApplied, ..) => {}
    }
    terminal::write(&out)
}

/// The answer of `revert --json`.
fn revert_answer(args: &Args, plan: &Plan, patched: &PatchResult) -> impl Serialize {
    let commit = |commit: &Candidate| json!({ "commit": commit.commit, "subject": commit.subject });
    let counter_patch = match (patched, &plan.patch) {
        (PatchResult::Staged, _) => "staged",
        (PatchResult::Failed(_), _) => "failed",
        (PatchResult::NotApplied, Some(_)) => "accepted",
        (PatchResult::NotApplied, None) => "none",
    };
    json!({
        "number": plan.review.number.to_string(),
        "review_id": plan.review.review_id,
        "dry_run": args.dry_run,
        "commits": plan.commits.iter().map(commit).collect::<Vec<_>>(),
        "counter_patch": counter_patch,
    })
}
