//! `countersign verify`: lists which commits of a range are approved, with the evidence for each.

use crate::{
    CliError,
    approval_source::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{Caller, GateSettings, locate, name_repo_option},
    render::{
        clipped,
        gate::{describe, describe_near_miss, short_id, yes_or_no},
        table,
    },
    terminal,
};
use anyhow::anyhow;
use gate::{Candidate, CommitRange, Evidence, Gate, Outcome, Receipt, VerifiedCommit, default_range};
use serde::Serialize;
use serde_json::json;
use store::read_only_database::ReadOnlyStore;

const SUBJECT_CHARS: usize = 50;
const REASON_CHARS: usize = 100;
const REVIEW_CHARS: usize = 20;
const REVIEWER_CHARS: usize = 40;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A..B, or one commit [default: commits of HEAD that are not on its upstream, else not on the main branch]
    range: Option<String>,
    /// Accept receipts for reviews that this database does not have
    #[arg(long)]
    trust_receipts: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

struct Report {
    commits: Vec<VerifiedCommit>,
    trust_receipts: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    // The exit code of a failure must differ from the one that says no.
    let report = verify(&args).await.map_err(CliError::usage)?;
    let printed =
        if args.json { terminal::write_pretty_json(&report.to_answer()) } else { terminal::write(&report.to_text()) };
    // The exit code says no even if the output could not be written.
    if report.passes() { printed } else { Err(CliError::answer(1)) }
}

async fn verify(args: &Args) -> anyhow::Result<Report> {
    let location = locate(&args.config).map_err(name_repo_option)?;
    let settings = GateSettings::load(&args.config, Some(location.root()), Caller::Command)?;
    let path = settings.config.server.data_dir.database();
    let database = if path.exists() { Some(ReadOnlyStore::open(&path).await?) } else { None };
    // Without a database, receipts are the only evidence.
    let trust_receipts = args.trust_receipts || database.is_none();
    let mut gate = Gate::open(
        &location,
        database.map(|database| Box::new(database) as _),
        settings.policy(&SourceArgs::default()),
    )
    .await?;
    let range = match &args.range {
        Some(range) if range.starts_with('-') => return Err(anyhow!("{range}: expected A..B or a commit")),
        Some(range) if range.contains("..") => CommitRange::Reachable(range.clone()),
        Some(commit) => CommitRange::One(commit.clone()),
        None => CommitRange::Reachable(default_range(&gate.repo).await?),
    };
    let commits = gate.verify(&range).await?;
    Ok(Report { commits, trust_receipts })
}

impl Report {
    fn is_good(&self, commit: &VerifiedCommit) -> bool {
        commit.evidence.passes(self.trust_receipts)
    }

    fn passes(&self) -> bool {
        self.commits.iter().all(|commit| self.is_good(commit))
    }

    fn to_text(&self) -> String {
        let total = self.commits.len();
        if total == 0 {
            return "no commits in this range\n".to_owned();
        }
        let rows: Vec<_> = self
            .commits
            .iter()
            .map(|commit| {
                let review = commit.review().map(|review| clipped(&review, REVIEW_CHARS)).unwrap_or_default();
                let subject = clipped(&commit.decision.candidate.subject, SUBJECT_CHARS);
                [id(&commit.decision.candidate), commit.evidence.as_str().to_owned(), review, subject]
            })
            .collect();
        let mut out = table(["COMMIT", "STANDING", "REVIEW", "SUBJECT"], rows);
        let bad: Vec<_> = self.commits.iter().filter(|commit| !self.is_good(commit)).collect();
        let is_receipted = |commit: &&VerifiedCommit| matches!(commit.evidence, Evidence::ReceiptOnly(_));
        let receipted = self.commits.iter().filter(is_receipted).count();
        out.push_str(&match (bad.len(), receipted) {
            (0, 0) => format!("{total} of {total} approved, or nothing to approve\n"),
            (0, receipted) => format!("{receipted} of {total} with a receipt only, which this database cannot prove\n"),
            (bad, _) => format!("{bad} of {total} without an approval:\n"),
        });
        for commit in bad {
            let reason = clipped(&describe_evidence(commit), REASON_CHARS);
            out.push_str(&format!("  {}  {reason}\n", id(&commit.decision.candidate)));
        }
        out
    }

    /// The answer of `verify --json`.
    fn to_answer(&self) -> impl Serialize {
        let commits = self.commits.iter().map(|commit| {
            let Candidate { commit: id, subject, tree, .. } = &commit.decision.candidate;
            let (standing, review, why) = (commit.evidence.as_str(), commit.review(), describe_evidence(commit));
            json!({ "commit": id, "subject": subject, "tree": tree, "standing": standing, "review": review, "why": why })
        });
        json!({ "answer": yes_or_no(self.passes()), "commits": commits.collect::<Vec<_>>() })
    }
}

fn id(candidate: &Candidate) -> String {
    short_id(candidate.commit.as_deref().unwrap_or_default()).to_owned()
}

fn describe_evidence(commit: &VerifiedCommit) -> String {
    let review = |receipt: &Receipt| clipped(&receipt.review, REVIEW_CHARS);
    match &commit.evidence {
        Evidence::Approval { receipt_matches } => {
            let receipt = match receipt_matches {
                Some(true) => ", with a receipt",
                Some(false) => "; its receipt is for another content",
                None => "",
            };
            format!("{}{receipt}", describe(&commit.decision))
        }
        Evidence::NotNeeded => describe(&commit.decision),
        Evidence::None => match &commit.decision.outcome {
            Outcome::Unapproved(near_misses) => {
                let near_miss = near_misses.first().map(|near_miss| format!("; {}", describe_near_miss(near_miss)));
                format!("no approval{}", near_miss.unwrap_or_default())
            }
            Outcome::Approved(_) | Outcome::Exempt(_) | Outcome::Refused(_) | Outcome::NotExamined(_) => {
                describe(&commit.decision)
            }
        },
        Evidence::ReceiptOfOtherTree(receipt) => format!("its receipt for {} is for another tree", review(receipt)),
        Evidence::ReceiptOfOtherContent(receipt) => {
            format!("its receipt names {}, but the content in the database is not this commit", review(receipt))
        }
        Evidence::ReceiptOnly(receipt) => {
            let reviewers: Vec<_> =
                receipt.reviewers.iter().map(|reviewer| clipped(&reviewer.id, REVIEWER_CHARS)).collect();
            let (review, reviewers) = (review(receipt), reviewers.join(", "));
            format!("its receipt names {review} by {reviewers}, which this database cannot prove")
        }
    }
}
