//! The entry point of the `countersign` program: runs the broker, the shim beside each reviewer process, or a command
//! of the command line.

use actors::reviewer_process::shim;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use countersign::serve;
use std::{ffi::OsString, process::ExitCode};

/// A broker makes many small, short-lived allocations on several threads; glibc's allocator took a tenth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A local-first review broker for AI coding agents
#[derive(Debug, Parser)]
#[command(name = "countersign", version, propagate_version = true, after_help = cli::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: cli::GlobalArgs,
}

fn definition() -> clap::Command {
    cli::with_grouped_help(Cli::command())
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the broker
    Serve(serve::Args),
    #[command(flatten)]
    Client(Box<cli::Command>),
    /// Supervise one reviewer process; started by the broker only
    #[command(hide = true)]
    Shim,
    /// Become a reviewer process; started by the shim only
    #[command(hide = true)]
    ShimExec {
        /// Process whose death ends this one
        #[arg(long)]
        parent: u32,
        /// The files that the reviewer may use, as JSON
        #[arg(long)]
        sandbox: Option<String>,
        #[arg(last = true, required = true)]
        argv: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    cli::answer_shell(definition);
    let parsed = definition().try_get_matches().and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        Ok((matches, cli))
    });
    let (matches, Cli { command, global }) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return cli::usage_error(&error, std::env::args_os()),
    };
    let json = cli::asks_for_json(&matches);
    match command {
        Command::Serve(args) => {
            let ended = cli::block_on(tokio::runtime::Builder::new_multi_thread(), Box::pin(serve::run(args)));
            cli::exit_code(ended, json)
        }
        Command::Client(command) => cli::run(*command, &global, json, definition()),
        Command::Shim => shim::run(),
        Command::ShimExec { parent, sandbox, argv } => shim::exec(parent, sandbox.as_deref(), &argv),
    }
}

#[cfg(test)]
#[path = "main_tests.rs"]
mod tests;
