//! `cargo xtask web`: builds the page from `web/` into `ui/dist`, checks it, measures it, or serves it for development.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use crate::npm;
use crate::subprocess::{built, cargo, program, root, run, target_folder};
use crate::{browser, chromium};

pub(crate) const SOURCE: &str = "web";
const DIST: &str = "ui/dist";

const USAGE: &str = "usage: cargo xtask web [--check | --dev [--url URL] | --measure]";

pub(crate) fn web(arguments: &[OsString]) -> anyhow::Result<()> {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    match arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>()[..] {
        [] => build(),
        ["--check"] => check(),
        ["--dev"] => dev(None),
        ["--dev", "--url", url] => dev(Some(url)),
        ["--measure"] => measure(),
        _ => anyhow::bail!(USAGE),
    }
}

pub(crate) fn install() -> anyhow::Result<()> {
    npm::install(SOURCE, "the page and its tests", "run `cargo xtask test --no-clients`")
}

/// A program of the page's packages, with `web/` as its working folder.
pub(crate) fn tool(name: &str) -> Command {
    npm::installed_program(SOURCE, name)
}

fn build() -> anyhow::Result<()> {
    install()?;
    build_into(&root().join(DIST))
}

fn build_into(folder: &Path) -> anyhow::Result<()> {
    run(tool("vite").args(["build", "--logLevel", "warn", "--emptyOutDir", "--outDir"]).arg(folder))
}

/// A step of `cargo xtask check`: the committed files are those that the sources give, and the sources are sound.
pub(crate) fn check() -> anyhow::Result<()> {
    install()?;
    run(tool("biome").args(["check", "."]))?;
    run(tool("tsc").arg("--noEmit"))?;
    run(tool("vitest").args(["run", "--reporter=dot"]))?;
    let rebuilt = scratch("web-check")?;
    build_into(&rebuilt)?;
    let differences = differences(&root().join(DIST), &rebuilt)?;
    anyhow::ensure!(
        differences.is_empty(),
        "{DIST} is out of date: run `cargo xtask web` and commit the result ({})",
        differences.join(", ")
    );
    eprintln!("xtask: {DIST} is up to date");
    Ok(())
}

/// An empty folder in the target folder.
fn scratch(name: &str) -> anyhow::Result<PathBuf> {
    let folder = built()?.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The files that are not byte for byte the same in both folders.
fn differences(committed: &Path, rebuilt: &Path) -> anyhow::Result<Vec<String>> {
    let (before, after) = (files_in(committed)?, files_in(rebuilt)?);
    let mut differences = Vec::new();
    for file in before.union(&after) {
        let is_same = match (before.contains(file), after.contains(file)) {
            (true, true) => fs::read(committed.join(file))? == fs::read(rebuilt.join(file))?,
            _ => false,
        };
        if !is_same {
            differences.push(file.display().to_string());
        }
    }
    Ok(differences)
}

/// The files in a folder and the folders in it, relative to it. None if the folder does not exist.
fn files_in(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let (mut files, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop().filter(|folder| folder.exists()) {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder)?.to_owned());
            }
        }
    }
    Ok(files)
}

/// Serves the sources with Vite, which sends the calls of the page to a broker. Ctrl-C ends both, because they share the
/// process group of xtask.
fn dev(url: Option<&str>) -> anyhow::Result<()> {
    install()?;
    let (broker, url) = match url {
        Some(url) => (None, url.to_owned()),
        None => {
            let (broker, url) = start_broker()?;
            (Some(broker), url)
        }
    };
    let served = run(tool("vite").env("COUNTERSIGN_URL", url));
    if let Some(mut broker) = broker {
        let _ = program("kill").arg(broker.id().to_string()).status();
        broker.wait()?;
    }
    served
}

/// Starts a debug broker for this repository. Its data folder is kept in the target folder.
fn start_broker() -> anyhow::Result<(Child, String)> {
    let mut command = program(browser::build_debug_binary()?);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(built()?.join("web-dev"));
    let mut broker = command.stdout(Stdio::piped()).spawn().context("cannot start the broker")?;
    let mut line = String::new();
    if let Some(output) = broker.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let url = line.trim_end().strip_prefix("listening ").context("the broker did not start")?.to_owned();
    Ok((broker, url))
}

/// Measures with a release build, and fails if a size or a count is over its limit.
fn measure() -> anyhow::Result<()> {
    install()?;
    let binary = match std::env::var_os(browser::BINARY_VARIABLE) {
        Some(given) => PathBuf::from(given),
        None => {
            run(&mut cargo(["build", "--release", "--bin", "countersign"]))?;
            target_folder()?.join("release").join(format!("countersign{}", std::env::consts::EXE_SUFFIX))
        }
    };
    run(browser::playwright("measure", &binary, &chromium::find_or_install()?).arg("--workers=1"))
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
