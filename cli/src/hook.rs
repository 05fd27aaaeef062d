//! `countersign hook`: the subcommands that git and agent clients run automatically at certain points, such as before a
//! commit.
//!
//! An installed hook file holds one line that calls a command of this module, so an upgrade of the program upgrades
//! every hook. A missing broker does not stop the user's work, unless `gate.fail = "closed"` is set. If the repository
//! or the environment of the caller prevents a check, the hook refuses: an agent could have caused that on purpose.

mod agent_hook_protocol;
mod agent_stop;
mod git_command_detection;
mod git_hooks;
mod index_simulation;
mod pre_tool_use;
mod session_start;
mod shell_parser;

use crate::{
    CliError, approval_source::SourceArgs, commands::gate::FailModeArgs, config_overrides::ConfigArgs,
    gate_settings::SignersArgs,
};
use agent_hook_protocol::respond;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum Hook {
    /// git: refuse a commit that is not approved
    PreCommit(Gated),
    /// git: refuse a push of commits that are not approved
    PrePush(PrePush),
    /// git: refuse a push on the side of the server
    PreReceive(PreReceive),
    /// git: add the receipt trailer if gate.receipt is "trailer"
    CommitMsg(Message),
    /// git: do what commit-msg does, in the earlier hook
    PrepareCommitMsg(Message),
    /// git: write the receipt note if gate.receipt is "note"
    PostCommit(ConfigArgs),
    /// Agents: deny `git commit` and `git push` of changes that are not approved
    PreToolUse(Gated),
    /// Agents: block the end of a turn once if a reviewer's feedback is unanswered
    Stop(Agent),
    /// Agents: list the open reviews of this repository
    SessionStart(SessionStart),
}

#[derive(Debug, clap::Args)]
pub struct Gated {
    #[command(flatten)]
    fail_mode: FailModeArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct PrePush {
    /// Name or address of the remote, as git passes it
    remote: Option<String>,
    /// Address of the remote, as git passes it
    url: Option<String>,
    #[command(flatten)]
    gated: Gated,
}

#[derive(Debug, clap::Args)]
pub struct PreReceive {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    signers: SignersArgs,
    #[command(flatten)]
    gated: Gated,
}

#[derive(Debug, clap::Args)]
pub struct Message {
    /// File that holds the commit message
    file: PathBuf,
    /// Further arguments that git passes
    #[arg(hide = true)]
    rest: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct Agent {
    /// Consider only reviews of this proposer (id or agent type)
    #[arg(long = "as", value_name = "NAME")]
    proposer: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct SessionStart {
    /// Start a broker if none is running
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    agent: Agent,
}

pub(crate) async fn run(hook: Hook) -> Result<(), CliError> {
    match hook {
        Hook::PreCommit(args) => return git_hooks::pre_commit(args).await,
        Hook::PrePush(args) => return git_hooks::pre_push(args).await,
        Hook::PreReceive(args) => return git_hooks::pre_receive(args).await,
        Hook::CommitMsg(args) | Hook::PrepareCommitMsg(args) => {
            git_hooks::write_receipt(&args.config, Some(&args.file)).await
        }
        Hook::PostCommit(config) => git_hooks::write_receipt(&config, None).await,
        Hook::PreToolUse(args) => pre_tool_use::run(args).await,
        Hook::Stop(args) => respond(agent_stop::decide(&args)).await,
        Hook::SessionStart(args) => respond(session_start::session_context(&args)).await,
    }
    Ok(())
}
