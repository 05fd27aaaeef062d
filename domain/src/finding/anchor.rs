//! Decides where the lines of a finding are in a later round's content. If that is not certain, the lines count as
//! modified, because a finding that points at the wrong code is worse than one without a position.

mod alignment;

use super::{Anchor, AnchorState, Lines, LocatedText, Location, grounding::FileText};
use crate::text::collapse_spaces;
use alignment::{Aligned, Hunk, is_certain, moved_to};
use std::ops::Range;

/// The least characters of inline code in a suggestion. Shorter code occurs everywhere.
const MIN_INLINE_CHARS: usize = 4;

/// Locates `locations` of the text `old` in its `new` version, which is called `new_name` now.
pub fn project_all(locations: &[Location], old: &str, new: FileText<'_>, new_name: &LocatedText) -> Vec<Anchor> {
    let texts = Texts::new(old, new);
    locations.iter().map(|location| texts.project(location, new_name)).collect()
}

/// A text before and after.
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

    fn project(&self, location: &Location, new_name: &LocatedText) -> Anchor {
        let whole = |state| anchor(state, Some(Location { text: new_name.clone(), lines: None }));
        match (self.new, location.lines) {
            (FileText::Absent, _) => anchor(AnchorState::Gone, None),
            (FileText::Unknown, _) | (FileText::Binary, Some(_)) => whole(AnchorState::Modified),
            (FileText::Text(_) | FileText::Binary, None) => whole(standing(location.text == *new_name)),
            (FileText::Text(_), Some(lines)) => {
                match self.aligned.as_ref().and_then(|texts| Some((range(lines, texts.old.len())?, texts))) {
                    Some((range, texts)) => project_lines(location, &range, texts, new_name),
                    None => whole(AnchorState::Modified),
                }
            }
        }
    }
}

fn project_lines(location: &Location, lines: &Range<usize>, texts: &Aligned<'_>, new_name: &LocatedText) -> Anchor {
    let at = |found: Range<usize>| Some(Location { text: new_name.clone(), lines: line_numbers(&found) });
    if let Some(start) = stands_at(lines, texts) {
        let found = start..start + lines.len();
        let is_exact = location.text == *new_name && found == *lines;
        return anchor(standing(is_exact), at(found));
    }
    let region = texts.region(lines);
    if region.is_empty() {
        return anchor(AnchorState::Gone, None);
    }
    anchor(AnchorState::Modified, at(region))
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
    paired.filter(|&start| is_certain(texts, lines, start)).or_else(|| moved_to(texts, lines))
}

fn anchor(state: AnchorState, location: Option<Location>) -> Anchor {
    Anchor { state, location, likely_fixed: false }
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
    changed.iter().filter_map(line_numbers).collect()
}

/// The lines of `old` that are not in `new`.
pub fn removed_lines(old: &str, new: &str) -> Vec<Lines> {
    Aligned::new(old, new).hunks.iter().filter_map(|hunk| line_numbers(&hunk.before)).collect()
}

/// As zero-based positions in a text of `count` lines, if it has them.
fn range(lines: Lines, count: usize) -> Option<Range<usize>> {
    let start = (lines.start as usize).checked_sub(1)?;
    let end = lines.end as usize;
    (start < end && end <= count).then_some(start..end)
}

/// As line numbers counted from 1, unless the range is empty.
fn line_numbers(range: &Range<usize>) -> Option<Lines> {
    let start = u32::try_from(range.start).ok()?.checked_add(1)?;
    let end = u32::try_from(range.end).ok()?;
    (start <= end).then_some(Lines { start, end })
}

/// A piece of suggested code.
enum Piece<'a> {
    /// A whole line of code.
    Line(&'a str),
    /// Code within a sentence.
    Inline(&'a str),
}

/// `old_lines` are the finding's lines before the change; `new` is the file that `anchor` points into.
///
/// True if all code that the suggestion adds is there now and was not before.
pub fn is_as_suggested(suggestion: &str, old_lines: &str, new: &str, anchor: &Anchor) -> bool {
    let lines = anchor.location.as_ref().and_then(|location| location.lines);
    let (AnchorState::Modified, Some(lines)) = (anchor.state, lines) else {
        return false;
    };
    let start = (lines.start as usize).saturating_sub(1);
    let count = (lines.end as usize).saturating_sub(start);
    let now: Vec<_> = new.lines().skip(start).take(count).map(collapse_spaces).collect();
    let before: Vec<_> = old_lines.lines().map(collapse_spaces).collect();
    let mut added = pieces(suggestion).filter(|piece| !piece.stands_in(&before)).peekable();
    added.peek().is_some() && added.all(|piece| piece.stands_in(&now))
}

impl Piece<'_> {
    fn stands_in(&self, lines: &[String]) -> bool {
        match self {
            Self::Line(text) => lines.contains(&collapse_spaces(text)),
            Self::Inline(text) => lines.iter().any(|line| line.contains(&collapse_spaces(text))),
        }
    }
}

/// The code of a suggestion: fenced blocks, else inline code, else every line.
fn pieces(suggestion: &str) -> Box<dyn Iterator<Item = Piece<'_>> + '_> {
    if suggestion.contains("```") {
        let blocks = suggestion.split("```").skip(1).step_by(2);
        // The text after the fence on its line names the language.
        return Box::new(blocks.flat_map(|block| code_lines(block.split_once('\n').map_or("", |(_, code)| code))));
    }
    if suggestion.contains('`') {
        let named = suggestion.split('`').skip(1).step_by(2);
        return Box::new(named.filter(|code| code.trim().len() >= MIN_INLINE_CHARS).map(Piece::Inline));
    }
    Box::new(code_lines(suggestion))
}

/// For a diff, only the lines that it adds.
fn code_lines(code: &str) -> impl Iterator<Item = Piece<'_>> {
    let is_diff = code.lines().any(|line| line.starts_with('+')) && code.lines().all(is_diff_line);
    let kept = code.lines().filter_map(move |line| if is_diff { line.strip_prefix('+') } else { Some(line) });
    kept.filter(|line| line.chars().any(char::is_alphanumeric)).map(Piece::Line)
}

fn is_diff_line(line: &str) -> bool {
    line.is_empty() || line.starts_with(['+', '-', ' ', '@'])
}

#[cfg(test)]
#[path = "anchor_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "anchor/suggestion_match_tests.rs"]
mod suggestion_match_tests;
