//! `cargo xtask`: commands for developers of this repository. They call cargo, npm and git.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

mod browser;
mod check;
mod chromium;
mod file_templates;
mod npm;
mod package;
mod prose;
mod run_tests;
mod sqlx_query_data;
mod subprocess;
mod web;

use subprocess::{Exit, cargo, program};

const HELP: &str = "\
cargo xtask COMMAND

  check                run everything that CI runs
  test                 run all tests, also those of the page in a browser
       FILTER            only these tests of the workspace; further arguments go to cargo test
       --no-clients      skip the tests that need npm: those with the real clients and in a browser
       --browser [TITLE] only the tests in a browser, or those whose title matches
  web                  build the page into ui/dist
       --check           check formatting, types, tests and that ui/dist is up to date
       --dev [--url URL] serve the sources with Vite, with a debug broker or the one at URL
       --measure         measure the page in a browser and hold its budget
  screenshots [FOLDER] write pictures of every page [default: target/screenshots]
  bench [SECTION …]    measure the speed and memory of the broker; --help lists the sections
  load --url URL       measure any broker with the same tools over MCP; --help lists the options
  crash [N]            kill the broker N times under load and check that no data is lost and
                         no reviewer process is left
  events [N]           send N events (10000) to 200 subscribers, one of which reconnects
  anchors [REPOSITORY] measure how well findings follow their lines through a git history
                         [default: a sample history]
  reviewer-cost        measure what a review costs in each mode of a persona, with the real clients
  git-differential [REPOSITORY]
                       compare what the broker says about diffs, and to which trees they lead, with
                         git: on a history [default: this repository] and its mutated diffs,
                         on random hunks and on mutated diffs of every kind of change
  openapi              write docs/openapi.json, the description of the REST API, and the types of
                         the web page (web/src/api/generated.ts)
  schemathesis [N]     send N generated requests (100) to each operation of the REST API
  package              build the release of one platform: an archive and npm packages, in target/package
       --target TRIPLE   for another platform
       --debug           with the debug binary, for a quick try
       --try             install both into empty folders and play the demo
  first-hour [PROGRAM] play the first hour of a new user, from the clone to the first landed change, and
                         print the record; with PROGRAM, without cloning and building
  soak [MINUTES]       run the broker under load for a long time
  prepare              migrate a scratch database and rebuild .sqlx/
       --check           only check that .sqlx/ is up to date
  prose                list words that the house style avoids
  migration NAME       create a migration with a timestamp
  adr TITLE            create a decision record with the next number
";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".into());
    let arguments: Vec<_> = arguments.collect();
    match dispatch(&command.to_string_lossy(), &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<Exit>() {
            // The child process has already printed its error.
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
        "test" => run_tests::test(arguments),
        "web" => web::web(arguments),
        "screenshots" => browser::screenshots(arguments),
        "bench" => subprocess::run(cargo(["bench", "--bench", "broker", "--"]).args(arguments)),
        "load" => subprocess::run(cargo(["bench", "--bench", "broker", "--", "load"]).args(arguments)),
        "crash" => run_tests::ignored("long_crash_loop", "COUNTERSIGN_TEST_CRASHES", arguments),
        "events" => {
            run_tests::ignored("two_hundred_subscribers_receive_very_many_events", "COUNTERSIGN_TEST_EVENTS", arguments)
        }
        "anchors" => run_tests::anchors(arguments),
        "git-differential" => run_tests::git_differential(arguments),
        "reviewer-cost" => run_tests::reviewer_cost(),
        "openapi" => run_tests::openapi(),
        "schemathesis" => run_tests::schemathesis(arguments),
        "soak" => run_tests::ignored("soak", "COUNTERSIGN_TEST_SOAK_MINUTES", arguments),
        "first-hour" => subprocess::run(program("tests/first_hour.sh").args(arguments)),
        "package" => package::package(arguments),
        "prose" => prose::prose(arguments),
        "prepare" => sqlx_query_data::prepare(arguments),
        "migration" => file_templates::migration(arguments),
        "adr" => file_templates::adr(arguments),
        "help" | "-h" | "--help" => Ok(std::io::stdout().write_all(HELP.as_bytes())?),
        other => anyhow::bail!("unknown command {other:?}; `cargo xtask` lists the commands"),
    }
}
