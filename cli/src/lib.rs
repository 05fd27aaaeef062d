//! The command line of Countersign: defines its commands and options and runs them. Data goes to stdout, everything
//! else to stderr.
//!
//! `EXIT_CODES` lists the exit codes that all commands share; `wait` and `gate` have further ones.

mod approval_source_args;
mod atomic_files;
mod client;
mod commands;
mod completion;
mod config_overrides;
mod error;
mod gate_settings;
mod grouped_help;
mod hook;
mod identity_args;
mod init;
mod mcp_bridge;
mod pager;
mod render;
mod review_args;
mod signals;
mod terminal;
mod text_draft;
mod text_input;
mod toml_edits;
mod vote_signing;

pub use completion::answer_shell;
pub use config_overrides::{ConfigArgs, ResolvedConfig};
pub use error::CliError;
pub use grouped_help::with_grouped_help;
pub use identity_args::local_name;
pub use signals::Signals;

use clap::{ArgMatches, Subcommand};
use client::BrokerArgs;
use commands::*;
use identity_args::IdentityArgs;
use mcp_bridge as mcp;
use std::{ffi::OsString, pin::Pin, process::ExitCode};

const USAGE: u8 = 2;
pub const TAKEN: u8 = 3;
pub const ADDRESS_IN_USE: u8 = 4;
const NO_BROKER: u8 = 5;

pub const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed or refused, 2 wrong usage or settings, 3 another broker holds the \
                          data folder, 4 the address is in use, 5 no broker answers";

/// Every command except those that run the broker or a reviewer process.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Connect an MCP client over stdio; starts a broker if none runs
    Mcp(mcp::Args),
    /// Propose the current branch, or something else, for review
    #[command(after_help = wait::SUBMIT_EXIT_CODES)]
    Request(Box<request::RequestArgs>),
    /// List reviews
    List(list::Args),
    /// Show everything about one review
    Show(show::ShowArgs),
    /// Show the status of one review, or without REVIEW that of the broker
    Status(watch_option::WatchArgs),
    /// Wait until a review is decided; the exit code is the outcome
    #[command(after_help = wait::EXIT_CODES)]
    Wait(wait::Args),
    /// Open the page in a browser, at one review or at the start
    Open(open::Args),
    /// Print the proposed diff
    Diff(diff::DiffArgs),
    /// Reviewer: claim a seat of a review
    Claim(review_actions::ClaimArgs),
    /// Ask for one more reviewer of a running review
    AddSeat(review_actions::AddSeatArgs),
    /// Reviewer: give a claimed review back without a verdict
    Release(review_actions::ReleaseArgs),
    /// Reviewer: give a verdict with findings; claims a seat if needed
    Respond(Box<respond::Args>),
    /// Write a message in the discussion of a review
    Comment(review_actions::CommentArgs),
    /// Proposer: submit the next round of a review
    #[command(after_help = wait::SUBMIT_EXIT_CODES)]
    Resubmit(request::ResubmitArgs),
    /// Proposer: show, accept or decline a reviewer's counter-patch
    #[command(subcommand)]
    Patch(diff::PatchCommand),
    /// Proposer: withdraw a review
    Cancel(review_actions::CancelArgs),
    /// Proposer: close a review
    Close(review_actions::CloseArgs),
    /// List findings and update their status
    Issues(issues::Args),
    /// Stop the broker of the data folder and wait until it has ended
    Stop(broker_process::StopArgs),
    /// List, register and remove the repositories that the broker serves
    #[command(subcommand)]
    Project(project::Command),
    /// Show the live actors of the running broker
    Actors(BrokerArgs),
    /// Print events as they happen
    Events(event_history::EventsArgs),
    /// List personas and the default panel
    Personas(personas::Args),
    /// Create, list and revoke bearer tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Show, rotate and revoke the keys that sign receipts
    #[command(subcommand)]
    Key(key::Command),
    /// Manage the reviewers that the broker starts
    #[command(subcommand)]
    Reviewer(reviewer::Command),
    /// Show statistics: number, duration, outcome and cost of reviews
    Stats(stats::Args),
    /// Find reviews, messages, verdicts and issues by their words
    Search(search::Args),
    /// Show the event log, with filters
    Audit(event_history::AuditArgs),
    /// Show recent events, one line each
    Activity(event_history::ActivityArgs),
    /// Show the history of one review
    Timeline(event_history::TimelineArgs),
    /// Write reviews as SARIF, JSON or Markdown
    Export(export::Args),
    /// Diagnose this machine: git, disk, database, clients, reviewers
    Doctor(doctor::Args),
    /// Play a whole review with a temporary repository and broker
    Demo(demo::Args),
    /// Check whether exactly this change is approved: exit code 0 yes, 1 no, 2 could not tell
    Gate(gate::Args),
    /// Sign which review approved a commit, as a git note; or name the review in a trailer
    Receipt(receipt::Args),
    /// List commits with their approvals: exit code 0 all approved, 1 some are not, 2 could not tell
    Verify(verify::Args),
    /// Land exactly the approved content of a review as one commit, and close the review
    Land(Box<land::Args>),
    /// Revert what was committed before its review ended, and the plan's later commits
    Revert(revert::Args),
    /// Hooks that git and agents call
    #[command(subcommand)]
    Hook(hook::Hook),
    /// Manage webhook receivers and failed deliveries
    #[command(subcommand)]
    Webhooks(webhooks::Command),
    /// Show queue, reviewers, events and actors on a live screen
    Top(IdentityArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(completions::ManArgs),
    /// Connect Claude Code, Codex and Gemini with the broker, or undo it
    Init(init::Args),
    /// Print the planned-workflow settings of .planning/config.json
    Tandem(tandem::Args),
    /// Print, change and check settings
    #[command(subcommand)]
    Config(settings::SettingsCommand),
}

