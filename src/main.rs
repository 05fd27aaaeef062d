use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::Cli::parse().run()
}
