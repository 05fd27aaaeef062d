//! Decides whether a new finding is late: whether it is on lines that have not changed since the same reviewer's last
//! verdict.

use super::Files;
use domain::{
    content::Content,
    diff::FileOperation,
    finding::{
        Lines, LocatedText, Location,
        anchor::{changed_lines, removed_lines},
    },
    review::DiffSide,
};
use git::FileContent;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A content and its files, as far as findings refer to them.
pub(super) struct ContentFiles {
    pub(super) content: Arc<Content>,
    pub(super) files: Files,
}

/// What changed in the texts that findings refer to.
pub(super) struct ChangesSince {
    by_text: BTreeMap<LocatedText, Touched>,
    /// Whether the files of both contents could be read.
    has_files: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Touched {
    Lines(Vec<Lines>),
    /// Whether the text changed; its lines cannot be compared.
    Whole(bool),
}

impl ChangesSince {
    /// Compares each text once.
    pub(super) fn new(before: &ContentFiles, now: &ContentFiles, texts: BTreeSet<LocatedText>) -> Self {
        let touched = |text: LocatedText| {
            let touched = match &text {
                LocatedText::Description => touched_description(&before.content, &now.content),
                LocatedText::File { path, side: DiffSide::New } => touched_after(before, now, path)?,
                LocatedText::File { path, side: DiffSide::Old } => touched_before(before, now, path)?,
            };
            Some((text, touched))
        };
        let by_text = texts.into_iter().filter_map(touched).collect();
        Self { by_text, has_files: before.files.is_ok() && now.files.is_ok() }
    }

    /// Whether the location overlaps no changed lines. A finding without a location does not; if that is unknown, it is
    /// not late.
    pub(super) fn is_late(&self, location: Option<&Location>) -> bool {
        let Some(location) = location else { return self.has_files };
        match self.by_text.get(&location.text) {
            Some(Touched::Lines(changed)) => {
                !changed.iter().any(|lines| location.lines.is_none_or(|own| overlap(own, *lines)))
            }
            Some(Touched::Whole(touched)) => !*touched,
            None => false,
        }
    }
}

const fn overlap(a: Lines, b: Lines) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn touched_description(before: &Content, now: &Content) -> Touched {
    match (&before.description, &now.description) {
        (Some(before), Some(now)) => Touched::Lines(changed_lines(before, now)),
        (before, now) => Touched::Whole(before != now),
    }
}

fn touched_after(before: &ContentFiles, now: &ContentFiles, path: &str) -> Option<Touched> {
    let (before, now) = (before.files.as_ref().ok()?.get(path)?, now.files.as_ref().ok()?.get(path)?);
    Some(match (&before.after, &now.after) {
        (FileContent::Text(before), FileContent::Text(now)) => Touched::Lines(changed_lines(before, now)),
        (before, now) => Touched::Whole(before != now),
    })
}

/// Lines of the old side that only one of the two contents removes. If the base changed, all removed lines and the lines
/// that the base changed.
fn touched_before(before: &ContentFiles, now: &ContentFiles, path: &str) -> Option<Touched> {
    let (base_before, removed_before) = before.removed(path)?;
    let (base, removed) = now.removed(path)?;
    if base == base_before {
        let differing = removed.symmetric_difference(&removed_before);
        return Some(Touched::Lines(differing.map(|&line| Lines { start: line, end: line }).collect()));
    }
    let removed = removed.into_iter().map(|line| Lines { start: line, end: line });
    Some(Touched::Lines(removed.chain(changed_lines(base_before, base)).collect()))
}

impl ContentFiles {
    /// A file at the base, and the lines of it that the content removes.
    fn removed(&self, path: &str) -> Option<(&str, BTreeSet<u32>)> {
        let files = self.files.as_ref().ok()?;
        let FileContent::Text(base) = &files.get(path)?.before else { return None };
        let after = match &files.get(path_after(&self.content, path))?.after {
            FileContent::Text(after) => after.as_str(),
            FileContent::Absent => "",
            FileContent::Binary | FileContent::TooLarge => return None,
        };
        let removed = removed_lines(base, after);
        Some((base, removed.into_iter().flat_map(|lines| lines.start..=lines.end).collect()))
    }
}

/// The path that a file at the base has after the change.
pub(super) fn path_after<'a>(content: &'a Content, path: &'a str) -> &'a str {
    let mut renamed = content.files.iter().filter(|file| file.operation == FileOperation::Rename);
    renamed.find(|file| file.old_path.as_deref() == Some(path)).map_or(path, |file| &file.path)
}

#[cfg(test)]
#[path = "late_findings_tests.rs"]
mod tests;
