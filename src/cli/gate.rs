//! `countersign gate`: is exactly this approved?
//!
//! Answered from the database file and the user's own repository, so it needs no broker. A patch-id only finds
//! candidates; the proof is that the approved diff, applied to what the change stands on, makes the very tree that is
//! to land (docs/adr/0019).

mod judge;
mod landing;
mod nearest;
mod range;
mod required;
mod words;

pub(super) use judge::{Answer, Judge, Judgement, Needless};
pub(super) use landing::{Landing, head, short};
pub(super) use range::{Update, judge_push, judge_range};
pub(super) use required::{Point, is_required};
pub(super) use words::{as_json, line, told};

use super::{Failure, USAGE, place::Place, terminal};
use crate::config::{Config, Fail};
use anyhow::{Context as _, anyhow};
use domain::text::escape;
use git::{GitError, UserRepo};
use serde_json::json;
use std::io::{self, Read as _};

const NO: u8 = 1;
const CANNOT_TELL: u8 = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is staged, as a commit would take it: the default
    #[arg(long, group = "what")]
    staged: bool,
    /// A commit
    #[arg(long, group = "what", value_name = "REF")]
    commit: Option<String>,
    /// What a push would bring, as git tells it a pre-push hook on stdin
    #[arg(long, group = "what")]
    push: bool,
    /// Every commit of A..B, each by itself or all as one review
    #[arg(long, group = "what", value_name = "A..B")]
    range: Option<String>,
    /// The remote that is pushed to [default: what the lines on stdin say]
    #[arg(long, requires = "push", value_name = "REMOTE")]
    remote: Option<String>,
    #[command(flatten)]
    failing: Failing,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    /// Answer by the exit code alone
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    place: Place,
}

/// What an answer is worth that cannot be given.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Failing {
    /// If it cannot tell, let it pass
    #[arg(long, conflicts_with = "fail_closed")]
    fail_open: bool,
    /// If it cannot tell, say no
    #[arg(long)]
    fail_closed: bool,
}

impl Failing {
    pub(super) fn chosen(self) -> Option<Fail> {
        match (self.fail_open, self.fail_closed) {
            (true, _) => Some(Fail::Open),
            (_, true) => Some(Fail::Closed),
            (false, false) => None,
        }
    }
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let judged = judge(&args).await;
    let shown = match &judged {
        Ok(judgements) => print(&args, &told(judgements), || as_json(judgements)),
        Err(error) => {
            let words = escape(&format!("could not tell: {error:#}")).into_owned();
            let answer = || json!({ "answer": "unknown", "words": words, "changes": [] });
            // No answer is no data, so people read it beside them.
            if !args.json && !args.quiet {
                terminal::remark(&words);
            }
            if args.json { print(&args, "", answer) } else { Ok(()) }
        }
    };
    // A no stays a no where nobody reads it.
    match (judged, args.failing.chosen()) {
        (Ok(judgements), _) if judgements.iter().all(Judgement::passes) => shown,
        (Ok(_), _) | (Err(_), Some(Fail::Closed)) => Err(Failure::answer(NO)),
        (Err(_), Some(Fail::Open)) => shown,
        (Err(_), None) => Err(Failure::answer(CANNOT_TELL)),
    }
}

fn print(args: &Args, text: &str, answer: impl Fn() -> serde_json::Value) -> Result<(), Failure> {
    match (args.json, args.quiet) {
        (true, _) => terminal::write_json(&format!("{:#}\n", answer())),
        (false, true) => Ok(()),
        (false, false) => terminal::write(text),
    }
}

async fn judge(args: &Args) -> anyhow::Result<Vec<Judgement>> {
    let (repo, config) = surroundings(&args.place).await?;
    let mut judge = Judge::open(&repo, &config).await?;
    if let Some(name) = &args.commit {
        let commit = Landing::commit(&repo, name).await?;
        return Ok(vec![judge.judge(commit).await?]);
    }
    if let Some(range) = &args.range {
        if !range.contains("..") || range.starts_with('-') {
            return Err(anyhow!("--range {range}: expected A..B"));
        }
        return range::answer_range(&mut judge, &[range]).await;
    }
    if args.push {
        let mut lines = String::new();
        io::stdin().read_to_string(&mut lines).context("cannot read what is pushed")?;
        return judge_push(&mut judge, args.remote.as_deref(), &Update::read(&lines)?).await;
    }
    Ok(vec![judge.judge_staged().await?])
}

/// The repository that is meant, and the settings that hold in it.
pub(super) async fn surroundings(place: &Place) -> anyhow::Result<(UserRepo, Config)> {
    let dir = match &place.repo {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()?,
    };
    let repo = UserRepo::find(&dir).await.map_err(name_repo_option)?;
    let config = settings(place)?;
    Ok((repo, config))
}

/// Adds the next step to the error of a folder outside of any repository.
pub(super) fn name_repo_option(error: GitError) -> anyhow::Error {
    let is_outside = matches!(error, GitError::NotARepository { .. });
    if is_outside { anyhow!("{error}; change to one or pass --repo") } else { error.into() }
}

pub(super) fn settings(place: &Place) -> anyhow::Result<Config> {
    Ok(place.settle(None).map_err(|failure| failure.error)?.config)
}

/// Nothing to be judged: wrong words, not a wrong change.
pub(super) fn cannot_tell(error: anyhow::Error) -> Failure {
    Failure::new(USAGE, error)
}
