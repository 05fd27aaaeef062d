//! Parses a diff into the patches of its files in one pass, with the rules of `git apply`.

use super::{ZeroContext, header, risk_flags::SkippedText, suspicious_text::SuspiciousText};

/// The mode of a new file whose header names none.
pub(super) const REGULAR_FILE: u32 = 0o100_644;
pub(super) const TYPE_BITS: u32 = 0o170_000;

/// The patch of one file. A name is `None` if the file does not exist on that side.
#[derive(Debug, Default)]
pub struct Patch<'a> {
    pub old: Option<Vec<u8>>,
    pub new: Option<Vec<u8>>,
    pub created: bool,
    pub deleted: bool,
    pub renamed: bool,
    pub copied: bool,
    pub old_mode: Option<u32>,
    pub new_mode: Option<u32>,
    pub hunks: Vec<Hunk<'a>>,
    pub binary: bool,
    /// The `literal` and `delta` blocks of a binary patch; empty if the diff only says that the files differ.
    pub binary_data: &'a str,
    /// The two ids of the `index` line, as they are written.
    pub index_ids: Option<(&'a str, &'a str)>,
    /// The header leaves open which file it is or whether the file is created or deleted, and git guesses: from two
    /// different names, a date, or the first hunk.
    pub guessed: bool,
    pub(super) added: u32,
    pub(super) removed: u32,
    pub(super) first_added: Option<&'a str>,
    pub(super) suspicious: SuspiciousText,
    /// The byte at which its header begins.
    pub(super) start: usize,
}

impl Patch<'_> {
    pub(super) fn display_path(&self) -> String {
        self.new.as_deref().or(self.old.as_deref()).map(header::to_display).unwrap_or_default()
    }

    /// The lines that its hunks add and remove.
    pub fn line_counts(&self) -> (u32, u32) {
        (self.added, self.removed)
    }

    /// Whether its header shows what happens to the mode of a file: `stored` is the mode before, of the source of a rename
    /// or copy, and `result` the mode after. `None` if unknown: the file does not differ.
    ///
    /// Git only warns if the modes of a header are wrong. A symlink or submodule is not a text, and its header must say so.
    pub fn shows_modes(&self, stored: Option<u32>, result: Option<u32>) -> bool {
        if self.created {
            return result.is_none_or(|result| result == self.new_mode.unwrap_or(REGULAR_FILE));
        }
        let states_change = self.new_mode.is_some() && self.new_mode != self.old_mode;
        let changes = match (stored, result) {
            (Some(stored), Some(result)) => stored != result,
            _ => false,
        };
        if states_change || changes {
            return self.old_mode.is_some() && self.old_mode == stored && self.new_mode == result;
        }
        let is_text = |mode: u32| mode & TYPE_BITS == REGULAR_FILE & TYPE_BITS;
        let is_only_moved = self.hunks.is_empty() && !self.binary;
        is_only_moved || self.old_mode.is_some() || stored.is_none_or(is_text)
    }

    fn changes_without_content(&self) -> bool {
        let mode = matches!((self.old_mode, self.new_mode), (Some(old), Some(new)) if old != new);
        self.created || self.deleted || self.renamed || self.copied || mode
    }
}

/// A hunk with the numbers of its header, `@@ -old_start,old +new_start,new @@`.
#[derive(Debug, Clone, Copy)]
pub struct Hunk<'a> {
    pub old_start: u64,
    pub old: u64,
    pub new_start: u64,
    pub new: u64,
    /// Its lines with their signs and newlines, including `\ No newline` markers.
    pub lines: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct ParsedDiff<'a> {
    pub(super) patches: Vec<Patch<'a>>,
    pub(super) skipped: SkippedText,
    pub(super) error: Option<ParseError>,
    with_context: bool,
    without_context: bool,
    /// Some hunk has no context and does not begin at the top of its file.
    has_detached_hunk: bool,
}

