//! The test command, with the set-up the tests need.

use std::ffi::OsString;
use std::fs;

use anyhow::Context as _;

use crate::run::{answers, cargo, program, root, run};

const CLIENTS: &str = "tests/clients";
/// A copy of the lock file that was installed. Its time would say little: a checkout changes it.
const STAMP: &str = "node_modules/.installed-lock.json";

pub(crate) fn test(arguments: &[OsString]) -> anyhow::Result<()> {
    let no_clients = |argument: &&OsString| *argument == "--no-clients";
    let mut rest: Vec<_> = arguments.iter().collect();
    rest.retain(|argument| !no_clients(argument));
    // no build before it: without dev-dependencies the features differ, and all is compiled twice
    let mut tests = cargo(["test", "--workspace"]);
    if rest.len() < arguments.len() {
        eprintln!("xtask: SKIPPED by --no-clients: real clients and the MCP conformance suite");
        tests.env("COUNTERSIGN_SKIP_CLIENTS", "1");
    } else {
        install_clients()?;
    }
    run(tests.args(rest))?;
    warn_of_missing_python();
    Ok(())
}

/// Last, where it is read: the test itself can only pass over it.
fn warn_of_missing_python() {
    if !answers(program("python3").args(["-c", "import venv, ensurepip"])) {
        eprintln!(
            "xtask: SKIPPED for want of python3 with venv: schemathesis, that is, made-up requests for the REST API"
        );
    }
}

/// Runs long tests, which are ignored otherwise, one after the other; `size` tells them how long.
pub(crate) fn ignored(name: &str, size: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    let mut test = cargo(["test", "--release", "--test", "it", "--"]);
    test.args(["--ignored", "--nocapture", "--test-threads=1", name]);
    match arguments {
        [] => {}
        [number] if number.to_str().is_some_and(|n| n.parse::<u32>().is_ok()) => {
            test.env(size, number);
        }
        _ => anyhow::bail!("expected one whole number, or nothing"),
    }
    run(&mut test)
}

/// Measures anchors on the sample history, or on a repository of one's own. Git does most of the work, so it is not
/// worth a release build.
pub(crate) fn anchors(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut test = cargo(["test", "--test", "it", "--", "--ignored", "--nocapture", "anchors_measured"]);
    match arguments {
        [] => {}
        [repository] => {
            let repository = fs::canonicalize(repository).context("no such repository")?;
            test.env("COUNTERSIGN_TEST_HISTORY", repository);
        }
        _ => anyhow::bail!("expected one folder, or nothing"),
    }
    run(&mut test)
}

/// The test that compares the committed description writes it instead.
pub(crate) fn openapi() -> anyhow::Result<()> {
    let mut test = cargo(["test", "--test", "it", "--", "--exact"]);
    test.arg("api::openapi::the_committed_description_is_the_one_that_is_served");
    run(test.env("COUNTERSIGN_UPDATE_OPENAPI", "1"))
}

/// The long form of a test that CI runs with a few examples.
pub(crate) fn schemathesis(arguments: &[OsString]) -> anyhow::Result<()> {
    let number = match arguments {
        [] => OsString::from("100"),
        [number] if number.to_str().is_some_and(|n| n.parse::<u32>().is_ok()) => number.clone(),
        _ => anyhow::bail!("expected one whole number, or nothing"),
    };
    let mut test = cargo(["test", "--test", "it", "--", "--exact", "--nocapture"]);
    test.arg("api::openapi::no_generated_request_is_answered_outside_the_description");
    run(test.env("COUNTERSIGN_TEST_EXAMPLES", number))
}

fn install_clients() -> anyhow::Result<()> {
    let clients = root().join(CLIENTS);
    let Ok(wanted) = fs::read(clients.join("package-lock.json")) else {
        return Ok(());
    };
    let stamp = clients.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    anyhow::ensure!(
        answers(program("npm").arg("--version")),
        "npm is not there, and the tests with real clients need it; install Node, or run \
         `cargo xtask test --no-clients` for the rest"
    );
    run(program("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&clients))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}
