//! `countersign verify`: lists which commits of a range are approved, with the evidence for each.

use crate::{
    CliError,
    approval_source_args::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{Caller, GateFailure, GateSettings, SignersArgs, locate, name_repo_option},
    render::{
        clipped,
        gate::{describe, describe_near_miss, short_id, yes_or_no},
        table,
    },
    terminal,
};
use anyhow::{Context as _, anyhow};
use gate::{
    ApprovalSource, Candidate, CommitRange, Gate, NearMiss, Outcome, SIGNERS_FILE, Standing, VerifiedCommit,
    default_range,
};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use store::read_only_database::ReadOnlyStore;

const SUBJECT_CHARS: usize = 50;
const REASON_CHARS: usize = 200;
const REVIEW_CHARS: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A..B, or one commit [default: commits of HEAD that are not on its upstream, else not on the main branch]
    range: Option<String>,
    #[command(flatten)]
    signers: SignersArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

struct Report {
    commits: Vec<VerifiedCommit>,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    // The exit code of a failure must differ from the one that says no.
    let report = verify(&args).await.map_err(CliError::usage)?;
    let printed =
        if args.json { terminal::write_pretty_json(&report.to_answer()) } else { terminal::page(&report.to_text()) };
    // The exit code says no even if the output could not be written.
    if report.passes() { printed } else { Err(CliError::answer(1)) }
}

async fn verify(args: &Args) -> anyhow::Result<Report> {
    let location = locate(&args.config).map_err(name_repo_option)?;
    let settings = GateSettings::load(&args.config, Some(location.root()), Caller::Command)?;
    let path = settings.config.server.data_dir.database();
    let (none, receipts) = (SourceArgs::default(), args.signers.source()?);
    let by_database = receipts.is_none() && path.exists();
    let has_source = by_database || receipts.is_some();
    let mut gate = if by_database {
        let policy = settings.policy(&none).map_err(GateFailure::error)?;
        Gate::open(&location, ReadOnlyStore::open(&path).await?, policy).await?
    } else {
        Gate::open(&location, receipts.unwrap_or_default(), settings.policy_for_receipts(&none)).await?
    };
    let range = match &args.range {
        Some(range) if range.starts_with('-') => return Err(anyhow!("{range}: expected A..B or a commit")),
        Some(range) if range.contains("..") => CommitRange::Reachable(range.clone()),
        Some(commit) => CommitRange::One(commit.clone()),
        None => CommitRange::Reachable(default_range(&gate.repo).await?),
    };
    if !has_source {
        gate.set_source(find_signers(&gate, &range, &path).await?);
    }
    Ok(Report { commits: gate.verify(&range).await? })
}

/// Without a database, the signers that the start of the range has.
async fn find_signers(gate: &Gate, range: &CommitRange, database: &Path) -> anyhow::Result<ApprovalSource> {
    let signers = gate.read_signers_at_start(range).await.with_context(|| format!("{SIGNERS_FILE} at the start"))?;
    signers.map(ApprovalSource::from).ok_or_else(|| {
        anyhow!(
            "no database at {}, and the start of the range has no {SIGNERS_FILE}; pass --signers FILE, or a range A..B where \
             A has that file",
            database.display()
        )
    })
}

impl Report {
    fn passes(&self) -> bool {
        self.commits.iter().all(|commit| commit.standing.passes())
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
                [id(&commit.decision.candidate), commit.standing.as_str().to_owned(), review, subject]
            })
            .collect();
        let mut out = table(["COMMIT", "STANDING", "REVIEW", "SUBJECT"], rows);
        let bad: Vec<_> = self.commits.iter().filter(|commit| !commit.standing.passes()).collect();
        out.push_str(&match bad.len() {
            0 => format!("{total} of {total} approved, or nothing to approve\n"),
            bad => format!("{bad} of {total} without an approval:\n"),
        });
        for commit in bad {
            let reason = clipped(&explain(commit), REASON_CHARS);
            out.push_str(&format!("  {}  {reason}\n", id(&commit.decision.candidate)));
        }
        out
    }

    /// The answer of `verify --json`.
    fn to_answer(&self) -> impl Serialize {
        let commits = self.commits.iter().map(|commit| {
            let Candidate { commit: id, subject, tree, .. } = &commit.decision.candidate;
            let (standing, review, why) = (commit.standing.as_str(), commit.review(), explain(commit));
            json!({ "commit": id, "subject": subject, "tree": tree, "standing": standing, "review": review, "why": why })
        });
        json!({ "answer": yes_or_no(self.passes()), "commits": commits.collect::<Vec<_>>() })
    }
}

fn id(candidate: &Candidate) -> String {
    short_id(candidate.commit.as_deref().unwrap_or_default()).to_owned()
}

fn explain(commit: &VerifiedCommit) -> String {
    let claim = match &commit.standing {
        Standing::Unproven { review } if review.is_empty() => "it has a note, but ".to_owned(),
        Standing::Unproven { review } => format!("it names {}, but ", clipped(review, REVIEW_CHARS)),
        Standing::Proven | Standing::Clear | Standing::None => String::new(),
    };
    let Outcome::Unapproved(near_misses) = &commit.decision.outcome else {
        return format!("{claim}{}", describe(&commit.decision));
    };
    match near_misses.first() {
        Some(near_miss @ NearMiss::Receipt(_)) => format!("{claim}{}", describe_near_miss(near_miss)),
        Some(near_miss @ NearMiss::Review { .. }) => format!("{claim}no approval; {}", describe_near_miss(near_miss)),
        None => format!("{claim}no approval"),
    }
}
