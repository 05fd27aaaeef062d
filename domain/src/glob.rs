//! Matches paths against patterns similar to those of `.gitignore`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::Deref};

pub const MAX_GLOB_CHARS: usize = 200;

/// A list of patterns for paths in a repository. `*` does not match a slash and `**` does. A pattern without a slash
/// matches in every folder; one that ends in a slash matches everything below that folder.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {reason}")]
pub struct GlobError {
    pub pattern: String,
    pub reason: String,
}

impl Globs {
    pub fn new(patterns: Vec<String>) -> Result<Self, GlobError> {
        let mut set = GlobSetBuilder::new();
        for pattern in &patterns {
            let invalid = |reason: String| GlobError { pattern: pattern.clone(), reason };
            let glob = GlobBuilder::new(&full_pattern(pattern).map_err(invalid)?)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            set.add(glob.map_err(|error| invalid(error.kind().to_string()))?);
        }
        let too_large =
            |error: globset::Error| GlobError { pattern: patterns.join(" "), reason: error.kind().to_string() };
        let set = set.build().map_err(too_large)?;
        Ok(Self { patterns, set })
    }

    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}

impl TryFrom<Vec<String>> for Globs {
    type Error = GlobError;

    fn try_from(patterns: Vec<String>) -> Result<Self, GlobError> {
        Self::new(patterns)
    }
}

impl From<Globs> for Vec<String> {
    fn from(globs: Globs) -> Self {
        globs.patterns
    }
}

/// The pattern for a whole path. A pattern that cannot match any path is an error.
fn full_pattern(pattern: &str) -> Result<String, String> {
    if pattern.trim().is_empty() {
        return Err("is empty".into());
    }
    if pattern.chars().count() > MAX_GLOB_CHARS {
        return Err(format!("is longer than {MAX_GLOB_CHARS} characters"));
    }
    if pattern.starts_with('/') || pattern.starts_with("./") || pattern.split('/').any(|part| part == "..") {
        return Err("paths are relative to the root of the repository; remove /, ./ or ..".into());
    }
    if pattern.starts_with('!') {
        return Err("negation is not supported".into());
    }
    Ok(match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None if pattern.contains('/') => pattern.to_owned(),
        None => format!("**/{pattern}"),
    })
}

/// The patterns as given.
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
#[path = "glob_tests.rs"]
mod tests;
