//! `countersign land`: makes the approved content of a review the next commit of a branch.
//!
//! The commit is made from the approved diff alone, without hooks, filters and settings of the repository. It lands only
//! if the gate accepts it on the commit that the branch has at that moment.

mod branch;
mod commit_text;
mod report;
mod working_trees;

use crate::{
    CliError,
    approval_source_args::SourceArgs,
    client::Client,
    commands::gate::remote_name,
    completion,
    config_overrides::ConfigArgs,
    gate_settings::open_for_command,
    render::{clipped, gate::short_id},
    terminal,
};
use anyhow::anyhow;
use api::{
    messages::MessageRequest,
    operation::{AddMessage, CloseReview},
    reviews::CloseReviewRequest,
};
use config::Config;
use domain::{
    approvals::ApprovalFilter,
    credential::Authority,
    ids::ReviewNumber,
    review::{Recipient, Role, Status},
    text::escape,
};
use gate::{Candidate, Gate, Landing, LandingOutcome, LandingRefusal, ReceiptSigner, ReviewedContent, Trailer};
use git::{BranchUpdate, NewCommit};
use report::{Refusal, Report, Row, Work};
use serde_json::Value;
use working_trees::Move;

/// How often a branch may move while a commit is made for it.
const MAX_ATTEMPTS: usize = 5;
const MAX_QUEUE: usize = 1000;
/// The sender of messages to proposers, if no token says a name.
const SENDER: &str = "land";
const MESSAGE_CHARS: usize = 300;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// R-12, 12, an id or the beginning of one
    #[arg(value_name = "REVIEW", required_unless_present = "queue", conflicts_with = "queue", add = completion::reviews())]
    review: Option<String>,
    /// Land all approved reviews of the project: by priority, and the longest approved first
    #[arg(long)]
    queue: bool,
    /// Land on this local branch [default: the one that the change was compared with, else the current one]
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
    /// Push the branch afterwards, to REMOTE [default: the remote that git would push to]
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    push: Option<String>,
    /// Do not close the reviews that landed
    #[arg(long)]
    keep_open: bool,
    /// Show what would land; move no branch and change no file
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let (gate, settings) = open_for_command(&args.config, &args.source).await.map_err(CliError::usage)?;
    let client = find_broker(&args, &settings.config).await?;
    let signer = args.source.url.is_none().then(|| settings.receipt_signer());
    let mut lander = Lander { args: &args, gate, client, signer };
    let rows = match &args.review {
        Some(name) => vec![lander.land_named(name).await?],
        None => lander.land_queue().await?,
    };
    let report = Report { rows, is_queue: args.queue };
    let printed =
        if args.json { terminal::write_pretty_json(&report.to_answer()) } else { terminal::write(&report.to_text()) };
    // The exit code says no even if the output could not be written.
    if report.passes() { printed } else { Err(CliError::answer(1)) }
}

/// The broker that closes what has landed. Without an address it need not run.
async fn find_broker(args: &Args, config: &Config) -> Result<Option<Client>, CliError> {
    match args.source.client()? {
        Some(client) => Ok(Some(client)),
        None => Ok(Client::of_data_dir(&config.server.data_dir).await.ok()),
    }
}

struct Lander<'a> {
    args: &'a Args,
    gate: Gate,
    client: Option<Client>,
    /// `None` if the database is elsewhere.
    signer: Option<ReceiptSigner>,
}