/// Parses `diff`. Line numbers in errors and flags count from `first_line`.
pub(super) fn parse(diff: &str, first_line: usize, strip: u8) -> ParsedDiff<'_> {
    let mut parsed = ParsedDiff::default();
    let mut cursor = LineCursor::new(diff, first_line);
    while let Some(line) = cursor.line {
        match parsed.parse_patch(&mut cursor, line, strip) {
            Ok(true) => {}
            Ok(false) => {
                parsed.skipped.skip(cursor.number, line);
                cursor.advance();
            }
            Err(error) => {
                parsed.error = Some(error);
                parsed.skipped.scan_rest(cursor);
                break;
            }
        }
    }
    parsed
}

impl<'a> ParsedDiff<'a> {
    pub(super) fn zero_context(&self) -> ZeroContext {
        match (self.with_context, self.has_detached_hunk, self.without_context) {
            (false, true, _) => ZeroContext::Certain,
            (false, false, true) => ZeroContext::Possible,
            _ => ZeroContext::No,
        }
    }

    /// Parses the patch that begins at this line. Returns `false` and does not move the cursor if no patch begins here.
    fn parse_patch(&mut self, cursor: &mut LineCursor<'a>, line: &'a str, strip: u8) -> Result<bool, ParseError> {
        if line.strip_prefix("@@ -").is_some_and(|rest| parse_hunk_range(rest).is_some()) {
            return Err(cursor.error("a hunk without a file header"));
        }
        let header = if let Some(rest) = line.strip_prefix("diff --git ") {
            Some(header::parse_git(*cursor, rest, strip, &mut self.skipped)?)
        } else if line.starts_with("--- ") {
            header::parse_plain(*cursor, strip)?
        } else {
            None
        };
        let Some((mut patch, after)) = header else { return Ok(false) };
        patch.start = cursor.offset;
        *cursor = after;
        self.skipped.enter_patch();
        let read = self.parse_body(cursor, &mut patch);
        self.patches.push(patch);
        read.map(|()| true)
    }

    fn parse_body(&mut self, cursor: &mut LineCursor<'a>, patch: &mut Patch<'a>) -> Result<(), ParseError> {
        while let Some(rest) = cursor.line.and_then(|line| line.strip_prefix("@@ -")) {
            self.parse_hunk(cursor, rest, patch)?;
        }
        if !patch.hunks.is_empty() {
            return Ok(());
        }
        match cursor.line {
            Some("GIT binary patch") => {
                patch.binary = true;
                cursor.advance();
                let start = cursor.offset;
                if !skip_binary_data(cursor)? {
                    return Err(cursor.error("a binary patch without data"));
                }
                // The reverse patch, which git writes but does not need.
                skip_binary_data(cursor)?;
                patch.binary_data = cursor.text.get(start..cursor.offset).unwrap_or_default();
            }
            Some(line) if is_binary_marker(line) => {
                patch.binary = true;
                cursor.advance();
            }
            _ if patch.changes_without_content() => {}
            _ => return Err(cursor.error("a file header without any change")),
        }
        Ok(())
    }

    fn parse_hunk(&mut self, cursor: &mut LineCursor<'a>, rest: &str, patch: &mut Patch<'a>) -> Result<(), ParseError> {
        let range = parse_hunk_range(rest).ok_or_else(|| cursor.error("a hunk header that cannot be read"))?;
        let (mut old, mut new) = (range.old, range.new);
        let (added, removed) = (patch.added, patch.removed);
        let (mut context, mut reaches_end) = (false, false);
        let too_long = "a hunk longer than its header says";
        cursor.advance();
        let start = cursor.offset;
        while old > 0 || new > 0 {
            let line = cursor.line.ok_or_else(|| cursor.error("a hunk shorter than its header says"))?;
            let (takes_old, takes_new) = match line.as_bytes().first() {
                None | Some(b' ') => (1, 1),
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') if line.starts_with("\\ ") => (0, 0),
                Some(_) => return Err(cursor.error("a hunk shorter than its header says")),
            };
            old = old.checked_sub(takes_old).ok_or_else(|| cursor.error(too_long))?;
            new = new.checked_sub(takes_new).ok_or_else(|| cursor.error(too_long))?;
            match (takes_old, takes_new) {
                (0, 0) => {
                    reaches_end = true;
                    self.check_end_marker(cursor.number, line);
                }
                (1, 0) => patch.removed = patch.removed.saturating_add(1),
                (0, 1) => {
                    let text = line.get(1..).unwrap_or_default();
                    patch.added = patch.added.saturating_add(1);
                    patch.first_added.get_or_insert(text);
                    patch.suspicious.scan(text, cursor.number);
                }
                _ => context = true,
            }
            cursor.advance();
        }
        if added == patch.added && removed == patch.removed {
            return Err(cursor.error("a hunk that changes nothing"));
        }
        if let Some(line) = cursor.line
            && line.starts_with("\\ ")
        {
            reaches_end = true;
            self.check_end_marker(cursor.number, line);
            cursor.advance();
        }
        let starts_at_top = patch.hunks.is_empty() && range.old_start <= u64::from(range.old > 0);
        let whole_file = patch.created || patch.deleted || (starts_at_top && reaches_end);
        self.with_context |= context;
        if !context && !whole_file {
            self.without_context = true;
            self.has_detached_hunk |= !starts_at_top;
        }
        let HunkRange { old_start, old, new_start, new } = range;
        let lines = cursor.text.get(start..cursor.offset).unwrap_or_default();
        patch.hunks.push(Hunk { old_start, old, new_start, new, lines });
        Ok(())
    }

