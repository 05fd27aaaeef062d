//! The developer's commands. They call cargo, npm and git and do nothing that a tool already does.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

mod check;
mod prepare;
mod run;
mod scaffold;
mod test;

use run::{Exit, cargo};

const HELP: &str = "\
cargo xtask COMMAND

  check                all that CI runs: format, lints, tests, docs, query data, licences
  test [FILTER]        all tests, with the set-up they need
       --no-clients      without the real clients (no npm): the quick loop
                         everything else goes to cargo test
  bench [ARGS]         throughput and latency of the broker
  crash [N]            kills the broker N times under load and looks for what is lost, then
                         as often with reviewers and looks for what is left
  events [N]           N events (10000) to two hundred subscribers, one of whom is cut off
  anchors [REPOSITORY] how well findings follow their lines through a history, ours by default
  openapi              rewrites docs/openapi.json, the description of the REST API
  schemathesis [N]     the API under N made-up requests for each operation (100)
  soak [MINUTES]       runs the broker under load for long
  prepare              migrates a scratch database and rebuilds .sqlx/
       --check           only says whether .sqlx/ is up to date
  migration NAME       a new migration with a timestamp
  adr TITLE            a new decision record with the next number
";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".into());
    let arguments: Vec<_> = arguments.collect();
    match dispatch(&command.to_string_lossy(), &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<Exit>() {
            // the child has said what went wrong
            Some(exit) => exit.code(),
            None => {
                eprintln!("xtask: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}

fn dispatch(command: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    match command {
        "check" => check::check(),
        "test" => test::test(arguments),
        "bench" => run::run(cargo(["bench", "--bench", "broker", "--"]).args(arguments)),
        "crash" => test::ignored("long_crash_loop", "COUNTERSIGN_TEST_CRASHES", arguments),
        "events" => {
            test::ignored("two_hundred_subscribers_hear_very_many_events", "COUNTERSIGN_TEST_EVENTS", arguments)
        }
        "anchors" => test::anchors(arguments),
        "openapi" => test::openapi(),
        "schemathesis" => test::schemathesis(arguments),
        "soak" => test::ignored("soak", "COUNTERSIGN_TEST_SOAK_MINUTES", arguments),
        "prepare" => prepare::prepare(arguments),
        "migration" => scaffold::migration(arguments),
        "adr" => scaffold::adr(arguments),
        "help" | "-h" | "--help" => Ok(std::io::stdout().write_all(HELP.as_bytes())?),
        other => anyhow::bail!("no command {other:?}; `cargo xtask` lists them"),
    }
}
