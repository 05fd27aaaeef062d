//! The command line. Data goes to stdout, everything else to stderr.
//!
//! `EXIT_CODES` are the ones every command shares; `wait` and `gate` answer by theirs.

mod client;
mod commands;
mod config_args;
mod editor;
mod error;
mod hook;
mod identity;
mod init;
mod mcp_bridge;
mod progress;
mod render;
mod review_arg;
mod signals;
mod terminal;
mod top;

pub use config_args::{ConfigArgs, ResolvedConfig};
pub use error::CliError;
pub use signals::Signals;

use clap::{ArgMatches, Subcommand};
use client::rest;
use commands::*;
use mcp_bridge as mcp;
use std::process::ExitCode;

const USAGE: u8 = 2;
pub const TAKEN: u8 = 3;
pub const ADDRESS_IN_USE: u8 = 4;
const NO_BROKER: u8 = 5;

pub const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed or refused, 2 wrong usage or settings, 3 another broker has the \
                          data folder, 4 the address is in use, 5 no broker answers";

/// Every command except those that run the broker or a reviewer process.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Speak MCP over stdio: a bridge to the running broker, which it starts where there is none
    Mcp(mcp::Args),
    /// Propose the current branch, or something else, for review
    #[command(after_help = wait::EXIT_CODES)]
    Request(Box<request::Args>),
    /// List reviews
    List(list::Args),
    /// Everything about one review
    Show(show::Args),
    /// Where one review stands
    Status(status::Args),
    /// Block until a review is decided; the exit code says how
    #[command(after_help = wait::EXIT_CODES)]
    Wait(wait::Args),
    /// What a review proposes, as a diff
    Diff(diff::Args),
    /// Reviewer: take a seat of a review
    Claim(claim::Args),
    /// Reviewer: give a claimed review back without a verdict
    Release(release::Args),
    /// Reviewer: give a verdict, with what was found; claims the review if need be
    Respond(Box<respond::Args>),
    /// Write a message in the discussion of a review
    Comment(comment::Args),
    /// Proposer: the next round of a review
    #[command(after_help = wait::EXIT_CODES)]
    Resubmit(resubmit::Args),
    /// Proposer: show, accept or decline a reviewer's counter-patch
    Patch(patch::Args),
    /// Proposer: withdraw a review
    Cancel(cancel::Args),
    /// Proposer: close a review for good
    Close(close::Args),
    /// What reviewers have found, and what is to become of it
    Issues(issues::Args),
    /// Show the live actors of the running broker
    Actors(rest::BrokerArgs),
    /// Show what happens, event by event
    Events(events::Args),
    /// List the personas that reviewers take, and the panels they make
    Personas(personas::Args),
    /// Make, list and revoke the bearer tokens that callers show
    Token(token::Args),
    /// The reviewers that the running broker starts by itself
    Reviewer(reviewer::Args),
    /// Figures of the reviews: how many, how long, how they ended, what they cost
    Stats(stats::Args),
    /// The log of everything that happened, with filters
    Audit(audit::Args),
    /// What happened lately, one line each
    Activity(activity::Args),
    /// What has happened to one review
    Timeline(timeline::Args),
    /// Write reviews as SARIF, JSON or Markdown
    Export(export::Args),
    /// Look at what a broker and its clients need on this machine, and say what to do
    Doctor(doctor::Args),
    /// Watch a whole review, in a repository and with a broker of its own
    Demo(demo::Args),
    /// May this land? Whether exactly this change is approved, read from the database: 0 yes, 1 no, 2 could not tell
    Gate(gate::Args),
    /// Write down which review approved a commit, as a git note or a trailer
    Receipt(receipt::Args),
    /// List the commits of a range with the approvals they have: 0 all have one, 1 some have none, 2 could not tell
    Verify(verify::Args),
    /// Take back what was committed before its review ended, and the plan's later commits
    Revert(revert::Args),
    /// What git and agents call by themselves
    Hook(hook::Args),
    /// Who is told of events by POST, and what could not be told
    Webhooks(webhooks::Args),
    /// Watch queue, reviewers, events and actors, with keys to act
    Top(top::Args),
    /// A script that completes our commands in a shell
    Completions(completions::CompletionsArgs),
    /// The manual page, or one for each command
    Man(completions::ManArgs),
    /// Connect the clients that are here with the broker, or take that out again
    Init(init::Args),
    /// Whether this project works in tandem, by its .planning/config.json
    Tandem(tandem::Args),
}

