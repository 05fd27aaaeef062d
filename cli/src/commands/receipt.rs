//! `countersign receipt`: writes into the repository which review approved a commit.
//!
//! Receipts are written only for commits that the gate approves.

use crate::{
    CliError,
    approval_source::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{locate, name_repo_option, open_for_command},
    render::gate::{describe, name, short_id},
    terminal,
};
use anyhow::anyhow;
use domain::text::escape;
use gate::{Candidate, CommitRange, Decision, Outcome, Receipt};
use git::UserRepo;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A commit, or a range A..B
    #[arg(default_value = "HEAD")]
    commit: String,
    /// Write a git note
    #[arg(long, group = "how")]
    note: bool,
    /// Amend the last commit and add a line to its message
    #[arg(long, group = "how")]
    trailer: bool,
    /// Show the receipts of the commit and write nothing
    #[arg(long, group = "how")]
    show: bool,
    /// Amend the commit even if a remote has it
    #[arg(long, requires = "trailer")]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    if args.show {
        let root = locate(&args.config).map_err(name_repo_option).map_err(CliError::usage)?.root().to_owned();
        return show(&args, &UserRepo::at(root)).await;
    }
    let (mut gate, settings) = open_for_command(&args.config, &SourceArgs::default()).await.map_err(CliError::usage)?;
    let repo = gate.repo.clone();
    let range = match args.commit.contains("..") {
        true => CommitRange::Reachable(args.commit.clone()),
        false => CommitRange::One(args.commit.clone()),
    };
    let decisions = gate.decide_each(&range).await?;
    let as_trailer = args.trailer || (!args.note && settings.receipt == config::ReceiptKind::Trailer);
    let mut all_pass = true;
    for decision in &decisions {
        let receipt = Receipt::from_decision(decision);
        match &receipt {
            Some(receipt) if as_trailer => write_trailer(&args, &repo, receipt).await?,
            Some(receipt) => receipt.write_note(&repo).await?,
            None => all_pass &= decision.passes(),
        }
        print(&args, decision, receipt.as_ref())?;
    }
    if all_pass { Ok(()) } else { Err(CliError::answer(1)) }
}

async fn write_trailer(args: &Args, repo: &UserRepo, receipt: &Receipt) -> anyhow::Result<()> {
    let commit = receipt.commit.as_deref().unwrap_or_default();
    if Some(commit) != repo.resolve_commit("HEAD").await?.as_deref() {
        return Err(anyhow!("only the last commit can get a trailer; {} has commits on top", short_id(commit)));
    }
    let remotes = repo.git(["branch", "--remotes", "--contains", commit]).await?;
    if !remotes.is_empty() && !args.force {
        let branch = remotes.lines().next().unwrap_or_default().trim();
        return Err(anyhow!("{} is already on {branch}; pass --force to amend it", short_id(commit)));
    }
    Ok(receipt.amend_head(repo).await?)
}

fn print(args: &Args, decision: &Decision, receipt: Option<&Receipt>) -> Result<(), CliError> {
    let message = match (&decision.outcome, receipt) {
        (Outcome::Approved(_), Some(receipt)) => {
            format!("{}: wrote a receipt for {}", name(&decision.candidate), receipt.review)
        }
        (Outcome::Exempt(_), _) => format!("{}; no receipt needed", describe(decision)),
        (Outcome::Approved(_) | Outcome::Unapproved(_) | Outcome::Refused(_) | Outcome::NotExamined(_), _) => {
            format!("{}; no receipt written", describe(decision))
        }
    };
    if args.json {
        let line = json!({ "commit": decision.candidate.commit, "receipt": receipt, "message": message });
        terminal::write_json(&format!("{line}\n"))
    } else {
        terminal::write(&format!("{message}\n"))
    }
}

async fn show(args: &Args, repo: &UserRepo) -> Result<(), CliError> {
    let commit = Candidate::from_commit(repo, &args.commit).await?;
    let receipts = Receipt::list(repo, commit.commit.as_deref().unwrap_or_default()).await?;
    if args.json {
        return terminal::write_pretty_json(&json!({ "commit": commit.commit, "receipts": receipts }));
    }
    let text = match receipts.is_empty() {
        true => format!("{} has no receipt\n", name(&commit)),
        false => receipts.iter().map(|receipt| format!("{}\n", escape(&receipt.to_trailer()))).collect(),
    };
    terminal::write(&text)
}
