//! `cargo xtask prose`: lists words that the house style avoids, in comments, string literals and documents.

use std::ffi::OsString;
use std::fs;

use anyhow::Context as _;

use crate::subprocess::{program, root};

/// Whole words, or phrases with their spaces.
const AVOIDED: &[&str] = &["nobody", "whoever", "somebody", "told", "mend", "mended", "is no "];

/// How many are left. Lower it as they go; never raise it.
const LIMIT: usize = 4;

/// Files and folders with text that is generated, quoted from elsewhere or about these very words.
const SKIPPED: &[&str] = &[
    "docs/openapi.json",
    "tests/chromium/package-lock.json",
    "tests/clients/package-lock.json",
    "ui/dist/",
    "web/package-lock.json",
    "web/src/api/generated.ts",
    "xtask/src/prose.rs",
    "xtask/src/prose_tests.rs",
];

/// Extensions of documents, settings and sources of the page, which are searched as a whole.
const DOCUMENTS: &[&str] = &["md", "toml", "sql", "sh", "yml", "json", "html", "css", "mjs", "ts", "tsx"];

/// `cargo xtask prose` lists the places; `check` only counts them.
pub(crate) fn prose(arguments: &[OsString]) -> anyhow::Result<()> {
    anyhow::ensure!(arguments.is_empty(), "usage: cargo xtask prose");
    for place in places()? {
        eprintln!("{place}");
    }
    check()
}

pub(crate) fn check() -> anyhow::Result<()> {
    let count = places()?.len();
    anyhow::ensure!(
        count <= LIMIT,
        "{count} words that the house style avoids ({}), at most {LIMIT} are allowed; `cargo xtask prose` lists them",
        AVOIDED.join(", ").replace("is no ,", "is no,")
    );
    eprintln!("xtask: {count} words that the house style avoids, of at most {LIMIT}");
    Ok(())
}

/// Each occurrence as `file:line: word`.
fn places() -> anyhow::Result<Vec<String>> {
    let files = program("git").args(["ls-files", "-z"]).output().context("cannot run git")?;
    anyhow::ensure!(files.status.success(), "git ls-files failed");
    let files = String::from_utf8(files.stdout).context("a file name is not UTF-8")?;
    let mut places = Vec::new();
    let is_skipped = |file: &str| SKIPPED.iter().any(|skipped| file.starts_with(skipped));
    for file in files.split_terminator('\0').filter(|file| !is_skipped(file)) {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        let (is_rust, is_document) = (extension == "rs", DOCUMENTS.contains(&extension));
        // A deleted file may still be tracked.
        let Some(text) = (is_rust || is_document).then(|| fs::read_to_string(root().join(file)).ok()).flatten() else {
            continue;
        };
        let text = if is_rust { comments_and_strings(&text) } else { text };
        for (number, line) in text.lines().enumerate() {
            places.extend(avoided_in(line).map(|word| format!("{file}:{}: {}", number + 1, word.trim_end())));
        }
    }
    Ok(places)
}

fn avoided_in(line: &str) -> impl Iterator<Item = &'static str> {
    // Two uses of "is no" are ordinary English.
    let line = line.to_lowercase().replace("there is no ", "").replace("is no longer", "");
    AVOIDED.iter().copied().flat_map(move |word| {
        let starts: Vec<_> = line.match_indices(word).map(|(at, _)| at).collect();
        let line = line.clone();
        starts.into_iter().filter(move |at| is_word(&line, *at, word.len())).map(move |_| word)
    })
}

/// Whether the match is not part of a longer word. Underscores separate words, so test names count in documents.
fn is_word(line: &str, at: usize, length: usize) -> bool {
    let before = line[..at].chars().next_back();
    let after = line[at + length..].chars().next();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    !is_letter(before) && (line[..at + length].ends_with(' ') || !is_letter(after))
}

/// Rust source with everything but comments and the content of string literals replaced by spaces.
fn comments_and_strings(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = literal_length(rest);
        if length > 0 {
            text.push_str(&rest[..length]);
            rest = &rest[length..];
        } else {
            text.push(if c == '\n' { '\n' } else { ' ' });
            rest = &rest[c.len_utf8()..];
        }
    }
    text
}

/// The length of the comment or string literal at the start of `source`, or 0 if `source` starts with code.
fn literal_length(source: &str) -> usize {
    let end_of = |end: &str, start: usize| source[start..].find(end).map_or(source.len(), |at| start + at + end.len());
    if source.starts_with("//") {
        return source.find('\n').unwrap_or(source.len());
    }
    if source.starts_with("/*") {
        return end_of("*/", 2);
    }
    if source.starts_with("'\"'") || source.starts_with("'\\\"'") {
        return end_of("'", 1);
    }
    if let Some(raw) = source.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return end_of(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
        }
    }
    if source.starts_with('"') {
        let mut escaped = false;
        let end = source.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        return end.map_or(source.len(), |(at, _)| at + 1);
    }
    0
}

#[cfg(test)]
#[path = "prose_tests.rs"]
mod tests;
