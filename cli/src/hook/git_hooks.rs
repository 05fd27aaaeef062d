//! The hooks that git runs: `pre-commit` and `pre-push` check that a change is approved; `commit-msg` and `post-commit` record
//! the approving review in the commit (the receipt).

use super::{Gated, PrePush};
use crate::{
    CliError,
    commands::gate::{load_config, open_gate, repo_and_config},
    config_overrides::ConfigArgs,
    render::gate::report,
    terminal::remark,
};
use config::{
    FailMode, ReceiptKind,
    planning_file::{GitPoint, PLANNING_FILE, PlanningConfig},
};
use domain::text::escape;
use gate::{Candidate, Decision, PushUpdate, Receipt};
use git::UserRepo;
use std::{
    io::{self, Read as _, Write as _},
    path::Path,
};

/// Exit code with which a hook makes git abort.
const REFUSED: u8 = 1;

pub(super) async fn pre_commit(args: Gated) -> Result<(), CliError> {
    let decisions = async {
        let (repo, config) = repo_and_config(&args.config).await?;
        if !is_required(GitPoint::Commit, &repo).await {
            return Ok(Vec::new());
        }
        Ok(vec![open_gate(&repo, &config).await?.decide_staged().await?])
    };
    conclude(decisions.await, &args)
}

pub(super) async fn pre_push(args: PrePush) -> Result<(), CliError> {
    let PrePush { remote, url: _, gated } = args;
    let decisions = async {
        // Read it in any case: git fails with a broken pipe if a hook does not.
        let mut lines = String::new();
        io::stdin().read_to_string(&mut lines)?;
        let (repo, config) = repo_and_config(&gated.config).await?;
        if !is_required(GitPoint::Push, &repo).await {
            return Ok(Vec::new());
        }
        let updates = PushUpdate::parse_lines(&lines)?;
        Ok(open_gate(&repo, &config).await?.decide_push(remote.as_deref(), &updates).await?)
    };
    conclude(decisions.await, &gated)
}

/// Prints nothing if everything is approved.
fn conclude(decisions: anyhow::Result<Vec<Decision>>, args: &Gated) -> Result<(), CliError> {
    match decisions {
        Ok(decisions) if decisions.iter().all(Decision::passes) => Ok(()),
        Ok(decisions) => {
            print_stderr(&report(&decisions));
            Err(CliError::answer(REFUSED))
        }
        Err(error) => match fail_mode(args.fail_mode.chosen(), &args.config) {
            FailMode::Open => {
                print_stderr(&format!("cannot check for an approval, so nothing was checked: {error:#}\n"));
                Ok(())
            }
            FailMode::Closed => {
                print_stderr(&format!("cannot check for an approval: {error:#}\n"));
                Err(CliError::answer(REFUSED))
            }
        },
    }
}

/// Whether a failed check refuses: by the command line, else by the settings. Unreadable settings mean open.
pub(super) fn fail_mode(chosen: Option<FailMode>, config_overrides: &ConfigArgs) -> FailMode {
    chosen.or_else(|| load_config(config_overrides).ok().map(|config| config.gate.fail)).unwrap_or(FailMode::Open)
}

/// Writes the receipt of the approving review: a trailer into the message that is about to be committed, or without a
/// message a note for the last commit.
pub(super) async fn write_receipt(config_overrides: &ConfigArgs, message: Option<&Path>) {
    let written = async {
        let (repo, config) = repo_and_config(config_overrides).await?;
        let mut gate = match (config.gate.receipt, message) {
            (ReceiptKind::Trailer, Some(_)) | (ReceiptKind::Note, None) => open_gate(&repo, &config).await?,
            (ReceiptKind::None | ReceiptKind::Note | ReceiptKind::Trailer, _) => return anyhow::Ok(()),
        };
        let decision = match message {
            Some(_) => gate.decide_staged().await?,
            None => gate.decide(Candidate::from_commit(&repo, "HEAD").await?).await?,
        };
        match (Receipt::from_decision(&decision), message) {
            (Some(receipt), Some(file)) => receipt.add_to_message(&repo, file).await?,
            (Some(receipt), None) => receipt.write_note(&repo).await?,
            (None, _) => {}
        }
        Ok(())
    };
    if let Err(error) = written.await {
        let kind = if message.is_some() { "trailer" } else { "note" };
        print_stderr(&format!("cannot write the receipt {kind}: {error:#}\n"));
    }
}

fn print_stderr(text: &str) {
    let lines: String = text.lines().map(|line| format!("countersign: {}\n", escape(line))).collect();
    // Nothing can be done if stderr is closed.
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// Hooks ask for an approval unless `.planning/config.json` says otherwise. Settings that cannot be parsed, or that are
/// not committed, exempt nothing: the person who makes the change could have written them.
pub(super) async fn is_required(point: GitPoint, repo: &UserRepo) -> bool {
    let asks = |tandem: PlanningConfig| tandem.requires_approval_at(point);
    if PlanningConfig::load(repo.root()).map_or(true, asks) {
        return true;
    }
    if read_committed(repo).await.is_none_or(asks) {
        remark(&format!(
            "countersign: {PLANNING_FILE} requires no approval for a {point}, but HEAD does not have this setting; it takes \
             effect after it is committed"
        ));
        return true;
    }
    remark(&format!("countersign: {PLANNING_FILE} requires no approval for a {point}"));
    false
}

/// The settings in the HEAD commit. `None` if there are none or they cannot be parsed.
async fn read_committed(repo: &UserRepo) -> Option<PlanningConfig> {
    let text = repo.read_committed(PLANNING_FILE).await.ok()??;
    PlanningConfig::parse(Path::new(PLANNING_FILE), std::str::from_utf8(&text).ok()?).ok()
}
