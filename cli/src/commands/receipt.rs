//! `countersign receipt`: signs which review approved a commit, and writes it into the repository.
//!
//! Receipts are written only for commits that the gate approves.

use crate::{
    CliError,
    approval_source_args::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{locate, name_repo_option, open_for_command},
    render::gate::{describe, name, short_id},
    terminal,
};
use anyhow::anyhow;
use domain::text::escape;
use gate::{Candidate, CommitRange, Decision, Outcome, Receipt, ReceiptFault, Trailer, list_receipts};
use git::UserRepo;
use serde_json::{Value, json};
use std::collections::HashSet;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A commit, or a range A..B
    #[arg(default_value = "HEAD")]
    commit: String,
    /// Sign the receipt and write it as a git note
    #[arg(long, group = "how")]
    note: bool,
    /// Amend the last commit and add a line to its message, which names the review and proves nothing
    #[arg(long, group = "how")]
    trailer: bool,
    /// Show the receipts of the commit, without a check, and write nothing
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

/// What was written for a commit.
enum Written {
    Receipt(Box<Receipt>),
    /// The receipt at this commit covers a series.
    InSeries(String),
    Trailer(Trailer),
    Nothing,
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
    let mut signed = HashSet::new();
    for decision in &decisions {
        let written = if as_trailer {
            write_trailer(&args, &repo, decision).await?
        } else if let Some(approval) =
            decision.approval().filter(|approval| !signed.insert(approval.change.commit.clone()))
        {
            Written::InSeries(approval.change.commit.clone().unwrap_or_default())
        } else {
            let receipt = settings.receipt_signer().attach(&repo, decision).await?;
            receipt.map_or(Written::Nothing, |receipt| Written::Receipt(Box::new(receipt)))
        };
        print(&args, decision, &written)?;
    }
    if decisions.iter().all(Decision::passes) { Ok(()) } else { Err(CliError::answer(1)) }
}

async fn write_trailer(args: &Args, repo: &UserRepo, decision: &Decision) -> anyhow::Result<Written> {
    let Some(trailer) = Trailer::from_decision(decision) else { return Ok(Written::Nothing) };
    let commit = decision.candidate.commit.as_deref().unwrap_or_default();
    if Some(commit) != repo.resolve_commit("HEAD").await?.as_deref() {
        return Err(anyhow!("only the last commit can get a trailer; {} has commits on top", short_id(commit)));
    }
    let remotes = repo.git(["branch", "--remotes", "--contains", commit]).await?;
    if !remotes.is_empty() && !args.force {
        let branch = remotes.lines().next().unwrap_or_default().trim();
        return Err(anyhow!("{} is already on {branch}; pass --force to amend it", short_id(commit)));
    }
    trailer.amend_head(repo).await?;
    Ok(Written::Trailer(trailer))
}

fn print(args: &Args, decision: &Decision, written: &Written) -> Result<(), CliError> {
    let name = name(&decision.candidate);
    let review = decision.approval().map(|approval| approval.review.number.to_string()).unwrap_or_default();
    let message = match (&decision.outcome, written) {
        (_, Written::Receipt(receipt)) => {
            let last = receipt.statement.commit().filter(|last| Some(*last) != decision.candidate.commit.as_deref());
            let place = last.map(|last| format!(" at {}", short_id(last))).unwrap_or_default();
            format!("{name}: signed a receipt for {review}{place} with key {}", receipt.key_id())
        }
        (_, Written::InSeries(last)) => format!("{name}: the receipt for {review} is at {}", short_id(last)),
        (_, Written::Trailer(_)) => format!("{name}: wrote a trailer for {review}"),
        (Outcome::Exempt(_), Written::Nothing) => format!("{}; no receipt needed", describe(decision)),
        (
            Outcome::Approved(_) | Outcome::Unapproved(_) | Outcome::Refused(_) | Outcome::NotExamined(_),
            Written::Nothing,
        ) => format!("{}; no receipt written", describe(decision)),
    };
    if !args.json {
        return terminal::write(&format!("{message}\n"));
    }
    let mut line = json!({ "commit": decision.candidate.commit, "message": message });
    match written {
        Written::Receipt(receipt) => line["receipt"] = receipt_answer(receipt),
        Written::Trailer(trailer) => line["trailer"] = json!(trailer),
        Written::InSeries(_) | Written::Nothing => {}
    }
    terminal::write_json(&format!("{line}\n"))
}

fn receipt_answer(receipt: &Receipt) -> Value {
    json!({ "key": receipt.key_id(), "statement": receipt.statement, "envelope": receipt.envelope })
}

async fn show(args: &Args, repo: &UserRepo) -> Result<(), CliError> {
    let commit = Candidate::from_commit(repo, &args.commit).await?;
    let id = commit.commit.as_deref().unwrap_or_default();
    let (receipts, trailers) = (list_receipts(repo, id).await?, Trailer::list(repo, id).await?);
    if args.json {
        let answer = |receipt: &Result<Receipt, ReceiptFault>| match receipt {
            Ok(receipt) => receipt_answer(receipt),
            Err(fault) => json!({ "fault": fault.to_string() }),
        };
        let receipts: Vec<_> = receipts.iter().map(answer).collect();
        return terminal::write_pretty_json(&json!({ "commit": id, "receipts": receipts, "trailers": trailers }));
    }
    let mut out: String = receipts.iter().map(describe_receipt).collect();
    out.extend(trailers.iter().map(|trailer| format!("{}\n", escape(&trailer.to_line()))));
    if out.is_empty() {
        out = format!("{} has no receipt\n", name(&commit));
    }
    terminal::write(&out)
}

fn describe_receipt(receipt: &Result<Receipt, ReceiptFault>) -> String {
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(fault) => return format!("{fault}\n"),
    };
    let predicate = &receipt.statement.predicate;
    let review = &predicate.review;
    let votes = review.votes.iter().map(|vote| {
        let signed = if vote.signature.is_some() { ", signed by the reviewer" } else { "" };
        format!("  {} ({}) {} at {}{signed}\n", escape(&vote.reviewer), escape(&vote.persona), vote.verdict, vote.at)
    });
    let (project, key) = (review.project.as_deref().unwrap_or("none"), escape(receipt.key_id()));
    let head = format!("{} of project {}, signed at {}", review.number, escape(project), predicate.signed_at);
    format!("receipt for {head} with key {key}, not checked\n{}", votes.collect::<String>())
}
