//! The hooks that git runs: `pre-commit` and `pre-push` check that a change is approved; `commit-msg` and `post-commit` record
//! the approving review in the commit (the receipt).

use super::{Gated, PrePush, PreReceive};
use crate::{
    CliError,
    approval_source_args::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{Caller, GateFailure, GateSettings, index_of_hook, locate, read_stdin},
    render::gate::report,
    terminal::remark,
};
use anyhow::anyhow;
use config::{
    FailMode, ReceiptKind,
    planning_config::{GitPoint, PLANNING_FILE, PlanningConfig},
};
use domain::text::escape;
use gate::{Decision, Gate, PushUpdate, Remote, Trailer};
use git::RepoLocation;
use std::{
    env,
    io::{self, Write as _},
    path::Path,
};

/// Exit code with which a hook makes git abort.
const REFUSED: u8 = 1;

/// The decisions of a hook, and what it does if there are none.
struct HookResult {
    decisions: Result<Vec<Decision>, GateFailure>,
    fail: FailMode,
}

pub(super) async fn pre_commit(args: Gated) -> Result<(), CliError> {
    let location = locate(&args.config).map_err(|error| GateFailure::Unreadable(error.into()));
    let (settings, fail) = load_settings(&args, location.as_ref().ok(), Caller::GitHook);
    let decisions = async {
        let mut gate = open_gate(settings, location).await?;
        if !is_commit_checked(&gate).await? {
            return Ok(Vec::new());
        }
        Ok(vec![gate.decide_staged(index_of_hook(&args.config).as_deref()).await?])
    };
    conclude(HookResult { decisions: decisions.await, fail })
}

pub(super) async fn pre_push(args: PrePush) -> Result<(), CliError> {
    let PrePush { remote, url, gated } = args;
    // Read in any case: git fails with a broken pipe if a hook does not.
    let lines = read_stdin();
    let location = locate(&gated.config).map_err(|error| GateFailure::Unreadable(error.into()));
    let (settings, fail) = load_settings(&gated, location.as_ref().ok(), Caller::GitHook);
    let decisions = async {
        let mut gate = open_gate(settings, location).await?;
        let updates = PushUpdate::parse_lines(&lines.map_err(GateFailure::Unreadable)?)?;
        let remote = url.or(remote).map_or(Remote::Unknown, Remote::Address);
        Ok(gate.decide_push(&remote, &updates).await?)
    };
    conclude(HookResult { decisions: decisions.await, fail })
}

/// The place that a client cannot avoid. Without an answer it refuses, unless its own line says otherwise.
pub(super) async fn pre_receive(args: PreReceive) -> Result<(), CliError> {
    let PreReceive { source, signers, gated } = args;
    let lines = read_stdin();
    let decisions = async {
        let location = locate(&gated.config).map_err(|error| GateFailure::Unreadable(error.into()))?;
        // Git keeps the objects of a push apart until the hook has accepted it.
        let incoming =
            env::var_os("GIT_QUARANTINE_PATH").into_iter().map(|folder| env::current_dir().map(|dir| dir.join(folder)));
        let incoming = incoming.collect::<io::Result<_>>().map_err(|error| GateFailure::Unreadable(error.into()))?;
        let location = location.with_incoming_objects(incoming);
        let settings = GateSettings::load(&gated.config, None, Caller::GitHook).map_err(GateFailure::Unavailable)?;
        if source.url.is_some() && source.project.is_none() {
            let error = anyhow!("--url needs --project NAME: the name under which the broker knows this repository");
            return Err(GateFailure::Unreadable(error));
        }
        let mut gate = match signers.source().map_err(GateFailure::Unavailable)? {
            Some(receipts) => Gate::open(&location, receipts, settings.policy_for_receipts(&source)).await?,
            None => settings.open_gate(&location, &source, Caller::GitHook).await?,
        };
        let updates = PushUpdate::parse_received(&lines.map_err(GateFailure::Unreadable)?)?;
        Ok(gate.decide_push(&Remote::Here, &updates).await?)
    };
    conclude(HookResult { decisions: decisions.await, fail: gated.fail_mode.chosen().unwrap_or(FailMode::Closed) })
}

