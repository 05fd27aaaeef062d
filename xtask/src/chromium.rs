//! Finds a Chromium for the browser tests, or installs one.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::npm;
use crate::subprocess::{program, root, run, succeeds, target_folder};

/// The npm package that contains a browser. `package-lock.json` there has the version and the hash.
const PACKAGE: &str = "tests/chromium";
const PACKAGE_VERSION: &str = "153.0.0";

/// Names and places of the browsers that people install.
const INSTALLED: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// Returns the program to start: the one in `COUNTERSIGN_CHROMIUM`, else the one of this machine, else one from a
/// package. A missing browser is an error, so that the tests are never skipped unnoticed.
pub(crate) fn find_or_install() -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os("COUNTERSIGN_CHROMIUM").filter(|given| !given.is_empty()) {
        let given = PathBuf::from(given);
        anyhow::ensure!(
            starts(&given),
            "COUNTERSIGN_CHROMIUM is {}, which does not start; set it to the path of Chromium or Chrome, or unset it",
            given.display()
        );
        return Ok(given);
    }
    if let Some(found) = INSTALLED.iter().map(PathBuf::from).find(|name| starts(name)) {
        return Ok(found_in_path(&found).unwrap_or(found));
    }
    install().context(
        "no Chromium for the tests in a browser; install Chromium or Chrome, set COUNTERSIGN_CHROMIUM to its path, or \
         run `cargo xtask test --no-clients`",
    )
}

fn starts(browser: &Path) -> bool {
    succeeds(program(browser).arg("--version"))
}

/// Playwright does not search in PATH.
fn found_in_path(name: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The npm package works without root; where its browser does not run, Debian's package is tried.
fn install() -> anyhow::Result<PathBuf> {
    let from_npm = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        install_from_npm()
    } else {
        Err(anyhow::anyhow!("the npm package has a browser for Linux on x86-64 only"))
    };
    from_npm.or_else(|error| {
        if !succeeds(program("sh").args(["-c", "command -v apt-get && [ \"$(id -u)\" = 0 ]"])) {
            return Err(error);
        }
        eprintln!("xtask: {error:#}; installing Debian's package");
        run(program("apt-get").args(["update", "--quiet"]))?;
        run(program("apt-get").args(["install", "--quiet", "--yes", "--no-install-recommends", "chromium"]))?;
        found_in_path(Path::new("chromium")).context("Debian's package has no chromium")
    })
}

fn install_from_npm() -> anyhow::Result<PathBuf> {
    let folder = target_folder()?.join("tools").join(format!("chromium-{PACKAGE_VERSION}"));
    let browser = folder.join("chromium");
    if !browser.is_file() {
        npm::install(PACKAGE, "the tests in a browser", "install Chromium")?;
        run(program("node").arg(root().join(PACKAGE).join("unpack.mjs")).arg(&folder))?;
    }
    anyhow::ensure!(starts(&browser), "{} does not start", browser.display());
    Ok(browser)
}

#[cfg(test)]
#[path = "chromium_tests.rs"]
mod tests;
