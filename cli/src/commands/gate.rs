//! `countersign gate`: tells whether the staged changes or some commits are an approved change.
//!
//! Reads the database file and the user's repository, so it works without a broker.

use crate::{
    CliError,
    approval_source_args::SourceArgs,
    config_overrides::ConfigArgs,
    gate_settings::{
        Caller, GateSettings, SignersArgs, index_of_hook, locate, name_repo_option, open_for_command, read_stdin,
    },
    render::gate::{gate_answer, report, unknown_answer},
    terminal,
};
use anyhow::anyhow;
use config::FailMode;
use domain::text::escape;
use gate::{Decision, Gate, PushUpdate, Remote};
use git::UserRepo;

const NO: u8 = 1;
const CANNOT_TELL: u8 = 2;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check the staged changes [default]
    #[arg(long, group = "what")]
    staged: bool,
    /// Check a commit
    #[arg(long, group = "what", value_name = "REF")]
    commit: Option<String>,
    /// Check the commits of a push, read from stdin as git passes them to a pre-push hook
    #[arg(long, group = "what")]
    push: bool,
    /// Check every commit of A..B, approved one by one or together
    #[arg(long, group = "what", value_name = "A..B")]
    range: Option<String>,
    /// Name the remote that is pushed to [default: any]
    #[arg(long, requires = "push", value_name = "REMOTE")]
    remote: Option<String>,
    #[command(flatten)]
    signers: SignersArgs,
    #[command(flatten)]
    fail_mode: FailModeArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print nothing; answer with the exit code
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What happens if the gate cannot tell.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FailModeArgs {
    /// Answer yes if the gate cannot tell
    #[arg(long, conflicts_with = "fail_closed")]
    fail_open: bool,
    /// Answer no if the gate cannot tell
    #[arg(long)]
    fail_closed: bool,
}

impl FailModeArgs {
    pub(crate) fn chosen(self) -> Option<FailMode> {
        match (self.fail_open, self.fail_closed) {
            (true, _) => Some(FailMode::Open),
            (_, true) => Some(FailMode::Closed),
            (false, false) => None,
        }
    }
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let result = decide(&args).await;
    let printed = match &result {
        Ok(decisions) if args.json => terminal::write_pretty_json(&gate_answer(decisions)),
        Ok(_) if args.quiet => Ok(()),
        Ok(decisions) => terminal::write(&report(decisions)),
        Err(error) => {
            let message = escape(&format!("could not tell: {error:#}")).into_owned();
            if args.json {
                terminal::write_pretty_json(&unknown_answer(&message))
            } else {
                if !args.quiet {
                    terminal::remark(&message);
                }
                Ok(())
            }
        }
    };
    // The exit code says no even if the output could not be written.
    match (result, args.fail_mode.chosen()) {
        (Ok(decisions), _) if decisions.iter().all(Decision::passes) => printed,
        (Ok(_), _) | (Err(_), Some(FailMode::Closed)) => Err(CliError::answer(NO)),
        (Err(_), Some(FailMode::Open)) => printed,
        (Err(_), None) => Err(CliError::answer(CANNOT_TELL)),
    }
}

async fn decide(args: &Args) -> anyhow::Result<Vec<Decision>> {
    let mut gate = match args.signers.source()? {
        Some(receipts) => {
            if args.commit.is_none() && args.range.is_none() && !args.push {
                return Err(anyhow!("staged changes have no receipt; pass --commit, --range or --push with --signers"));
            }
            let location = locate(&args.config).map_err(name_repo_option)?;
            let settings = GateSettings::load(&args.config, Some(location.root()), Caller::Command)?;
            Gate::open(&location, receipts, settings.policy_for_receipts(&args.source)).await?
        }
        None => open_for_command(&args.config, &args.source).await?.0,
    };
    if let Some(name) = &args.commit {
        let commit = gate.commit(name).await?;
        return Ok(vec![gate.decide(commit).await?]);
    }
    if let Some(range) = &args.range {
        if !range.contains("..") || range.starts_with('-') {
            return Err(anyhow!("--range {range}: expected A..B"));
        }
        return Ok(gate.decide_range(range).await?);
    }
    if args.push {
        let updates = PushUpdate::parse_lines(&read_stdin()?)?;
        let remote = find_remote(&gate.repo, args.remote.as_deref()).await?;
        return Ok(gate.decide_push(&remote, &updates).await?);
    }
    Ok(vec![gate.decide_staged(index_of_hook(&args.config).as_deref()).await?])
}

/// The remote of this name or address, or the one that git pushes to if none is named.
pub(crate) async fn find_remote(repo: &UserRepo, name: Option<&str>) -> anyhow::Result<Remote> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => remote_name(repo).await?,
    };
    let address = repo.try_git(["remote", "get-url", "--push", "--", &name]).await?;
    let is_remote = address.success && !address.text().is_empty();
    Ok(Remote::Address(if is_remote { address.text() } else { name }))
}

/// The name of the remote that git pushes to if none is named.
pub(crate) async fn remote_name(repo: &UserRepo) -> anyhow::Result<String> {
    let branch = repo.try_git(["symbolic-ref", "--quiet", "--short", "HEAD"]).await?.text();
    let keys =
        [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned(), format!("branch.{branch}.remote")];
    for key in &keys {
        let set = repo.try_git(["config", "--get", key]).await?;
        if set.success {
            return Ok(set.text());
        }
    }
    Ok("origin".to_owned())
}