/// The operator's settings, and what happens if the gate cannot tell. Settings that cannot be read may have said
/// "closed".
pub(super) fn load_settings(
    args: &Gated,
    location: Option<&RepoLocation>,
    caller: Caller,
) -> (anyhow::Result<GateSettings>, FailMode) {
    let settings = GateSettings::load(&args.config, location.map(RepoLocation::root), caller);
    let fail = settings.as_ref().map_or(FailMode::Closed, |settings| settings.fail);
    (settings, args.fail_mode.chosen().unwrap_or(fail))
}

/// The database comes first: a project without a broker is not judged at all.
async fn open_gate(
    settings: anyhow::Result<GateSettings>,
    location: Result<RepoLocation, GateFailure>,
) -> Result<Gate, GateFailure> {
    let settings = settings.map_err(GateFailure::Unavailable)?;
    let approvals = settings.open_approvals(&SourceArgs::default(), Caller::GitHook).await?;
    Ok(Gate::open(&location?, approvals, settings.policy(&SourceArgs::default())?).await?)
}

/// Prints nothing if everything is approved.
fn conclude(HookResult { decisions, fail }: HookResult) -> Result<(), CliError> {
    let error = match decisions {
        Ok(decisions) if decisions.iter().all(Decision::passes) => {
            if decisions.iter().any(is_not_required) {
                remark(&format!("countersign: {PLANNING_FILE} requires no approval for a {}", GitPoint::Push));
            }
            return Ok(());
        }
        Ok(decisions) => {
            print_stderr(&report(&decisions));
            return Err(CliError::answer(REFUSED));
        }
        Err(GateFailure::Unavailable(error)) if fail == FailMode::Open => {
            print_stderr(&format!("cannot check for an approval, so nothing was checked: {error:#}\n"));
            return Ok(());
        }
        Err(failure) => failure.error(),
    };
    print_stderr(&format!("cannot check for an approval: {error:#}\n"));
    Err(CliError::answer(REFUSED))
}

fn is_not_required(decision: &Decision) -> bool {
    matches!(decision.outcome, gate::Outcome::Exempt(gate::Exemption::NotRequired))
}

/// Writes the receipt of the approving review: a trailer into the message that is about to be committed, or without a
/// message a note for the last commit.
pub(super) async fn write_receipt(config_overrides: &ConfigArgs, message: Option<&Path>) {
    let written = async {
        let location = locate(config_overrides)?;
        let settings = GateSettings::load(config_overrides, Some(location.root()), Caller::GitHook)?;
        match (settings.receipt, message) {
            (ReceiptKind::Trailer, Some(_)) | (ReceiptKind::Note, None) => {}
            (ReceiptKind::None | ReceiptKind::Note | ReceiptKind::Trailer, _) => return anyhow::Ok(()),
        }
        let mut gate =
            settings.open_gate(&location, &SourceArgs::default(), Caller::GitHook).await.map_err(GateFailure::error)?;
        let decision = match message {
            Some(_) => gate.decide_staged(index_of_hook(config_overrides).as_deref()).await?,
            None => {
                let head = gate.commit("HEAD").await?;
                gate.decide(head).await?
            }
        };
        match (message, Trailer::from_decision(&decision)) {
            (Some(file), Some(trailer)) => trailer.add_to_message(&gate.repo, file).await?,
            (Some(_), None) => {}
            (None, _) => drop(settings.receipt_signer().attach(&gate.repo, &decision).await?),
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

/// Hooks check commits unless `.planning/config.json` says otherwise. Settings that cannot be parsed, or that are not
/// committed, exempt nothing: the person who makes the change could have written them. A push is checked by the settings
/// that the remote has, which the gate reads itself.
pub(super) async fn is_commit_checked(gate: &Gate) -> Result<bool, GateFailure> {
    let point = GitPoint::Commit;
    let asks = |planning: PlanningConfig| planning.requires_approval_at(point);
    if PlanningConfig::load(gate.repo.root()).map_or(true, asks) {
        return Ok(true);
    }
    let text = gate.read_at_head(PLANNING_FILE).await?;
    let text = text.and_then(|text| String::from_utf8(text).ok());
    let committed = text.and_then(|text| PlanningConfig::parse(Path::new(PLANNING_FILE), &text).ok());
    if committed.is_none_or(asks) {
        remark(&format!(
            "countersign: {PLANNING_FILE} requires no approval for a {point}, but HEAD does not have this setting; it takes \
             effect after it is committed"
        ));
        return Ok(true);
    }
    remark(&format!("countersign: {PLANNING_FILE} requires no approval for a {point}"));
    Ok(false)
}
