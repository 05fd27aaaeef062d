//! Runs Playwright with the built binary and a real Chromium: the browser tests in `web/e2e`, the screenshots, and the
//! performance measurements of the page.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::subprocess::{built, cargo, run, target_folder};
use crate::{chromium, web};

/// The variable with the path of the binary under test.
pub(crate) const BINARY_VARIABLE: &str = "COUNTERSIGN_BINARY";

/// `cargo xtask test --browser [PATTERN]`: builds the binary, then runs the stories.
pub(crate) fn test(arguments: &[OsString]) -> anyhow::Result<()> {
    let binary = build_debug_binary()?;
    stories(&binary, arguments)
}

/// The tests in the browser, with the binary that the other tests have built.
pub(crate) fn test_built() -> anyhow::Result<()> {
    stories(&debug_binary()?, &[])
}

/// The first argument is a pattern for titles of tests, as in `cargo test`; the others go to Playwright.
fn stories(binary: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    web::install()?;
    let mut playwright = playwright("stories", binary, &chromium::find_or_install()?);
    match arguments.split_first() {
        Some((pattern, rest)) if !pattern.to_string_lossy().starts_with('-') => {
            run(playwright.arg("--grep").arg(pattern).args(rest))
        }
        _ => run(playwright.args(arguments)),
    }
}

/// `cargo xtask screenshots [FOLDER]`: pictures of every page [default: target/screenshots].
pub(crate) fn screenshots(arguments: &[OsString]) -> anyhow::Result<()> {
    let folder = match arguments {
        [] => target_folder()?.join("screenshots"),
        [folder] if !folder.to_string_lossy().starts_with('-') => std::env::current_dir()?.join(folder),
        _ => anyhow::bail!("usage: cargo xtask screenshots [FOLDER]"),
    };
    web::install()?;
    let binary = build_debug_binary()?;
    let mut playwright = playwright("pictures", &binary, &chromium::find_or_install()?);
    run(playwright.env("COUNTERSIGN_PICTURES", &folder))?;
    eprintln!("xtask: pictures are in {}", folder.display());
    Ok(())
}

/// Playwright with one of the projects of `web/playwright.config.ts`.
pub(crate) fn playwright(project: &str, binary: &Path, chromium: &Path) -> Command {
    let mut playwright = web::tool("playwright");
    playwright.args(["test", &format!("--project={project}")]);
    playwright.env(BINARY_VARIABLE, binary).env("COUNTERSIGN_CHROMIUM", chromium);
    playwright
}

/// Builds the binary with the features that the tests use, so that neither is compiled twice. `--examples` is there only
/// because it brings in the dev-dependencies.
pub(crate) fn build_debug_binary() -> anyhow::Result<PathBuf> {
    run(&mut cargo(["build", "--workspace", "--bin", "countersign", "--examples"]))?;
    debug_binary()
}

fn debug_binary() -> anyhow::Result<PathBuf> {
    Ok(built()?.join(format!("countersign{}", std::env::consts::EXE_SUFFIX)))
}
