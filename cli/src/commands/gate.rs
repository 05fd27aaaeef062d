//! `countersign gate`: tells whether the staged changes or some commits are an approved change.
//!
//! Reads the database file and the user's repository, so it works without a broker.

use crate::{
    CliError,
    config_overrides::ConfigArgs,
    render::gate::{gate_answer, report, unknown_answer},
    terminal,
};
use anyhow::{Context as _, anyhow};
use config::{Config, FailMode};
use domain::text::escape;
use gate::{Candidate, Decision, Gate, Policy, PushUpdate};
use git::{GitError, GitSettings, UserRepo};
use std::io::{self, Read as _};
use store::read_only_database::ReadOnlyStore;

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
    fail_mode: FailModeArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print nothing; answer with the exit code
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
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
    let (repo, config) = repo_and_config(&args.config).await?;
    let mut gate = open_gate(&repo, &config).await?;
    if let Some(name) = &args.commit {
        let commit = Candidate::from_commit(&repo, name).await?;
        return Ok(vec![gate.decide(commit).await?]);
    }
    if let Some(range) = &args.range {
        if !range.contains("..") || range.starts_with('-') {
            return Err(anyhow!("--range {range}: expected A..B"));
        }
        return Ok(gate.decide_range(&[range]).await?);
    }
    if args.push {
        let mut lines = String::new();
        io::stdin().read_to_string(&mut lines).context("cannot read the refs to push from stdin")?;
        return Ok(gate.decide_push(args.remote.as_deref(), &PushUpdate::parse_lines(&lines)?).await?);
    }
    Ok(vec![gate.decide_staged().await?])
}

/// Opens the gate on the database file of the broker.
pub(crate) async fn open_gate(repo: &UserRepo, config: &Config) -> anyhow::Result<Gate> {
    let store = ReadOnlyStore::open(&config.server.data_dir.database()).await?;
    open_gate_with(repo, config, Some(store)).await
}

pub(crate) async fn open_gate_with(
    repo: &UserRepo,
    config: &Config,
    store: Option<ReadOnlyStore>,
) -> anyhow::Result<Gate> {
    let git = GitSettings {
        program: config.git.program.clone(),
        time_limit: config.git.time_limit,
        max_diff_bytes: config.limits.diff_bytes,
        engine: config.git.engine,
        concurrency: 1,
        ..GitSettings::default()
    };
    Ok(Gate::open(repo, store, Policy { exempt: config.gate.exempt.clone(), git }).await?)
}

/// The repository that the arguments name, and the settings that apply to it.
pub(crate) async fn repo_and_config(config_overrides: &ConfigArgs) -> anyhow::Result<(UserRepo, Config)> {
    let dir = match &config_overrides.repo {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()?,
    };
    let repo = UserRepo::find(&dir).await.map_err(name_repo_option)?;
    let config = load_config(config_overrides)?;
    Ok((repo, config))
}

/// Adds the next step to the error of a folder outside of any repository.
pub(crate) fn name_repo_option(error: GitError) -> anyhow::Error {
    let is_outside = matches!(error, GitError::NotARepository { .. });
    if is_outside { anyhow!("{error}; change to one or pass --repo") } else { error.into() }
}

pub(crate) fn load_config(config_overrides: &ConfigArgs) -> anyhow::Result<Config> {
    Ok(config_overrides.resolve(None).map_err(|failure| failure.error)?.config)
}
