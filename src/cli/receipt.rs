//! `countersign receipt`: which review approved a commit, written where the commit goes.
//!
//! A note (`refs/notes/countersign`, one line of JSON) leaves the commit as it is; a trailer is part of it and travels
//! by itself. Neither is a proof: that is the database (`countersign verify`). So one is written only where the gate
//! says yes.

use super::{
    Failure, USAGE,
    gate::{Answer, Judge, Judgement, Landing, judge_range, line, short, surroundings},
    place::Place,
    terminal,
};
use crate::config;
use anyhow::{Context as _, anyhow};
use domain::time::Timestamp;
use git::UserRepo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;

const NOTES: &str = "--ref=refs/notes/countersign";
const KEY: &str = "Countersigned";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A commit, or a range A..B
    #[arg(default_value = "HEAD")]
    commit: String,
    /// As a git note
    #[arg(long, group = "how")]
    note: bool,
    /// As a line in the message of the last commit, which is amended
    #[arg(long, group = "how")]
    trailer: bool,
    /// Only show what is there
    #[arg(long, group = "how")]
    show: bool,
    /// Amend also a commit that a remote has
    #[arg(long, requires = "trailer")]
    force: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What a commit carries of its approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub review: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_id: Option<String>,
    pub content_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// Of the commit it was written for.
    pub tree: String,
    #[serde(default)]
    pub reviewers: Vec<Reviewer>,
    /// The commit, for whoever writes it.
    #[serde(skip)]
    commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reviewer {
    pub id: String,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl Receipt {
    /// `None` where no review approved it.
    pub(super) fn of(judged: &Judgement) -> Option<Self> {
        let case = &judged.approval()?.case;
        let reviewers = case.approvers.iter().map(|approver| Reviewer {
            id: approver.reviewer.clone(),
            persona: approver.persona.clone(),
            at: moment(approver.at),
        });
        Some(Self {
            review: case.number.to_string(),
            review_id: Some(case.id.to_string()),
            content_hash: case.content_hash.clone(),
            patch_id: case.patch_id.clone(),
            tree: judged.landing.tree.clone(),
            reviewers: reviewers.collect(),
            commit: judged.landing.commit.clone(),
        })
    }

    /// What was attached to a commit: its note, and what its message says.
    pub(super) async fn list(repo: &UserRepo, commit: &str) -> anyhow::Result<Vec<Self>> {
        let note = repo.try_git(["notes", NOTES, "show", commit]).await?;
        let mut found = Vec::new();
        if note.success {
            found.extend(note.text().lines().filter_map(|line| serde_json::from_str(line).ok()));
        }
        let format = format!("--format=%(trailers:key={KEY},valueonly,unfold)");
        let trailers = repo.git(["rev-list", "--no-walk", "--no-commit-header", &format, commit]).await?;
        found.extend(trailers.lines().filter_map(Self::read));
        Ok(found)
    }

    /// `R-12 sha256:… tree:… by codex-r1 (general), ada (security)`
    fn read(value: &str) -> Option<Self> {
        let (facts, reviewers) = value.trim().split_once(" by ").unwrap_or((value.trim(), ""));
        let mut facts = facts.split_whitespace();
        let review = facts.next()?.to_owned();
        let fact = |name: &str| facts.clone().find_map(|fact| fact.strip_prefix(name)).map(str::to_owned);
        let reviewers = reviewers.split(", ").filter_map(|reviewer| {
            let (id, persona) = reviewer.strip_suffix(')')?.rsplit_once(" (")?;
            Some(Reviewer { id: id.to_owned(), persona: persona.to_owned(), at: None })
        });
        Some(Self {
            review,
            review_id: None,
            content_hash: fact("sha256:")?,
            patch_id: None,
            tree: fact("tree:")?,
            reviewers: reviewers.collect(),
            commit: None,
        })
    }

    fn trailer(&self) -> String {
        let reviewers = self.reviewers.iter().map(|who| format!("{} ({})", plain(&who.id), plain(&who.persona)));
        let reviewers = reviewers.collect::<Vec<_>>().join(", ");
        format!("{KEY}: {} sha256:{} tree:{} by {reviewers}", self.review, self.content_hash, self.tree)
    }

    pub(super) async fn write_note(&self, repo: &UserRepo) -> anyhow::Result<()> {
        let commit = self.commit.as_deref().context("a note needs a commit")?;
        let text = serde_json::to_string(self)?;
        repo.git(["notes", NOTES, "add", "--force", "--message", &text, commit]).await?;
        Ok(())
    }

    /// In the place of one that the message has from before.
    pub(super) async fn add_to_message(&self, repo: &UserRepo, file: &Path) -> anyhow::Result<()> {
        let trailer = self.trailer();
        let options = ["interpret-trailers", "--in-place", "--if-exists", "replace", "--trailer", &trailer];
        let file = std::path::absolute(file)?;
        repo.git(options.iter().map(std::ffi::OsStr::new).chain([file.as_os_str()])).await?;
        Ok(())
    }

    /// The message alone changes: what is staged stays staged.
    async fn amend(&self, repo: &UserRepo) -> anyhow::Result<()> {
        let message = repo.git(["rev-list", "--no-walk", "--no-commit-header", "--format=%B", "HEAD"]).await?;
        let trailer = self.trailer();
        let options = ["interpret-trailers", "--if-exists", "replace", "--trailer", &trailer];
        let message = repo.git_with_input(options, format!("{message}\n").as_bytes()).await?;
        let amend = ["commit", "--amend", "--only", "--no-verify", "--quiet", "--file", "-"];
        repo.git_with_input(amend, message.stdout()).await?;
        Ok(())
    }
}

/// Names are anybody's: no line of a message may end in one.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || c == '(' || c == ')' || c == ',' { '_' } else { c }).collect()
}

