//! Applies the hunks of a patch to the content of a file, with the rules of `git apply`.
//!
//! Context and white space must match exactly. The search for a hunk starts at the line that its header names in the
//! new file, then tries one line further down, one further up, and so on.

use domain::diff::Hunk;

use super::Declined;
use super::work_budget::Budget;

/// Git reads numbers of lines into a C `long`; no real diff comes near.
const MAX_LINE_NUMBER: u64 = 1 << 30;
/// Lines of a file or a hunk, which take more memory than their text.
const MAX_LINES: usize = 1_000_000;
const END_MARKER: &str = "\\ No newline at end of file";

/// How git treats hunks without context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// A hunk without context behind it belongs to the end of the file.
    Required,
    /// `--unidiff-zero`
    Optional,
}

/// A line of the file as it is patched so far.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    /// With its newline, if it has one.
    bytes: &'a [u8],
    /// An earlier hunk wrote it, so no other hunk can match it.
    patched: bool,
}

/// The content after all hunks.
pub(crate) fn apply_hunks(
    content: &[u8],
    hunks: &[Hunk<'_>],
    context: Context,
    budget: &mut Budget,
) -> Result<Vec<u8>, Declined> {
    if hunks.is_empty() {
        return Ok(content.to_vec());
    }
    let lines = || content.split_inclusive(|&byte| byte == b'\n');
    let count = lines().count();
    budget.take_steps(count)?;
    if count > MAX_LINES || hunks.iter().any(|hunk| hunk.old.saturating_add(hunk.new) > MAX_LINES as u64) {
        return Err(Declined("too many lines"));
    }
    let mut file: Vec<_> = lines().map(|bytes| Line { bytes, patched: false }).collect();
    for hunk in hunks {
        let sides = Sides::parse(hunk)?;
        budget.take_steps(sides.old.len() + sides.new.len())?;
        let at = place(&file, hunk, &sides, context, budget)?;
        let end = at + sides.old.len();
        check_end(&file, at, end, &sides)?;
        budget.take_steps(file.len() - at)?;
        file.splice(at..end, sides.new.iter().map(|bytes| Line { bytes, patched: true }));
    }
    let size = file.iter().map(|line| line.bytes.len()).sum();
    budget.take_bytes(size)?;
    let mut result = Vec::with_capacity(size);
    file.iter().for_each(|line| result.extend_from_slice(line.bytes));
    Ok(result)
}

/// Declines what git does with a line without a newline in the middle of a file: it joins it with the next one.
fn check_end(file: &[Line<'_>], at: usize, end: usize, sides: &Sides<'_>) -> Result<(), Declined> {
    let has_newline = file.last().is_none_or(|line| line.bytes.ends_with(b"\n"));
    let is_joined = at == file.len() && !has_newline;
    let is_inside = sides.ends_file() && (end != file.len() || sides.old_ends_file == has_newline);
    if is_joined || is_inside { Err(Declined("a line without a newline inside the file")) } else { Ok(()) }
}

/// The lines of a hunk before and after, with their newlines.
struct Sides<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    /// Lines of context behind the last change.
    trailing: usize,
    /// The last old or new line has no newline.
    old_ends_file: bool,
    new_ends_file: bool,
}

impl<'a> Sides<'a> {
    fn parse(hunk: &Hunk<'a>) -> Result<Self, Declined> {
        const MARKER: Declined = Declined("an unusual newline marker");
        let mut sides =
            Self { old: Vec::new(), new: Vec::new(), trailing: 0, old_ends_file: false, new_ends_file: false };
        let mut last_sign = None;
        for line in hunk.lines.split_inclusive('\n') {
            let text = line.as_bytes();
            if !line.ends_with('\n') {
                return Err(Declined("a hunk that ends in the middle of a line"));
            }
            if line.starts_with('\\') {
                let is_exact = line.strip_suffix('\n') == Some(END_MARKER);
                match last_sign.take() {
                    Some(sign) if is_exact => sides.end_file(sign)?,
                    Some(_) | None => return Err(MARKER),
                }
                continue;
            }
            let sign = match text.first() {
                Some(b'-') => b'-',
                Some(b'+') => b'+',
                _ => b' ',
            };
            // An empty line is a line of context whose blank was cut off.
            let content = if text == b"\n" { text } else { text.get(1..).unwrap_or_default() };
            if sign != b'+' {
                if sides.old_ends_file {
                    return Err(MARKER);
                }
                sides.old.push(content);
            }
            if sign != b'-' {
                if sides.new_ends_file {
                    return Err(MARKER);
                }
                sides.new.push(content);
            }
            sides.trailing = if sign == b' ' { sides.trailing + 1 } else { 0 };
            last_sign = Some(sign);
        }
        let counts = (sides.old.len() as u64, sides.new.len() as u64);
        let is_small = hunk.old_start < MAX_LINE_NUMBER && hunk.new_start < MAX_LINE_NUMBER;
        if counts == (hunk.old, hunk.new) && is_small { Ok(sides) } else { Err(Declined("unusual line numbers")) }
    }

    /// The line with this sign has no newline. It must be the last one of its side.
    fn end_file(&mut self, sign: u8) -> Result<(), Declined> {
        let cut = |side: &mut Vec<&'a [u8]>| {
            if let Some(last) = side.last_mut() {
                *last = last.strip_suffix(b"\n").unwrap_or(last);
            }
        };
        if sign != b'+' {
            cut(&mut self.old);
            self.old_ends_file = true;
        }
        if sign != b'-' {
            cut(&mut self.new);
            self.new_ends_file = true;
        }
        let is_empty = |side: &[&[u8]], ends: bool| ends && side.last().is_some_and(|last| last.is_empty());
        if is_empty(&self.old, self.old_ends_file) || is_empty(&self.new, self.new_ends_file) {
            return Err(Declined("an empty line without a newline"));
        }
        Ok(())
    }

    fn ends_file(&self) -> bool {
        self.old_ends_file || self.new_ends_file
    }

    /// Whether git sees the old lines at this place. For git, a last line without a newline also matches one with it.
    fn matches(&self, lines: &[Line<'_>], budget: &mut Budget) -> Result<bool, Declined> {
        for (at, (old, line)) in self.old.iter().zip(lines).enumerate() {
            budget.take_steps(1 + old.len() / 64)?;
            let is_last = at + 1 == self.old.len();
            let bytes = match line.bytes.strip_suffix(b"\n") {
                Some(bytes) if is_last && self.old_ends_file => bytes,
                Some(_) | None => line.bytes,
            };
            if line.patched || bytes != *old {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The first place, in the order of git, where the old lines of the hunk are.
fn place(
    file: &[Line<'_>],
    hunk: &Hunk<'_>,
    sides: &Sides<'_>,
    context: Context,
    budget: &mut Budget,
) -> Result<usize, Declined> {
    const NO_PLACE: Declined = Declined("a hunk that does not match");
    let count = sides.old.len();
    let last = file.len().checked_sub(count).ok_or(NO_PLACE)?;
    let at_start = hunk.old_start == 0 || (hunk.old_start == 1 && context == Context::Required);
    let at_end = sides.trailing == 0 && context == Context::Required;
    let mut is_at = |at: usize| match file.get(at..at + count) {
        Some(lines) if (!at_start || at == 0) && (!at_end || at == last) => sides.matches(lines, budget),
        Some(_) | None => Ok(false),
    };
    if at_start || at_end {
        let only = if at_start { 0 } else { last };
        return if is_at(only)? { Ok(only) } else { Err(NO_PLACE) };
    }
    let start = usize::try_from(hunk.new_start.saturating_sub(1)).unwrap_or(usize::MAX).min(file.len());
    if is_at(start)? {
        return Ok(start);
    }
    for distance in 1..=file.len() {
        if start + distance <= file.len() && is_at(start + distance)? {
            return Ok(start + distance);
        }
        if let Some(up) = start.checked_sub(distance)
            && is_at(up)?
        {
            return Ok(up);
        }
    }
    Err(NO_PLACE)
}
