//! `countersign revert`: takes back what was committed before its review ended.
//!
//! In optimistic mode a change lands first and is judged after. Where the judgement is a no, its commits go, and those
//! that the same plan put on top of them; then an accepted counter-patch is staged in their place.

mod landed;

use super::{
    Failure, USAGE,
    gate::{Judge, Landing, short, surroundings},
    place::Place,
    render::clipped,
    terminal,
};
use anyhow::{Context as _, anyhow};
use domain::diff::{ZeroContext, apply_parts};
use git::UserRepo;
use landed::History;
use serde_json::{Value, json};
use store::{ReviewMatch, read_only::ReviewedContent};

const SUBJECT_CHARS: usize = 60;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// R-12, its id, or the beginning of it
    review: String,
    /// A commit that landed it [default: found by the review's target, receipts and content]
    #[arg(long, value_name = "REF")]
    commit: Vec<String>,
    /// Leave the plan's later commits alone
    #[arg(long)]
    only: bool,
    /// Also a review that was approved
    #[arg(long)]
    force: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What is going to be done.
struct Plan {
    case: ReviewedContent,
    /// The newest first.
    commits: Vec<Landing>,
    patch: Option<String>,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let (repo, config) = surroundings(&args.place).await.map_err(|error| Failure::new(USAGE, error))?;
    refuse_unfinished(&repo).await?;
    let mut judge = Judge::open(&repo, &config).await?;
    let plan = plan(&args, &mut judge).await?;
    refuse_dirty(&repo).await?;
    refuse_merges(&repo, &plan).await?;
    if args.dry_run {
        return print(&args, &plan, &Patched::No, true);
    }
    revert(&repo, &plan).await?;
    let patched = match &plan.patch {
        Some(patch) => apply(&repo, patch).await,
        None => Patched::No,
    };
    print(&args, &plan, &patched, false)
}

async fn plan(args: &Args, judge: &mut Judge) -> Result<Plan, Failure> {
    let case = find(judge, &args.review).await?;
    if case.approved && !args.force {
        return Err(anyhow!("{} was approved; --force reverts it all the same", case.number).into());
    }
    let mut history = History::read(judge).await?;
    let mut ids = Vec::new();
    for name in &args.commit {
        ids.extend(Landing::commit(&judge.repo, name).await?.commit);
    }
    if ids.is_empty() {
        ids = history.landed(judge, case.number).await?;
    }
    if ids.is_empty() {
        let error = anyhow!("no commit of HEAD that still stands is {}; name it with --commit", case.number);
        return Err(error.into());
    }
    if !args.only && case.plan.is_some() {
        let mut others = Vec::new();
        for number in judge.ledger.list_plan(&case).await? {
            if number != case.number {
                others.extend(history.landed(judge, number).await?);
            }
        }
        // By place and not by number: a task that was done again may have kept an older review.
        let on_top = history.on_top_of(&ids, others);
        ids.extend(on_top);
    }
    let commits = history.newest_first(&ids)?;
    let patch = judge.ledger.find_accepted_patch(case.number).await?;
    Ok(Plan { case, commits, patch })
}

async fn find(judge: &mut Judge, name: &str) -> Result<ReviewedContent, Failure> {
    let id = match judge.ledger.find_by_name(name).await? {
        ReviewMatch::One(id) => id,
        ReviewMatch::None => return Err(anyhow!("there is no review {name:?}").into()),
        ReviewMatch::Several(ids) => {
            let ids = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(anyhow!("{name:?} is the beginning of several: {ids}").into());
        }
    };
    let number = judge.ledger.find_number(id).await?.context("the review is gone")?;
    Ok(judge.ledger.find_reviewed_content(number).await?.context("the review is gone")?)
}

/// What git is in the middle of would be mixed with this, or thrown away where this fails.
async fn refuse_unfinished(repo: &UserRepo) -> anyhow::Result<()> {
    for (file, what) in [
        ("REVERT_HEAD", "a revert"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("MERGE_HEAD", "a merge"),
        ("sequencer", "a row of commits"),
    ] {
        let path = repo.root().join(repo.git(["rev-parse", "--git-path", file]).await?);
        if path.exists() {
            return Err(anyhow!("git is in the middle of {what} ({file}); finish or abort it first"));
        }
    }
    Ok(())
}

async fn refuse_dirty(repo: &UserRepo) -> anyhow::Result<()> {
    let changed = repo.git(["status", "--porcelain", "--untracked-files=no"]).await?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(anyhow!(
            "the working tree has changes ({}{}); commit or stash them first",
            clipped(first.trim(), 80),
            if changed.lines().count() > 1 { ", …" } else { "" }
        )),
    }
}