fn moment(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(at.0).ok().map(|at| at.to_string())
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let (repo, config) = surroundings(&args.place).await.map_err(|error| Failure::new(USAGE, error))?;
    if args.show {
        return show(&args, &repo).await;
    }
    let mut judge = Judge::open(&repo, &config).await.map_err(|error| Failure::new(USAGE, error))?;
    let judged = match args.commit.contains("..") {
        true => judge_range(&mut judge, &[&args.commit]).await?,
        false => vec![judge.judge(Landing::commit(&repo, &args.commit).await?).await?],
    };
    let as_trailer = args.trailer || (!args.note && config.gate.receipt == config::Receipt::Trailer);
    let mut missing = false;
    for judged in &judged {
        match Receipt::of(judged) {
            Some(receipt) if as_trailer => write_trailer(&args, &repo, &receipt).await?,
            Some(receipt) => receipt.write_note(&repo).await?,
            None => missing |= !judged.passes(),
        }
        report(&args, judged)?;
    }
    if missing { Err(Failure::answer(1)) } else { Ok(()) }
}

async fn write_trailer(args: &Args, repo: &UserRepo, receipt: &Receipt) -> anyhow::Result<()> {
    let commit = receipt.commit.as_deref().unwrap_or_default();
    if Some(commit) != super::gate::head(repo).await?.as_deref() {
        return Err(anyhow!("only the last commit can be given a trailer; {} has others on top", short(commit)));
    }
    let pushed = repo.git(["branch", "--remotes", "--contains", commit]).await?;
    if !pushed.is_empty() && !args.force {
        let branch = pushed.lines().next().unwrap_or_default().trim();
        return Err(anyhow!("{} is on {branch}; --force amends it all the same", short(commit)));
    }
    receipt.amend(repo).await
}

fn report(args: &Args, judged: &Judgement) -> Result<(), Failure> {
    let receipt = Receipt::of(judged);
    let words = match (&judged.answer, &receipt) {
        (Answer::Approved(_), Some(receipt)) => {
            format!("{}: receipt of {} written", judged.landing.name(), receipt.review)
        }
        (Answer::Needless(_), _) => format!("{}, and needs no receipt", line(judged)),
        (Answer::Approved(_) | Answer::Unapproved(_) | Answer::Unseen(_), _) => {
            format!("{}; no receipt is written", line(judged))
        }
    };
    let value = json!({ "commit": judged.landing.commit, "receipt": receipt, "words": words });
    match args.json {
        true => terminal::write_json(&format!("{value}\n")),
        false => terminal::write(&format!("{words}\n")),
    }
}

async fn show(args: &Args, repo: &UserRepo) -> Result<(), Failure> {
    let commit = Landing::commit(repo, &args.commit).await?;
    let receipts = Receipt::list(repo, commit.commit.as_deref().unwrap_or_default()).await?;
    if args.json {
        return terminal::write_json(&format!("{:#}\n", json!({ "commit": commit.commit, "receipts": receipts })));
    }
    let text = match receipts.is_empty() {
        true => format!("{} has no receipt\n", commit.name()),
        false => receipts.iter().map(|receipt| format!("{}\n", domain::text::escape(&receipt.trailer()))).collect(),
    };
    terminal::write(&text)
}

#[cfg(test)]
mod tests {
    use super::{Receipt, Reviewer};

    #[test]
    fn a_trailer_reads_as_it_was_written() {
        let who = |id: &str, persona: &str| Reviewer { id: id.into(), persona: persona.into(), at: None };
        let receipt = Receipt {
            review: "R-12".into(),
            review_id: None,
            content_hash: "ab".into(),
            patch_id: None,
            tree: "cd".into(),
            reviewers: vec![who("codex-r1", "general"), who("by me", "security")],
            commit: None,
        };
        let trailer = receipt.trailer();
        assert_eq!(trailer, "Countersigned: R-12 sha256:ab tree:cd by codex-r1 (general), by me (security)");
        assert_eq!(Receipt::read(trailer.strip_prefix("Countersigned: ").unwrap()), Some(receipt));
        assert_eq!(Receipt::read("yes"), None);
    }
}
