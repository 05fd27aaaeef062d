//! Finds the lines of an older text in a newer one, to follow a finding. Equal text is not enough, because a `}` may
//! now close another function: the lines around it must match too.

use gix_imara_diff::{Algorithm, Diff, InternedInput, Token};
use std::ops::Range;

/// If more lines than this differ, they all count as changed. At this size Myers takes half a second in the worst case;
/// the library's other algorithm takes much longer and can exhaust the stack.
const MAX_LINES: usize = 60_000;
/// Letters and digits that identify code together with equal lines around it. Git uses this value for moved lines.
const MIN_WEIGHT: usize = 20;
/// For lines that the diff does not pair, because their order changed.
const MIN_MOVED_WEIGHT: usize = 40;
/// How many lines around are considered.
const MAX_CONTEXT_LINES: usize = 8;
/// The most line comparisons. After that the answer is "not certain".
const MAX_COMPARISONS: usize = 4_000_000;

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
    if middle.before.len() + middle.after.len() > MAX_LINES {
        return vec![middle];
    }
    let mut diff = Diff::compute(Algorithm::Myers, input);
    diff.postprocess_lines(input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| Hunk { before: range(hunk.before), after: range(hunk.after) }).collect()
}

/// The number of equal lines above and below. Start and end of a file count as a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Context {
    above: usize,
    below: usize,
}

impl Context {
    /// At least as many equal lines on both sides and more on one, or equal neighbours on both sides where the other lacks
    /// them.
    fn beats(self, other: Self) -> bool {
        let as_good = self.above >= other.above && self.below >= other.below;
        as_good && self != other || self.narrow() > 0 && other.narrow() == 0
    }

    fn narrow(self) -> usize {
        self.above.min(self.below)
    }
}

struct Search<'a, 't> {
    texts: &'a Aligned<'t>,
    comparisons_left: usize,
}

/// Whether `lines` of the old text are at `at` in the new one, and no other position fits as well.
pub(super) fn is_certain(texts: &Aligned<'_>, lines: &Range<usize>, at: usize) -> bool {
    let mut search = Search { texts, comparisons_left: MAX_COMPARISONS };
    search.only_here(lines, at).unwrap_or(false)
}

/// The position of `lines` in the new text if they were moved: with their neighbours they are long enough, they occur
/// once in each text, and the diff pairs neither with other lines.
pub(super) fn moved_to(texts: &Aligned<'_>, lines: &Range<usize>) -> Option<usize> {
    let mut search = Search { texts, comparisons_left: MAX_COMPARISONS };
    (0..=MAX_CONTEXT_LINES)
        .find_map(|around| {
            let start = lines.start.saturating_sub(around);
            let end = (lines.end + around).min(texts.old.len());
            let block = texts.old.get(start..end)?;
            let is_long = weight(texts, block) >= MIN_MOVED_WEIGHT && written(texts, block) > 2;
            if !is_long {
                return None;
            }
            let there = search.locations(block, &texts.new)?;
            let here = search.locations(block, &texts.old)?;
            match (here.as_slice(), there.as_slice()) {
                ([_], [only]) => Some(only + (lines.start - start)),
                _ => None,
            }
        })
        .filter(|&at| texts.are_unpaired(lines, at))
}

impl Search<'_, '_> {
    /// `None` if the comparison takes too long.
    fn only_here(&mut self, lines: &Range<usize>, at: usize) -> Option<bool> {
        let texts = self.texts;
        let block = texts.old.get(lines.clone())?;
        let here = self.context(lines, at)?;
        if !self.is_held(lines, here) || self.evidence(lines, here) < MIN_WEIGHT {
            return Some(false);
        }
        for other in self.locations(block, &texts.new)? {
            if other != at && !here.beats(self.context(lines, other)?) {
                return Some(false);
            }
        }
        for other in self.locations(block, &texts.old)? {
            if other != lines.start && !here.beats(self.context(&(other..other + lines.len()), at)?) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Every position of these lines in `text`.
    fn locations(&mut self, block: &[Token], text: &[Token]) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for (at, window) in text.windows(block.len().max(1)).enumerate() {
            let same = window.iter().zip(block).take_while(|(a, b)| a == b).count();
            self.comparisons_left = self.comparisons_left.checked_sub(same + 1)?;
            if same == block.len() {
                found.push(at);
            }
        }
        Some(found)
    }

    fn context(&mut self, lines: &Range<usize>, at: usize) -> Option<Context> {
        let Aligned { old, new, .. } = self.texts;
        let (old_above, new_above) = (old.get(..lines.start)?, new.get(..at)?);
        let (old_below, new_below) = (old.get(lines.end..)?, new.get(at + lines.len()..)?);
        let above = agreeing(old_above.iter().rev(), new_above.iter().rev());
        let below = agreeing(old_below.iter(), new_below.iter());
        self.comparisons_left = self.comparisons_left.checked_sub(above + below + 1)?;
        Some(Context { above, below })
    }

    /// A brace belongs to the code above it. If that code changed, the brace may be another one. Lines with only braces and
    /// blanks also need the lines below.
    fn is_held(&self, lines: &Range<usize>, context: Context) -> bool {
        let old = &self.texts.old;
        let says = |line: usize| old.get(line).is_none_or(|&line| weight(self.texts, &[line]) > 0);
        let first = lines.start.saturating_sub(context.above);
        let above = (first..=lines.start).any(says) || context.above > lines.start;
        above && (lines.start..lines.end + context.below).any(says)
    }

    /// The letters and digits of the lines and of the nearest equal lines around them.
    fn evidence(&self, lines: &Range<usize>, context: Context) -> usize {
        let old = &self.texts.old;
        let (above, below) = (context.above.min(MAX_CONTEXT_LINES), context.below.min(MAX_CONTEXT_LINES));
        let start = lines.start.saturating_sub(above);
        let end = (lines.end + below).min(old.len());
        // The equal lines reach the start or end of the file, which is unique.
        let edge = lines.start < above || lines.end + below > old.len();
        weight(self.texts, &old[start..end]) + if edge { MIN_WEIGHT } else { 0 }
    }
}

/// The number of leading pairs that are equal, plus one if both sides end there.
fn agreeing<'t>(a: impl ExactSizeIterator<Item = &'t Token>, b: impl ExactSizeIterator<Item = &'t Token>) -> usize {
    let (a_len, b_len) = (a.len(), b.len());
    let same = a.zip(b).take_while(|(a, b)| a == b).count();
    if same == a_len && same == b_len { same + 1 } else { same }
}

fn weight(texts: &Aligned<'_>, lines: &[Token]) -> usize {
    let letters = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).take(MIN_MOVED_WEIGHT).count();
    lines.iter().map(|&line| letters(texts.text(line))).sum()
}

fn written(texts: &Aligned<'_>, lines: &[Token]) -> usize {
    lines.iter().filter(|&&line| !texts.text(line).trim().is_empty()).count()
}
