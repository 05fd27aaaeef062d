//! The part of a diff that belongs to one file.

use domain::content::Content;
use std::borrow::Cow;

/// The sections of `diff` that belong to `path`.
pub(super) fn diff_section<'a>(diff: &'a str, content: &Content, path: &str) -> Option<Cow<'a, str>> {
    let sections = sections(diff);
    let same_count = sections.len() == content.files.len();
    // Several patches to one path count as one file, so the two lists may differ in length.
    let mut mine = sections.into_iter().enumerate().filter_map(|(at, section)| {
        let belongs = match content.files.get(at) {
            Some(file) if same_count => file.path == path,
            Some(_) | None => names(section, path),
        };
        belongs.then_some(section)
    });
    let first = mine.next()?;
    Some(mine.fold(Cow::Borrowed(first), |all, section| Cow::Owned(all.into_owned() + section)))
}

/// Whether a section's header names `path`. Needed for diffs that could not be parsed file by file.
fn names(section: &str, path: &str) -> bool {
    const NAMES: [&str; 6] = ["+++ ", "--- ", "rename to ", "rename from ", "copy to ", "copy from "];
    let header = section.lines().take_while(|line| !line.starts_with("@@ "));
    let both = |line: &str| line.strip_prefix("diff --git ") == Some(&format!("a/{path} b/{path}"));
    if section.lines().next().is_some_and(both) {
        return true;
    }
    header.filter_map(|line| NAMES.iter().find_map(|name| line.strip_prefix(name))).any(|name| {
        let name = name.split('\t').next().unwrap_or(name);
        name == path || name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")) == Some(path)
    })
}

/// Splits a diff where a new file begins. Lines inside a hunk are counted, so content that looks like a header does not
/// start a section.
fn sections(diff: &str) -> Vec<&str> {
    let is_git = diff.starts_with("diff --git ") || diff.contains("\ndiff --git ");
    let (mut starts, mut hunk, mut at) = (Vec::new(), Hunk::default(), 0);
    let mut lines = diff.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if !hunk.takes(line) {
            let begins = if is_git {
                line.starts_with("diff --git ")
            } else {
                line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "))
            };
            if begins {
                starts.push(at);
            }
            if let Some(parsed) = Hunk::parse(line) {
                hunk = parsed;
            }
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| &diff[*start..end]).collect()
}

/// The number of lines of each side that are left in a hunk.
#[derive(Debug, Default)]
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    /// Parses `@@ -12,3 +12,4 @@`.
    fn parse(line: &str) -> Option<Self> {
        let mut ranges = line.strip_prefix("@@ -")?.split(' ');
        let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
        let old = count(ranges.next()?)?;
        let new = count(ranges.next()?.strip_prefix('+')?)?;
        Some(Self { old, new })
    }

    /// Counts a line. False if the hunk has ended.
    fn takes(&mut self, line: &str) -> bool {
        if self.old == 0 && self.new == 0 {
            return false;
        }
        match line.as_bytes().first() {
            Some(b'-') => self.old = self.old.saturating_sub(1),
            Some(b'+') => self.new = self.new.saturating_sub(1),
            Some(b'\\') => {}
            Some(_) | None => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{names, sections};

    const GIT: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n same\ndiff --git a/z b/z\nsimilarity index 100%\n";

    #[test]
    fn a_section_starts_only_at_a_file_header() {
        let parts = sections(GIT);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.concat(), GIT);
        assert!(names(parts[0], "x") && !names(parts[0], "y"));
    }

    #[test]
    fn plain_unified_diffs_are_split_too() {
        let plain = "note\n--- x\t2026\n+++ x\n@@ -1 +1 @@\n--- a\n+++ b\n--- z\n+++ z\n@@ -0,0 +1 @@\n+new\n";
        let parts = sections(plain);
        assert_eq!(parts.len(), 2);
        assert!(names(parts[0], "x") && names(parts[1], "z"));
    }

    #[test]
    fn a_text_without_a_diff_has_no_sections() {
        assert!(sections("hello\n").is_empty());
    }
}
