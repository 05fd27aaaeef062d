//! Checking tools from crates.io in pinned versions. Each is built once into the target folder and kept there.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::run::{built, cargo, program, run};

/// A tool and its version. To update a tool, change the version here.
pub(crate) struct Tool {
    package: &'static str,
    version: &'static str,
    program: &'static str,
}

const DENY: Tool = Tool { package: "cargo-deny", version: "0.20.2", program: "cargo-deny" };
const MACHETE: Tool = Tool { package: "cargo-machete", version: "0.9.2", program: "cargo-machete" };
const TYPOS: Tool = Tool { package: "typos-cli", version: "1.51.1", program: "typos" };

/// Licences, banned dependencies and sources, by deny.toml. Advisories are not checked: their database is a git
/// repository, and the checks run without network access beyond crates.io.
pub(crate) fn deny() -> anyhow::Result<()> {
    run(DENY.command()?.args(["--locked", "check", "bans", "licenses", "sources"]))
}

/// Dependencies that a package declares but does not use.
pub(crate) fn machete() -> anyhow::Result<()> {
    run(MACHETE.command()?.arg("--skip-target-dir"))
}

/// Spelling, by typos.toml.
pub(crate) fn typos() -> anyhow::Result<()> {
    run(&mut TYPOS.command()?)
}

impl Tool {
    /// The command that runs the tool. Builds it first if this version is missing.
    fn command(&self) -> anyhow::Result<Command> {
        let tools = tools_folder()?;
        let root = tools.join(format!("{}-{}", self.package, self.version));
        let path = root.join("bin").join(format!("{}{}", self.program, std::env::consts::EXE_SUFFIX));
        if !path.is_file() {
            // A debug build takes half the time, and the tools are fast enough. They share what they build.
            let mut install = cargo(["install", "--debug", "--locked", self.package, "--version", self.version]);
            install.arg("--root").arg(&root).arg("--target-dir").arg(tools.join("build"));
            run(install.env("CARGO_PROFILE_DEV_DEBUG", "0"))
                .with_context(|| format!("cannot install {} {}", self.package, self.version))?;
        }
        Ok(program(path))
    }
}

/// `target/tools`.
fn tools_folder() -> anyhow::Result<PathBuf> {
    let built = built()?;
    let target = built.parent().context("xtask was not built in a target folder")?;
    Ok(target.join("tools"))
}
