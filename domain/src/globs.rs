//! Paths by pattern, as people know them from `.gitignore`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::{fmt, ops::Deref};

/// Longer ones are a mistake.
pub const MAX_GLOB_CHARS: usize = 200;

/// Patterns that a path of a repository may fit. `*` stays within a folder and `**` does not; a pattern without a slash
/// fits in every folder, and one that ends in a slash fits all that is below.
#[derive(Clone, Default)]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

/// Why a pattern is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {why}")]
pub struct BadGlob {
    pub pattern: String,
    pub why: String,
}

impl Globs {
    pub fn new(patterns: Vec<String>) -> Result<Self, BadGlob> {
        let mut set = GlobSetBuilder::new();
        for pattern in &patterns {
            let bad = |why: String| BadGlob { pattern: pattern.clone(), why };
            let glob = GlobBuilder::new(&full(pattern).map_err(|why| bad(why.into()))?)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
        }
        let too_much = |error: globset::Error| BadGlob { pattern: patterns.join(" "), why: error.kind().to_string() };
        let set = set.build().map_err(too_much)?;
        Ok(Self { patterns, set })
    }

    pub fn fits(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}

/// The pattern of whole paths. One that no path can fit is refused rather than kept without effect.
fn full(pattern: &str) -> Result<String, &'static str> {
    if pattern.trim().is_empty() {
        return Err("is empty");
    }
    if pattern.chars().count() > MAX_GLOB_CHARS {
        return Err("is longer than 200 characters");
    }
    if pattern.starts_with('/') || pattern.starts_with("./") || pattern.split('/').any(|part| part == "..") {
        return Err("paths begin at the root of the repository, without / or ./ or ..");
    }
    if pattern.starts_with('!') {
        return Err("there is no negation");
    }
    Ok(match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None if pattern.contains('/') => pattern.to_owned(),
        None => format!("**/{pattern}"),
    })
}

/// The patterns as they were given.
impl Deref for Globs {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.patterns
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.patterns.fmt(f)
    }
}

#[cfg(test)]
#[path = "globs_tests.rs"]
mod tests;
