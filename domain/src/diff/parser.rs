//! One pass over the lines of a diff, in the steps in which `git apply` takes them.

use super::apply_parts::ZeroContext;
use super::cursor::{LineCursor, ParseError};
use super::flags::SuspiciousChars;
use super::skipped_text::SkippedText;
use super::{header, paths};

/// One file's part of a diff. A name is `None` where the file does not exist on that side.
#[derive(Debug, Default)]
pub(super) struct Patch<'a> {
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
    pub(super) created: bool,
    pub(super) deleted: bool,
    pub(super) renamed: bool,
    pub(super) copied: bool,
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    pub(super) hunks: usize,
    pub(super) added: u32,
    pub(super) removed: u32,
    pub(super) binary: bool,
    pub(super) first_added: Option<&'a str>,
    pub(super) suspicious: SuspiciousChars,
}

impl Patch<'_> {
    pub(super) fn display_path(&self) -> String {
        self.new.as_deref().or(self.old.as_deref()).map(paths::to_display).unwrap_or_default()
    }

    fn changes_without_content(&self) -> bool {
        let mode = matches!((self.old_mode, self.new_mode), (Some(old), Some(new)) if old != new);
        self.created || self.deleted || self.renamed || self.copied || mode
    }
}

#[derive(Debug, Default)]
pub(super) struct ParsedDiff<'a> {
    pub(super) patches: Vec<Patch<'a>>,
    pub(super) skipped: SkippedText,
    pub(super) error: Option<ParseError>,
    with_context: bool,
    without_context: bool,
    /// Seen a hunk without context that does not begin at the top of its file.
    adrift: bool,
}

/// Line numbers in what it gives count from `first_line`.
pub(super) fn parse(diff: &str, first_line: usize, level: u8) -> ParsedDiff<'_> {
    let mut parsed = ParsedDiff::default();
    let mut lines = LineCursor::new(diff, first_line);
    while let Some(line) = lines.line {
        match parsed.patch_at(&mut lines, line, level) {
            Ok(true) => {}
            Ok(false) => {
                parsed.skipped.skip(lines.number, line);
                lines.advance();
            }
            Err(error) => {
                parsed.error = Some(error);
                parsed.skipped.give_up(lines);
                break;
            }
        }
    }
    parsed
}

impl<'a> ParsedDiff<'a> {
    pub(super) fn zero_context(&self) -> ZeroContext {
        match (self.with_context, self.adrift, self.without_context) {
            (false, true, _) => ZeroContext::Certain,
            (false, false, true) => ZeroContext::Possible,
            _ => ZeroContext::No,
        }
    }

    /// Takes the patch that begins at this line; `false`, and `lines` unmoved, where none does.
    fn patch_at(&mut self, lines: &mut LineCursor<'a>, line: &'a str, level: u8) -> Result<bool, ParseError> {
        if line.strip_prefix("@@ -").is_some_and(|rest| hunk_range(rest).is_some()) {
            return Err(lines.error("a hunk without a file header"));
        }
        let header = if let Some(rest) = line.strip_prefix("diff --git ") {
            Some(header::git(*lines, rest, level, &mut self.skipped)?)
        } else if line.starts_with("--- ") {
            header::plain(*lines, level)?
        } else {
            None
        };
        let Some((mut patch, after)) = header else { return Ok(false) };
        *lines = after;
        self.skipped.enter_patch();
        let read = self.body(lines, &mut patch);
        self.patches.push(patch);
        read.map(|()| true)
    }

    fn body(&mut self, lines: &mut LineCursor<'a>, patch: &mut Patch<'a>) -> Result<(), ParseError> {
        while let Some(rest) = lines.line.and_then(|line| line.strip_prefix("@@ -")) {
            self.hunk(lines, rest, patch)?;
        }
        if patch.hunks > 0 {
            return Ok(());
        }
        match lines.line {
            Some("GIT binary patch") => {
                patch.binary = true;
                lines.advance();
                if !binary_data(lines)? {
                    return Err(lines.error("a binary patch without data"));
                }
                // the way back, which git writes but does not need
                binary_data(lines)?;
            }
            Some(line) if is_binary_marker(line) => {
                patch.binary = true;
                lines.advance();
            }
            _ if patch.changes_without_content() => {}
            _ => return Err(lines.error("a file header without any change")),
        }
        Ok(())
    }

