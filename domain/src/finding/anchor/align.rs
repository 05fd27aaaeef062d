//! Aligns the lines of two texts with a diff.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, InternedInput, Token};

/// If more lines than this differ, they all count as changed. At this size Myers takes half a second in the worst case;
/// the library's other algorithm takes much longer and can exhaust the stack.
const MOST_LINES: usize = 60_000;

/// Lines of the old text and the lines of the new text that replace them. One of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) before: Range<usize>,
    pub(super) after: Range<usize>,
}

/// Lines are counted from 0 and compared without their line ends.
pub(super) struct Aligned<'a> {
    pub(super) old: Vec<Token>,
    pub(super) new: Vec<Token>,
    pub(super) hunks: Vec<Hunk>,
    texts: Vec<&'a str>,
}

impl<'a> Aligned<'a> {
    pub(super) fn new(old: &'a str, new: &'a str) -> Self {
        let mut input = InternedInput::default();
        input.update_before(old.lines());
        input.update_after(new.lines());
        let hunks = hunks(&input);
        let texts = (0..input.interner.num_tokens()).map(|token| input.interner[Token(token)]).collect();
        Self { old: input.before, new: input.after, hunks, texts }
    }

    /// The position of an unchanged line of the old text in the new one.
    pub(super) fn target(&self, line: usize) -> Option<usize> {
        let later = self.hunks.partition_point(|hunk| hunk.before.end <= line);
        if self.hunks.get(later).is_some_and(|hunk| hunk.before.contains(&line)) {
            return None;
        }
        let last = later.checked_sub(1).and_then(|at| self.hunks.get(at));
        Some(last.map_or(line, |hunk| line - hunk.before.end + hunk.after.end))
    }

    /// Whether the diff pairs none of `lines` of the old text, and none of the lines from `at` on in the new text.
    pub(super) fn are_unpaired(&self, lines: &Range<usize>, at: usize) -> bool {
        let added = |line: usize| {
            let hunk = self.hunks.partition_point(|hunk| hunk.after.end <= line);
            self.hunks.get(hunk).is_some_and(|hunk| hunk.after.contains(&line))
        };
        lines.clone().all(|line| self.target(line).is_none()) && (at..at + lines.len()).all(added)
    }

    /// The lines of the new text that replace `lines`; whole hunks where they start or end in one.
    pub(super) fn region(&self, lines: &Range<usize>) -> Range<usize> {
        let hunk_of = |line: usize| self.hunks.iter().find(|hunk| hunk.before.contains(&line));
        let last = lines.end.saturating_sub(1);
        let start = self.target(lines.start).or_else(|| hunk_of(lines.start).map(|hunk| hunk.after.start));
        let end = self.target(last).map(|line| line + 1).or_else(|| hunk_of(last).map(|hunk| hunk.after.end));
        start.unwrap_or_default()..end.unwrap_or_default()
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        self.texts.get(token.0 as usize).copied().unwrap_or_default()
    }
}

fn hunks(input: &InternedInput<&str>) -> Vec<Hunk> {
    let (old, new) = (&input.before, &input.after);
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = Hunk { before: start..old.len() - end, after: start..new.len() - end };
    if middle.before.is_empty() && middle.after.is_empty() {
        return Vec::new();
    }
    if middle.before.len() + middle.after.len() > MOST_LINES {
        return vec![middle];
    }
    let mut diff = Diff::compute(Algorithm::Myers, input);
    diff.postprocess_lines(input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| Hunk { before: range(hunk.before), after: range(hunk.after) }).collect()
}