/// Options that every command takes. The help of the program names them once.
#[derive(Debug, clap::Args)]
pub struct GlobalArgs {
    /// Write long output without a pager
    #[arg(long, global = true, hide = true)]
    no_pager: bool,
}

/// Whether the innermost command has the flag, and was given it.
pub fn asks_for_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, inner)) => asks_for_json(inner),
        None => matches.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or_default(),
    }
}

/// Reports what clap says of a command line: help, or wrong usage, as JSON if the line contains `--json`.
pub fn usage_error(error: &clap::Error, mut line: impl Iterator<Item = OsString>) -> ExitCode {
    let wants_json = line.by_ref().take_while(|word| word != "--").any(|word| word == "--json");
    if !wants_json || !error.use_stderr() {
        error.exit();
    }
    // The usage and the hint to --help follow an empty line.
    let text = error.render().to_string();
    let problem = text.split("\n\nUsage:").next().unwrap_or(&text).trim_start_matches("error:").trim();
    CliError::usage(anyhow::anyhow!("{problem}; see --help")).end(true)
}

/// Runs a command to its end. `definition` describes the whole command line.
pub fn run(command: Command, global: &GlobalArgs, json: bool, definition: clap::Command) -> ExitCode {
    pager::allow(!global.no_pager);
    let ended = match command {
        Command::Mcp(args) => small(mcp::run(args)),
        Command::Request(args) => small(request::request(*args)),
        Command::List(args) => small(list::run(args)),
        Command::Show(args) => small(show::run(args)),
        Command::Status(args) => small(review_actions::status(args)),
        Command::Wait(args) => small(wait::run(args)),
        Command::Open(args) => small(open::run(args)),
        Command::Diff(args) => small(diff::diff(args)),
        Command::Claim(args) => small(review_actions::claim(args)),
        Command::AddSeat(args) => small(review_actions::add_seat(args)),
        Command::Release(args) => small(review_actions::release(args)),
        Command::Respond(args) => small(respond::run(*args)),
        Command::Comment(args) => small(review_actions::comment(args)),
        Command::Resubmit(args) => small(request::resubmit(args)),
        Command::Patch(command) => small(diff::patch(command)),
        Command::Cancel(args) => small(review_actions::cancel(args)),
        Command::Close(args) => small(review_actions::close(args)),
        Command::Issues(args) => small(issues::run(args)),
        Command::Stop(args) => small(broker_process::stop(args)),
        Command::Project(command) => small(project::run(command)),
        Command::Actors(args) => small(actors::run(args)),
        Command::Events(args) => small(event_history::events(args)),
        Command::Personas(args) => small(personas::run(args)),
        Command::Token(command) => small(token::run(command)),
        Command::Key(command) => key::run(&command),
        Command::Reviewer(command) => small(reviewer::run(command)),
        Command::Stats(args) => small(stats::run(args)),
        Command::Search(args) => small(search::run(args)),
        Command::Audit(args) => small(event_history::audit(args)),
        Command::Activity(args) => small(event_history::activity(args)),
        Command::Timeline(args) => small(event_history::timeline(args)),
        Command::Export(args) => small(export::run(args)),
        Command::Doctor(args) => small(doctor::run(args)),
        Command::Demo(args) => small(demo::run(args)),
        Command::Gate(args) => small(gate::run(args)),
        Command::Receipt(args) => small(receipt::run(args)),
        Command::Verify(args) => small(verify::run(args)),
        Command::Land(args) => small(land::run(*args)),
        Command::Revert(args) => small(revert::run(args)),
        Command::Hook(hook) => small(hook::run(hook)),
        Command::Webhooks(command) => small(webhooks::run(command)),
        Command::Top(args) => small(top::run(args)),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args, definition),
        Command::Init(args) => small(init::run(args)),
        Command::Tandem(args) => tandem::run(&args),
        Command::Config(command) => small(settings::run(command)),
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
    block_on(tokio::runtime::Builder::new_current_thread(), Box::pin(command))
}

/// Runs a future on a runtime of this kind. The future is boxed, so that the runtime is not compiled again for each
/// command.
pub fn block_on(
    mut runtime: tokio::runtime::Builder,
    command: Pin<Box<dyn Future<Output = Result<(), CliError>> + '_>>,
) -> Result<(), CliError> {
    let runtime = runtime.enable_all().build()?;
    let ended = runtime.block_on(command);
    // A read of stdin cannot be taken back, and nothing else is left to wait for.
    runtime.shutdown_background();
    ended
}