    /// Git reads any text after `\ ` as "no newline at end of file".
    fn check_end_marker(&mut self, number: usize, line: &str) {
        if line.trim_end() != "\\ No newline at end of file" {
            self.skipped.flag(number, line);
        }
    }
}

fn is_binary_marker(line: &str) -> bool {
    line.ends_with(" differ") && (line.starts_with("Binary files ") || line.starts_with("Files "))
}

/// Skips one `literal` or `delta` block. Returns `false` if no block begins here.
fn skip_binary_data(cursor: &mut LineCursor<'_>) -> Result<bool, ParseError> {
    if !cursor.line.is_some_and(|line| line.starts_with("literal ") || line.starts_with("delta ")) {
        return Ok(false);
    }
    while let Some(line) = cursor.advance() {
        if line.is_empty() {
            cursor.advance();
            break;
        }
        let (length, data) = line.split_at_checked(1).unwrap_or_default();
        let encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(&byte);
        let length_fits = length.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !length_fits || data.is_empty() || data.len() % 5 != 0 || !data.bytes().all(encoded) {
            return Err(cursor.error("binary data that cannot be read"));
        }
    }
    Ok(true)
}

/// `@@ -old_start,old +new_start,new @@`
#[derive(Debug, Clone, Copy)]
pub(super) struct HunkRange {
    pub(super) old_start: u64,
    pub(super) old: u64,
    pub(super) new_start: u64,
    pub(super) new: u64,
}

/// Parses the text after `@@ -`.
pub(super) fn parse_hunk_range(rest: &str) -> Option<HunkRange> {
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let range = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((number(start)?, number(length)?))
    };
    let ((old_start, old), (new_start, new)) = (range(old)?, range(new)?);
    Some(HunkRange { old_start, old, new_start, new })
}

/// Why a diff is invalid, and in which line. Git rejects it there too.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

/// A cursor over the lines of a diff, cheap to copy for looking ahead: the current line, without its newline, its number,
/// counted from 1, and the byte of the text at which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineCursor<'a> {
    pub(super) line: Option<&'a str>,
    text: &'a str,
    rest: &'a str,
    pub(super) number: usize,
    offset: usize,
}

impl<'a> LineCursor<'a> {
    pub(super) fn new(text: &'a str, first_line: usize) -> Self {
        let mut lines = LineCursor { line: None, text, rest: text, number: first_line.saturating_sub(1), offset: 0 };
        lines.advance();
        lines
    }

    pub(super) fn advance(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.offset += self.line.map_or(0, |line| line.len() + 1);
        (self.line, self.rest) = match self.rest.split_once('\n') {
            Some((line, rest)) => (Some(line), rest),
            None if self.rest.is_empty() => (None, ""),
            None => (Some(self.rest), ""),
        };
        self.line
    }

    pub(super) fn error(&self, what: &'static str) -> ParseError {
        ParseError { line: self.number, what }
    }
}
