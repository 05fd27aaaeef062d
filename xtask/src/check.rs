//! `cargo xtask check`: everything that CI runs.
//!
//! Every step builds the whole workspace with its dev-dependencies. With one selection of packages there is one set of
//! features, so no step compiles again what another has built.

use std::time::Instant;

use crate::run::{cargo, run};
use crate::{prepare, prose, test, tools};

type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: &[Step] = &[
    ("format", || run(&mut cargo(["fmt", "--all", "--check"]))),
    ("prose", prose::check),
    ("spelling", tools::typos),
    ("unused dependencies", tools::machete),
    ("licences and bans", tools::deny),
    ("lints", lints),
    ("tests", || test::test(&[])),
    ("docs", docs),
    ("query data", || prepare::prepare(&["--check".into()])),
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        let started = Instant::now();
        step().inspect_err(|_| eprintln!("xtask: check failed at: {name}"))?;
        times.push(format!("{name} {}s", started.elapsed().as_secs()));
    }
    eprintln!("xtask: all checks passed ({})", times.join(", "));
    Ok(())
}

fn lints() -> anyhow::Result<()> {
    let clippy = ["clippy", "--locked", "--workspace", "--all-targets"];
    run(cargo(clippy).args(["--", "-D", "warnings"]))
}

/// `--examples` is there only because it brings in the dev-dependencies, and so the same features as in the other steps.
fn docs() -> anyhow::Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--lib", "--examples"];
    run(cargo(doc).env("RUSTDOCFLAGS", "-D warnings"))
}
