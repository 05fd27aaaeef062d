//! All that CI runs. Every step selects the whole workspace with its dev-dependencies: one selection
//! is one set of features, so no step compiles again what another has built.

use std::time::Instant;

use crate::run::{answers, cargo, run};
use crate::{prepare, test};

type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: &[Step] = &[
    ("format", || run(&mut cargo(["fmt", "--all", "--check"]))),
    ("lints", lints),
    ("tests", || test::test(&[])),
    ("docs", docs),
    ("query data", || prepare::prepare(&["--check".into()])),
    ("licences and bans", deny),
];

/// Stops at the first step that fails, the quick ones come first.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        let began = Instant::now();
        step().inspect_err(|_| eprintln!("xtask: check failed at: {name}"))?;
        times.push(format!("{name} {}s", began.elapsed().as_secs()));
    }
    eprintln!("xtask: all good ({})", times.join(", "));
    Ok(())
}

fn lints() -> anyhow::Result<()> {
    let clippy = ["clippy", "--locked", "--workspace", "--all-targets"];
    run(cargo(clippy).args(["--", "-D", "warnings"]))
}

/// The examples are named only to keep the dev-dependencies, and so the features, in.
fn docs() -> anyhow::Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--lib", "--examples"];
    run(cargo(doc).env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny() -> anyhow::Result<()> {
    if !answers(&mut cargo(["deny", "--version"])) {
        eprintln!("xtask: SKIPPED licences and bans: cargo-deny is not installed");
        return Ok(());
    }
    run(&mut cargo(["deny", "check"]))
}
