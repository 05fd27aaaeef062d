//! Where npm put what `tests/clients/package.json` names.

use std::path::{Path, PathBuf};

pub(crate) fn codex() -> PathBuf {
    find("@openai", "codex-", &["vendor", "*", "bin", "codex"])
}

pub(crate) fn claude() -> PathBuf {
    find("@anthropic-ai", "claude-code-", &["claude"])
}

/// Node 22 from npm, which the conformance suites need.
pub(crate) fn node() -> PathBuf {
    find("", "node-", &["bin", "node"])
}

/// The program of one of the conformance suites, by its name in `package.json`.
pub(crate) fn conformance(package: &str) -> PathBuf {
    find("", package, &["dist", "index.js"])
}

/// npm installs the packages of this platform alone, so a package's prefix finds the right one.
fn find(scope: &str, prefix: &str, inside: &[&str]) -> PathBuf {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/node_modules");
    let packages = entries(&modules.join(scope))
        .into_iter()
        .filter(|package| package.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    let found = packages.flat_map(|package| expand(package, inside)).find(|file| file.is_file());
    found.unwrap_or_else(|| {
        panic!("no {prefix}* in {}: run cargo xtask test, which installs them", modules.join(scope).display())
    })
}

fn expand(from: PathBuf, inside: &[&str]) -> Vec<PathBuf> {
    match inside {
        [] => vec![from],
        ["*", rest @ ..] => entries(&from).into_iter().flat_map(|entry| expand(entry, rest)).collect(),
        [name, rest @ ..] => expand(from.join(name), rest),
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
