//! `countersign hook`: what git and agents call by themselves.
//!
//! A hook file holds one line that calls one of these, so what it does comes with the program and not with the file.
//! Whatever goes wrong with us must not stop anybody's work, unless that was asked for (`gate.fail = "closed"`).

mod git;
mod git_actions;
mod index_simulation;
mod pre_tool_use;
mod protocol;
mod seen_feedback;
mod session_start;
mod shell;
mod stop;

use super::{Failure, gate::Failing, place::Place};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    hook: Hook,
}

#[derive(Debug, clap::Subcommand)]
enum Hook {
    /// git: refuses a commit that is not approved
    PreCommit(Gated),
    /// git: refuses a push of commits that are not approved
    PrePush(PrePush),
    /// git: adds the trailer, where gate.receipt is "trailer"
    CommitMsg(Message),
    /// git: the same, for who prefers this hook
    PrepareCommitMsg(Message),
    /// git: writes the note, where gate.receipt is "note"
    PostCommit(Plain),
    /// Agents: denies `git commit` and `git push` of what is not approved
    PreToolUse(Gated),
    /// Agents: blocks once when feedback is unread
    Stop(Agent),
    /// Agents: says what waits
    SessionStart(SessionStart),
}

#[derive(Debug, clap::Args)]
struct Plain {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Gated {
    #[command(flatten)]
    failing: Failing,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct PrePush {
    /// The remote's name, or its address
    remote: Option<String>,
    /// The remote's address
    url: Option<String>,
    #[command(flatten)]
    gated: Gated,
}

#[derive(Debug, clap::Args)]
struct Message {
    /// The file with the commit's message
    file: PathBuf,
    /// ActionKind else git tells a hook
    #[arg(hide = true)]
    rest: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Agent {
    /// Only reviews that this proposer submitted, by its id or agent type
    #[arg(long = "as", value_name = "NAME")]
    proposer: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct SessionStart {
    /// Start a broker where none runs
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    agent: Agent,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    match args.hook {
        Hook::PreCommit(args) => git::pre_commit(args).await,
        Hook::PrePush(args) => git::pre_push(args).await,
        Hook::CommitMsg(args) | Hook::PrepareCommitMsg(args) => {
            git::message(args).await;
            Ok(())
        }
        Hook::PostCommit(args) => {
            git::post_commit(args).await;
            Ok(())
        }
        Hook::PreToolUse(args) => pre_tool_use::run(args).await,
        Hook::Stop(args) => stop::run(args).await,
        Hook::SessionStart(args) => session_start::run(args).await,
    }
}
