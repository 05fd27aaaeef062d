//! Anchors: where the lines of a finding are in a later content. If that is not certain, the lines count as modified,
//! because a finding that points at the wrong code is worse than one without a position.

mod align;
mod suggestion_match;
mod unambiguous;

use std::ops::Range;

use super::grounding::FileText;
use super::{AnchorState, Lines, Location};
use align::{Aligned, Hunk};
pub use suggestion_match::is_as_suggested;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    pub state: AnchorState,
    /// `None` if the lines are gone.
    pub location: Option<Location>,
}

/// Locates `location` of the file with text `old` in the `new` text of the file, which is now at `new_path`.
pub fn project(location: &Location, old: &str, new: FileText<'_>, new_path: &str) -> Projection {
    let texts = Texts::new(old, new);
    texts.project(location, new_path)
}

/// Like `project`, for several locations of one file, which is compared once.
pub fn project_all(locations: &[Location], old: &str, new: FileText<'_>, new_path: &str) -> Vec<Projection> {
    let texts = Texts::new(old, new);
    locations.iter().map(|location| texts.project(location, new_path)).collect()
}

/// A file before and after.
struct Texts<'a> {
    new: FileText<'a>,
    aligned: Option<Aligned<'a>>,
}

impl<'a> Texts<'a> {
    fn new(old: &'a str, new: FileText<'a>) -> Self {
        let aligned = match new {
            FileText::Text(new) => Some(Aligned::new(old, new)),
            FileText::Binary | FileText::Absent | FileText::Unknown => None,
        };
        Self { new, aligned }
    }

    fn project(&self, location: &Location, new_path: &str) -> Projection {
        let whole = |state| Projection { state, location: Some(Location { file: new_path.to_owned(), lines: None }) };
        match (self.new, location.lines) {
            (FileText::Absent, _) => Projection { state: AnchorState::Gone, location: None },
            (FileText::Unknown, _) | (FileText::Binary, Some(_)) => whole(AnchorState::Modified),
            (FileText::Text(_) | FileText::Binary, None) => whole(standing(location.file == new_path)),
            (FileText::Text(_), Some(lines)) => {
                match self.aligned.as_ref().and_then(|texts| Some((range(lines, texts.old.len())?, texts))) {
                    Some((range, texts)) => project_lines(location, &range, texts, new_path),
                    None => whole(AnchorState::Modified),
                }
            }
        }
    }
}

fn project_lines(location: &Location, lines: &Range<usize>, texts: &Aligned<'_>, new_path: &str) -> Projection {
    let at = |found: Range<usize>| Some(Location { file: new_path.to_owned(), lines: shown(&found) });
    if let Some(start) = stands_at(lines, texts) {
        let found = start..start + lines.len();
        let is_exact = location.file == new_path && found == *lines;
        return Projection { state: standing(is_exact), location: at(found) };
    }
    let region = texts.region(lines);
    if region.is_empty() {
        return Projection { state: AnchorState::Gone, location: None };
    }
    Projection { state: AnchorState::Modified, location: at(region) }
}

/// The position of the unchanged lines, if it is certain.
fn stands_at(lines: &Range<usize>, texts: &Aligned<'_>) -> Option<usize> {
    if texts.hunks.is_empty() {
        return Some(lines.start);
    }
    let paired = texts.target(lines.start).filter(|start| {
        let mut pairs = lines.clone().zip(*start..);
        pairs.all(|(old, new)| texts.target(old) == Some(new))
    });
    paired.filter(|&start| unambiguous::is_certain(texts, lines, start)).or_else(|| unambiguous::moved_to(texts, lines))
}

fn standing(is_exact: bool) -> AnchorState {
    if is_exact { AnchorState::Exact } else { AnchorState::Moved }
}

/// The lines of `new` that are not in `old`. At a deletion the lines before and after it count, because a finding about
/// a deletion cannot point elsewhere.
pub fn changed_lines(old: &str, new: &str) -> Vec<Lines> {
    let texts = Aligned::new(old, new);
    let mut changed: Vec<Range<usize>> = Vec::new();
    for Hunk { after, .. } in &texts.hunks {
        let mut touched = after.clone();
        if touched.is_empty() {
            touched = touched.start.saturating_sub(1)..(touched.end + 1).min(texts.new.len());
        }
        match changed.last_mut() {
            Some(last) if touched.start <= last.end => last.end = touched.end.max(last.end),
            Some(_) | None => changed.push(touched),
        }
    }
    changed.iter().filter_map(shown).collect()
}

/// As zero-based positions in a text of `count` lines, if it has them.
fn range(lines: Lines, count: usize) -> Option<Range<usize>> {
    let start = (lines.start as usize).checked_sub(1)?;
    let end = lines.end as usize;
    (start < end && end <= count).then_some(start..end)
}

/// As line numbers counted from 1, unless the range is empty.
fn shown(range: &Range<usize>) -> Option<Lines> {
    let start = u32::try_from(range.start).ok()?.checked_add(1)?;
    let end = u32::try_from(range.end).ok()?;
    (start <= end).then_some(Lines { start, end })
}

#[cfg(test)]
#[path = "anchor_tests.rs"]
mod tests;