    fn hunk(&mut self, lines: &mut LineCursor<'a>, rest: &str, patch: &mut Patch<'a>) -> Result<(), ParseError> {
        let range = hunk_range(rest).ok_or_else(|| lines.error("a hunk header that cannot be read"))?;
        let (mut old, mut new) = (range.old, range.new);
        let (added, removed) = (patch.added, patch.removed);
        let (mut context, mut to_the_end) = (false, false);
        let too_long = "a hunk longer than its header says";
        lines.advance();
        while old > 0 || new > 0 {
            let line = lines.line.ok_or_else(|| lines.error("a hunk shorter than its header says"))?;
            let (takes_old, takes_new) = match line.as_bytes().first() {
                None | Some(b' ') => (1, 1),
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') if line.starts_with("\\ ") => (0, 0),
                Some(_) => return Err(lines.error("a hunk shorter than its header says")),
            };
            old = old.checked_sub(takes_old).ok_or_else(|| lines.error(too_long))?;
            new = new.checked_sub(takes_new).ok_or_else(|| lines.error(too_long))?;
            match (takes_old, takes_new) {
                (0, 0) => {
                    to_the_end = true;
                    self.end_marker(lines.number, line);
                }
                (1, 0) => patch.removed = patch.removed.saturating_add(1),
                (0, 1) => {
                    let text = line.get(1..).unwrap_or_default();
                    patch.added = patch.added.saturating_add(1);
                    patch.first_added.get_or_insert(text);
                    patch.suspicious.scan(text, lines.number);
                }
                _ => context = true,
            }
            lines.advance();
        }
        if added == patch.added && removed == patch.removed {
            return Err(lines.error("a hunk that changes nothing"));
        }
        if let Some(line) = lines.line
            && line.starts_with("\\ ")
        {
            to_the_end = true;
            self.end_marker(lines.number, line);
            lines.advance();
        }
        let at_the_top = patch.hunks == 0 && range.old_start <= u64::from(range.old > 0);
        let whole_file = patch.created || patch.deleted || (at_the_top && to_the_end);
        self.with_context |= context;
        if !context && !whole_file {
            self.without_context = true;
            self.adrift |= !at_the_top;
        }
        patch.hunks += 1;
        Ok(())
    }

    /// git takes any text behind `\ ` for "no newline at end of file".
    fn end_marker(&mut self, number: usize, line: &str) {
        if line.trim_end() != "\\ No newline at end of file" {
            self.skipped.flag(number, line);
        }
    }
}

fn is_binary_marker(line: &str) -> bool {
    line.ends_with(" differ") && (line.starts_with("Binary files ") || line.starts_with("Files "))
}

/// Skips one `literal` or `delta` block, or gives `false` where there is none.
fn binary_data(lines: &mut LineCursor<'_>) -> Result<bool, ParseError> {
    if !lines.line.is_some_and(|line| line.starts_with("literal ") || line.starts_with("delta ")) {
        return Ok(false);
    }
    while let Some(line) = lines.advance() {
        if line.is_empty() {
            lines.advance();
            break;
        }
        let (length, data) = line.split_at_checked(1).unwrap_or_default();
        let encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(&byte);
        let length_fits = length.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !length_fits || data.is_empty() || data.len() % 5 != 0 || !data.bytes().all(encoded) {
            return Err(lines.error("binary data that cannot be read"));
        }
    }
    Ok(true)
}

/// `@@ -old_start,old +_,new @@`
#[derive(Debug, Clone, Copy)]
pub(super) struct HunkRange {
    pub(super) old_start: u64,
    pub(super) old: u64,
    pub(super) new: u64,
}

/// Reads what follows `@@ -`.
pub(super) fn hunk_range(rest: &str) -> Option<HunkRange> {
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let range = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((number(start)?, number(length)?))
    };
    let ((old_start, old), (_, new)) = (range(old)?, range(new)?);
    Some(HunkRange { old_start, old, new })
}