impl Lander<'_> {
    async fn land_named(&mut self, name: &str) -> Result<Row, CliError> {
        let number = match self.gate.find_reviews(name).await?.as_slice() {
            [number] => *number,
            [] => return Err(anyhow!("no review {name:?}; `countersign list` shows all").into()),
            several => {
                let numbers: Vec<_> = several.iter().map(ToString::to_string).collect();
                return Err(anyhow!("{name:?} is ambiguous: {}", numbers.join(", ")).into());
            }
        };
        self.land(number).await
    }

    /// Each review is compared with the branch as the one before has left it.
    async fn land_queue(&mut self) -> Result<Vec<Row>, CliError> {
        let filter = ApprovalFilter { open: true, ..ApprovalFilter::default() };
        let mut rows = Vec::new();
        for review in self.gate.list_approvals(filter, MAX_QUEUE).await? {
            let row = self.land(review.number).await?;
            if matches!(row.work, Work::Refused(Refusal::Gate(LandingRefusal::OtherProject))) {
                continue;
            }
            if let (Work::Refused(Refusal::Gate(LandingRefusal::DoesNotApply(_))), Some(branch), false) =
                (&row.work, &row.branch, self.args.dry_run)
            {
                self.tell_proposer(&row, branch).await;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    async fn land(&mut self, number: ReviewNumber) -> Result<Row, CliError> {
        let missing = || anyhow!("no review {number}");
        let review = self.gate.find_review(number).await?.ok_or_else(missing)?;
        let mut row = Row::new(review);
        let branch = match branch::find(&self.gate, &row.review, self.args.onto.as_deref()).await? {
            Ok(branch) => branch,
            Err(message) => {
                row.work = Work::Refused(Refusal::NoBranch(message));
                return Ok(row);
            }
        };
        row.branch = Some(branch.clone());
        for _ in 0..MAX_ATTEMPTS {
            let Some(tip) = self.gate.git.find_branch(&branch).await? else {
                row.work = Work::Refused(Refusal::NoBranch(format!("the branch {branch} is gone")));
                return Ok(row);
            };
            let landing = self.gate.plan_landing(number, &tip).await?.ok_or_else(missing)?;
            let work = match &landing.outcome {
                LandingOutcome::Landed(commit) => Some(Work::HadLanded(commit.clone())),
                LandingOutcome::Ready(candidate) => {
                    self.make_commit(&landing, candidate, &branch, &tip, &mut row).await?
                }
                LandingOutcome::Refused(_) => None,
            };
            row.review = landing.review;
            if let LandingOutcome::Refused(refusal) = landing.outcome {
                row.work = Work::Refused(Refusal::Gate(refusal));
                return Ok(row);
            }
            if let Some(work) = work {
                row.work = work;
                self.finish(&mut row, &branch).await;
                return Ok(row);
            }
        }
        row.work = Work::Refused(Refusal::Moving);
        Ok(row)
    }

    /// Makes the commit and moves the branch to it. `None` if the branch has moved meanwhile.
    async fn make_commit(
        &mut self,
        landing: &Landing,
        candidate: &Candidate,
        branch: &str,
        tip: &str,
        row: &mut Row,
    ) -> Result<Option<Work>, CliError> {
        let review = &landing.review;
        let committer = commit_text::committer(&self.gate.repo).await?;
        let message = commit_text::message(review, &Trailer::new(&review.into(), &candidate.tree));
        let commit = self
            .gate
            .git
            .write_commit(&NewCommit {
                parent: tip,
                diff: review.diff.as_deref().unwrap_or_default(),
                tree: &candidate.tree,
                author: &commit_text::author(review, &committer),
                committer: &committer,
                message: &message,
            })
            .await?;
        let decision = match self.gate.check_landing(landing, &commit).await? {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Some(Work::Refused(Refusal::Gate(refusal)))),
        };
        let git = &self.gate.git;
        let paths = git.changed_paths(&git.tree_of(Some(tip)).await?, &candidate.tree).await?;
        let update = Move { from: tip, to: &commit, paths: &paths };
        let trees = match working_trees::check(git, branch, update).await? {
            Ok(trees) => trees,
            Err(message) => return Ok(Some(Work::Refused(Refusal::WorkingTree(message)))),
        };
        if self.args.dry_run {
            return Ok(Some(Work::WouldLand { parent: tip.to_owned(), tree: candidate.tree.clone() }));
        }
        let reason = format!("countersign: {} landed", review.number);
        let update_of_branch = BranchUpdate { branch, from: tip, to: &commit, committer: &committer, reason: &reason };
        if !git.move_branch(&update_of_branch).await? {
            return Ok(None);
        }
        for tree in &trees {
            match tree.follow(update).await {
                Ok(()) => row.working_trees.push(tree.folder().display().to_string()),
                Err(error) => row.problems.push(format!("{error:#}")),
            }
        }
        match &self.signer {
            None => row.remarks.push(
                "no receipt was signed: the signing key is where the database is; run `countersign receipt` there"
                    .to_owned(),
            ),
            Some(signer) => {
                if let Err(error) = signer.attach(&self.gate.repo, &decision).await {
                    row.remarks.push(format!("no receipt was signed: {error}"));
                }
            }
        }
        Ok(Some(Work::Landed { commit, parent: tip.to_owned(), tree: candidate.tree.clone() }))
    }

    /// Closes the review and pushes the branch. A repeat of the command does what is missing.
    async fn finish(&self, row: &mut Row, branch: &str) {
        let Some(commit) = row.work.commit().map(str::to_owned) else { return };
        if self.args.dry_run {
            return;
        }
        if row.review.status == Status::Approved && !self.args.keep_open {
            match self.close(&row.review, commit.clone()).await {
                Ok(()) => row.closed = true,
                Err(message) => row.open_because = Some(message),
            }
        }
        if let Some(remote) = &self.args.push {
            match self.push(remote, branch, &commit).await {
                Ok(remote) => row.pushed_to = Some(remote),
                Err(error) => row.problems.push(format!("not pushed: {error:#}")),
            }
        }
    }

    async fn close(&self, review: &ReviewedContent, commit: String) -> Result<(), String> {
        let Some(client) = &self.client else { return Err("no broker answers".to_owned()) };
        let request = CloseReviewRequest {
            review_id: review.review_id.to_string(),
            closer_role: Some(Role::Proposer),
            caller_id: None,
            landed_as: Some(commit),
        };
        let closed = client.execute_quietly::<CloseReview, Value>(&request).await;
        closed.map(drop).map_err(|error| format!("{:#}", error.error))
    }

    async fn push(&self, remote: &str, branch: &str, commit: &str) -> anyhow::Result<String> {
        let repo = &self.gate.repo;
        let remote = if remote.is_empty() { remote_name(repo).await? } else { remote.to_owned() };
        repo.git(["push", "--quiet", "--", &remote, &format!("{commit}:refs/heads/{branch}")]).await?;
        Ok(remote)
    }

    /// Says that the branch has moved on. The review stays approved: its content may still fit another branch.
    async fn tell_proposer(&self, row: &Row, branch: &str) {
        let Some(client) = &self.client else { return };
        let body = format!(
            "The approved change no longer applies to {branch}, so it cannot land. Rebase it and submit the next round."
        );
        let request = MessageRequest {
            review_id: row.review.review_id.to_string(),
            sender_role: Some(Authority::Operator),
            body,
            to: Some(Recipient::Proposer),
            caller_id: Some(SENDER.to_owned()),
            ..MessageRequest::default()
        };
        if let Err(error) = client.execute_quietly::<AddMessage, Value>(&request).await {
            let number = row.review.number;
            terminal::remark(&format!(
                "{number}: its proposer was not informed: {}",
                clipped(&format!("{:#}", error.error), MESSAGE_CHARS)
            ));
        }
    }
}

/// A short id, safe to print.
fn short(commit: &str) -> String {
    escape(short_id(commit)).into_owned()
}
