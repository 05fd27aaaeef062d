//! `cargo xtask check`: runs everything that CI runs.
//!
//! Every step builds the whole workspace with its dev-dependencies. With one selection of packages there is one set of
//! features, so no step compiles again what another has built.

use std::time::Instant;

use anyhow::Context as _;

use crate::subprocess::{cargo, program, run, target_folder};
use crate::{package, prose, run_tests, sqlx_query_data, web};

type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: &[Step] = &[
    ("format", || run(&mut cargo(["fmt", "--all", "--check"]))),
    ("prose", prose::check),
    ("spelling", || tool("typos-cli", "1.51.1", "typos", &[])),
    ("unused dependencies", || tool("cargo-machete", "0.9.2", "cargo-machete", &["--skip-target-dir"])),
    // By deny.toml. Advisories are not checked: their database is a git repository, and the checks run without network
    // access beyond crates.io.
    ("licences and bans", || {
        tool("cargo-deny", "0.20.2", "cargo-deny", &["--locked", "check", "bans", "licenses", "sources"])
    }),
    ("page", web::check),
    ("lints", lints),
    ("tests", || run_tests::test(&[])),
    ("package", package::check),
    ("docs", docs),
    ("query data", || sqlx_query_data::prepare(&["--check".into()])),
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

/// Runs a tool from crates.io. If this version is missing, it is built into `target/tools` and kept there.
fn tool(package: &str, version: &str, name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let tools = target_folder()?.join("tools");
    let root = tools.join(format!("{package}-{version}"));
    let path = root.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        // A debug build takes half the time, and the tools are fast enough. They share what they build.
        let mut install = cargo(["install", "--debug", "--locked", package, "--version", version]);
        install.arg("--root").arg(&root).arg("--target-dir").arg(tools.join("build"));
        run(install.env("CARGO_PROFILE_DEV_DEBUG", "0"))
            .with_context(|| format!("cannot install {package} {version}"))?;
    }
    run(program(path).args(arguments))
}