/// What a merge brought cannot be told apart from what came before it.
async fn refuse_merges(repo: &UserRepo, plan: &Plan) -> anyhow::Result<()> {
    let Some(oldest) = plan.commits.last().and_then(|commit| commit.commit.clone()) else { return Ok(()) };
    let merges = Landing::list(repo, &["--merges", "HEAD", &format!("^{oldest}")]).await?;
    let own = plan.commits.iter().find(|commit| commit.parents.len() > 1);
    match merges.first().or(own) {
        None => Ok(()),
        Some(merge) => Err(anyhow!("{} is a merge on top of what is to be reverted; revert by hand", merge.name())),
    }
}

/// All or none: where one does not revert cleanly, the tree is left as it was.
async fn revert(repo: &UserRepo, plan: &Plan) -> anyhow::Result<()> {
    let before = repo.git(["rev-parse", "HEAD"]).await?;
    let ids = plan.commits.iter().filter_map(|commit| commit.commit.as_deref());
    let reverted = repo.try_git(["revert", "--no-edit"].into_iter().chain(ids)).await?;
    if reverted.success {
        return Ok(());
    }
    let words = clipped(reverted.stderr().lines().next().unwrap_or_default(), 200);
    let aborted = repo.try_git(["revert", "--abort"]).await?;
    let now = repo.git(["rev-parse", "HEAD"]).await?;
    if now != before {
        // A commit of the row was made before another failed, and git forgot the row.
        repo.git(["reset", "--keep", &before]).await?;
    }
    let left = repo.git(["status", "--porcelain", "--untracked-files=no"]).await?;
    match left.is_empty() {
        true => Err(anyhow!("git could not revert it: {words}; everything is as it was")),
        false => Err(anyhow!("git could not revert it: {words}; and could not go back: {}", aborted.stderr())),
    }
}

/// What became of an accepted counter-patch.
enum Patched {
    No,
    Staged,
    Failed(String),
}

async fn apply(repo: &UserRepo, patch: &str) -> Patched {
    for part in apply_parts(patch) {
        let strip = format!("-p{}", part.strip);
        let mut args = vec!["apply", "--index", "--whitespace=nowarn", &strip];
        if part.zero_context == ZeroContext::Certain {
            args.push("--unidiff-zero");
        }
        let text = if part.text.ends_with('\n') { part.text.to_owned() } else { format!("{}\n\n", part.text) };
        if let Err(error) = repo.git_with_input(args, text.as_bytes()).await {
            return Patched::Failed(format!("{error:#}"));
        }
    }
    Patched::Staged
}

fn print(args: &Args, plan: &Plan, patched: &Patched, dry_run: bool) -> Result<(), Failure> {
    let number = plan.case.number;
    if args.json {
        return terminal::write_json(&format!("{:#}\n", as_json(plan, patched, dry_run)));
    }
    let did = if dry_run { "would revert" } else { "reverted" };
    let mut out = format!("{number}: {did} {} commits, the newest first\n", plan.commits.len());
    for commit in &plan.commits {
        let id = short(commit.commit.as_deref().unwrap_or_default());
        out.push_str(&format!("  {id}  {}\n", clipped(&commit.subject, SUBJECT_CHARS)));
    }
    match (patched, dry_run, &plan.patch) {
        (Patched::Staged, ..) => out.push_str(&format!(
            "the accepted counter-patch is staged\nnext: countersign resubmit {number} --staged, and commit it when it is \
             approved; where you commit first: commit it, and countersign resubmit {number} --commit HEAD\n"
        )),
        (Patched::Failed(words), ..) => out.push_str(&format!(
            "the accepted counter-patch does not apply here: {}\nnext: countersign diff {number}\n",
            clipped(words, 300)
        )),
        (Patched::No, true, Some(_)) => out.push_str("would then stage the accepted counter-patch\n"),
        (Patched::No, ..) => {}
    }
    terminal::write(&out)
}

fn as_json(plan: &Plan, patched: &Patched, dry_run: bool) -> Value {
    let commit = |commit: &Landing| json!({ "commit": commit.commit, "subject": commit.subject });
    let patch = match (patched, &plan.patch) {
        (Patched::Staged, _) => "staged",
        (Patched::Failed(_), _) => "failed",
        (Patched::No, Some(_)) => "accepted",
        (Patched::No, None) => "none",
    };
    json!({
        "number": plan.case.number.to_string(), "review_id": plan.case.id.to_string(), "dry_run": dry_run,
        "commits": plan.commits.iter().map(commit).collect::<Vec<_>>(), "counter_patch": patch,
    })
}
