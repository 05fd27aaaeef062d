//! `cargo xtask test` and the long tests: runs them, and installs the real clients that some of them need.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use anyhow::Context as _;

use crate::subprocess::{cargo, program, run, succeeds};
use crate::{browser, npm};

/// `--browser` runs only the tests in the browser; a filter selects other tests, so it leaves those out.
pub(crate) fn test(arguments: &[OsString]) -> anyhow::Result<()> {
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "--browser") {
        return browser::test(rest);
    }
    let rest: Vec<_> = arguments.iter().filter(|argument| *argument != "--no-clients").collect();
    let has_clients = rest.len() == arguments.len();
    // Not after `cargo build`: without dev-dependencies the features differ, and everything would be compiled twice.
    let mut tests = cargo(["test", "--workspace"]);
    if has_clients {
        install_clients()?;
    } else {
        eprintln!("xtask: SKIPPED by --no-clients: real clients, the MCP conformance suite and the tests in a browser");
        tests.env("COUNTERSIGN_SKIP_CLIENTS", "1");
    }
    run(tests.args(&rest))?;
    if has_clients && rest.is_empty() {
        browser::test_built()?;
    }
    warn_if_python_is_missing();
    Ok(())
}

/// Printed after the tests, where it is noticed: the test can only skip itself.
fn warn_if_python_is_missing() {
    if !succeeds(program("python3").args(["-c", "import venv, ensurepip"])) {
        eprintln!("xtask: SKIPPED schemathesis (generated requests to the REST API): python3 with venv is missing");
    }
}

/// Runs ignored long tests one after the other. `size` is the variable that sets their length.
pub(crate) fn ignored(name: &str, size: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    let mut test = cargo(["test", "--release", "--test", "it", "--"]);
    test.args(["--ignored", "--nocapture", "--test-threads=1", name]);
    if let Some(number) = number(arguments)? {
        test.env(size, number);
    }
    run(&mut test)
}

fn number(arguments: &[OsString]) -> anyhow::Result<Option<&OsString>> {
    match arguments {
        [] => Ok(None),
        [number] if number.to_str().is_some_and(|n| n.parse::<u32>().is_ok()) => Ok(Some(number)),
        _ => anyhow::bail!("expected one whole number, or no argument"),
    }
}

/// Measures anchors on the sample history or on another repository. Git does most of the work, so a debug build is fast
/// enough.
pub(crate) fn anchors(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut test = cargo(["test", "--test", "it", "--", "--ignored", "--nocapture", "anchors_measured"]);
    run(with_history(&mut test, arguments)?)
}

/// Compares the engine of the git package with git. Git does most of the work here too.
pub(crate) fn git_differential(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut test = cargo(["test", "--package", "countersign-git", "--lib", "--", "--ignored", "--nocapture"]);
    test.args(["--test-threads=1", "git_differential"]);
    run(with_history(&mut test, arguments)?)
}

/// Lets a test read the history of the repository that the arguments name, if any.
fn with_history<'a>(test: &'a mut Command, arguments: &[OsString]) -> anyhow::Result<&'a mut Command> {
    match arguments {
        [] => Ok(test),
        [repository] => {
            let repository = fs::canonicalize(repository).context("cannot open the repository")?;
            Ok(test.env("COUNTERSIGN_TEST_HISTORY", repository))
        }
        _ => anyhow::bail!("expected one repository, or no argument"),
    }
}

/// Prints what a conversation costs in each mode of a persona.
pub(crate) fn reviewer_cost() -> anyhow::Result<()> {
    install_clients()?;
    let mut test = cargo(["test", "--test", "it", "--", "--ignored", "--exact", "--nocapture"]);
    run(test.arg("clients::reviewer_cost::cost_of_a_conversation_in_each_mode"))
}

/// Runs the tests that compare docs/openapi.json and web/src/api/generated.ts, and lets them write the files.
pub(crate) fn openapi() -> anyhow::Result<()> {
    let mut test = cargo(["test", "--package", "countersign-api", "--lib", "--"]);
    test.arg("openapi::tests::the_committed_");
    run(test.env("COUNTERSIGN_UPDATE_OPENAPI", "1"))
}

/// Runs the schemathesis test with more examples than CI does.
pub(crate) fn schemathesis(arguments: &[OsString]) -> anyhow::Result<()> {
    let number = number(arguments)?.cloned().unwrap_or_else(|| "100".into());
    let mut test = cargo(["test", "--test", "it", "--", "--exact", "--nocapture"]);
    test.arg("api::openapi::no_generated_request_is_answered_outside_the_description");
    run(test.env("COUNTERSIGN_TEST_EXAMPLES", number))
}

fn install_clients() -> anyhow::Result<()> {
    npm::install("tests/clients", "the tests with the real clients", "run `cargo xtask test --no-clients`")
}
