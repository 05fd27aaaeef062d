//! Decides whether lines were changed the way a finding suggests. The result is a hint for the reviewer.

use super::Projection;
use crate::finding::AnchorState;
use crate::finding::wording::squeezed;

/// The least characters of inline code. Shorter code occurs everywhere.
const SHORTEST: usize = 4;

/// A piece of suggested code.
enum Piece<'a> {
    /// A whole line of code.
    Line(&'a str),
    /// Code within a sentence.
    Inline(&'a str),
}

/// `old_lines` are the finding's lines before the change; `new` is the file that `projection` points into.
///
/// True if all code that the suggestion adds is there now and was not before.
pub fn is_as_suggested(suggestion: &str, old_lines: &str, new: &str, projection: &Projection) -> bool {
    let lines = projection.location.as_ref().and_then(|location| location.lines);
    let (AnchorState::Modified, Some(lines)) = (projection.state, lines) else {
        return false;
    };
    let start = (lines.start as usize).saturating_sub(1);
    let count = (lines.end as usize).saturating_sub(start);
    let now: Vec<_> = new.lines().skip(start).take(count).map(squeezed).collect();
    let before: Vec<_> = old_lines.lines().map(squeezed).collect();
    let mut added = pieces(suggestion).filter(|piece| !piece.stands_in(&before)).peekable();
    added.peek().is_some() && added.all(|piece| piece.stands_in(&now))
}

impl Piece<'_> {
    fn stands_in(&self, lines: &[String]) -> bool {
        match self {
            Self::Line(text) => lines.contains(&squeezed(text)),
            Self::Inline(text) => lines.iter().any(|line| line.contains(&squeezed(text))),
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
        return Box::new(named.filter(|code| code.trim().len() >= SHORTEST).map(Piece::Inline));
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
#[path = "suggestion_match_tests.rs"]
mod tests;