/// Whether the innermost command has the flag, and was given it.
pub fn asks_for_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, inner)) => asks_for_json(inner),
        None => matches.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or_default(),
    }
}

/// Runs a command to its end. `definition` describes the whole command line.
pub fn run(command: Command, json: bool, definition: clap::Command) -> ExitCode {
    let ended = match command {
        Command::Mcp(args) => small(mcp::run(args)),
        Command::Request(args) => small(request::run(*args)),
        Command::List(args) => small(list::run(args)),
        Command::Show(args) => small(show::run(args)),
        Command::Status(args) => small(status::run(args)),
        Command::Wait(args) => small(wait::run(args)),
        Command::Diff(args) => small(diff::run(args)),
        Command::Claim(args) => small(claim::run(args)),
        Command::Release(args) => small(release::run(args)),
        Command::Respond(args) => small(respond::run(*args)),
        Command::Comment(args) => small(comment::run(args)),
        Command::Resubmit(args) => small(resubmit::run(args)),
        Command::Patch(args) => small(patch::run(args)),
        Command::Cancel(args) => small(cancel::run(args)),
        Command::Close(args) => small(close::run(args)),
        Command::Issues(args) => small(issues::run(args)),
        Command::Actors(args) => small(actors::run(args)),
        Command::Events(args) => small(events::run(args)),
        Command::Personas(args) => personas::run(&args),
        Command::Token(args) => small(token::run(args)),
        Command::Reviewer(args) => small(reviewer::run(args)),
        Command::Stats(args) => small(stats::run(args)),
        Command::Audit(args) => small(audit::run(args)),
        Command::Activity(args) => small(activity::run(args)),
        Command::Timeline(args) => small(timeline::run(args)),
        Command::Export(args) => small(export::run(args)),
        Command::Doctor(args) => small(doctor::run(args)),
        Command::Demo(args) => small(demo::run(args)),
        Command::Gate(args) => small(gate::run(args)),
        Command::Receipt(args) => small(receipt::run(args)),
        Command::Verify(args) => small(verify::run(args)),
        Command::Revert(args) => small(revert::run(args)),
        Command::Hook(args) => small(hook::run(args)),
        Command::Webhooks(args) => small(webhooks::run(args)),
        Command::Top(args) => small(top::run(args)),
        Command::Completions(args) => completions::completions(&args, definition),
        Command::Man(args) => completions::man(&args, definition),
        Command::Init(args) => small(init::run(args)),
        Command::Tandem(args) => tandem::run(&args),
    };
    exit_code(ended, json)
}

/// Reports a failure and turns it into the exit code.
pub fn exit_code(ended: Result<(), CliError>, json: bool) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end(json),
    }
}

/// Runs a command on the current thread. Only the broker needs more threads.
fn small(command: impl Future<Output = Result<(), CliError>>) -> Result<(), CliError> {
    block_on(tokio::runtime::Builder::new_current_thread(), command)
}

/// Runs a future on a runtime of this kind.
pub fn block_on(
    mut runtime: tokio::runtime::Builder,
    command: impl Future<Output = Result<(), CliError>>,
) -> Result<(), CliError> {
    let runtime = runtime.enable_all().build()?;
    let ended = runtime.block_on(command);
    // A read of stdin cannot be taken back, and nothing else is left to wait for.
    runtime.shutdown_background();
    ended
}
