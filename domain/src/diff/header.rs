//! Parses the header of a patch: which file, and what happens to it.

use super::cursor::{LineCursor, ParseError};
use super::parser::{Patch, parse_hunk_range};
use super::paths;
use super::skipped_text::SkippedText;

pub(super) fn parse_git<'a>(
    mut cursor: LineCursor<'a>,
    rest: &str,
    strip: u8,
    skipped: &mut SkippedText,
) -> Result<(Patch<'a>, LineCursor<'a>), ParseError> {
    let git_line_path = paths::from_git_line(rest, strip);
    let start = cursor.number;
    let mut patch = Patch::default();
    cursor.advance();
    while let Some(line) = cursor.line {
        if !parse_header_line(&mut patch, line, strip, git_line_path.as_deref()).map_err(|what| cursor.error(what))? {
            break;
        }
        let kinds = [patch.created, patch.deleted, patch.renamed, patch.copied];
        if kinds.into_iter().filter(|&kind| kind).count() > 1 {
            return Err(cursor.error("header cursor contradict each other"));
        }
        cursor.advance();
    }
    if patch.old.is_none() && patch.new.is_none() {
        patch.old.clone_from(&git_line_path);
        patch.new.clone_from(&git_line_path);
    }
    if (patch.new.is_none() && !patch.deleted) || (patch.old.is_none() && !patch.created) {
        return Err(ParseError { line: start, what: "the header does not say which file it is about" });
    }
    if cursor.number == start + 1 {
        // Git skips such a line, but applies the next header to the file that it names.
        return Err(ParseError { line: start, what: "a `diff --git` line with no header behind it" });
    }
    if (patch.created || patch.deleted) && patch.old.is_some() && patch.new.is_some() && patch.old != patch.new {
        return Err(ParseError { line: start, what: "file names contradict each other" });
    }
    if patch.created {
        patch.old = None;
    }
    if patch.deleted {
        patch.new = None;
    }
    if let Some(git_line_path) = git_line_path
        && !(patch.renamed || patch.copied)
        && [&patch.old, &patch.new].into_iter().flatten().any(|used| *used != git_line_path)
    {
        skipped.misnamed(&paths::to_display(&git_line_path), patch.display_path());
    }
    Ok((patch, cursor))
}

/// Parses one line of a git header. Returns `false` at the end of the header.
///
/// `git_line_path` is the path in the `diff --git` line. New and deleted files take it.
fn parse_header_line(
    patch: &mut Patch<'_>,
    line: &str,
    strip: u8,
    git_line_path: Option<&[u8]>,
) -> Result<bool, &'static str> {
    let bare = strip.saturating_sub(1);
    if line.starts_with("@@ -") {
        return Ok(false);
    } else if let Some(rest) = line.strip_prefix("--- ") {
        parse_side(&mut patch.old, rest, patch.created, strip)?;
    } else if let Some(rest) = line.strip_prefix("+++ ") {
        parse_side(&mut patch.new, rest, patch.deleted, strip)?;
    } else if let Some(rest) = line.strip_prefix("old mode ") {
        patch.old_mode = Some(parse_mode(rest)?);
    } else if let Some(rest) = line.strip_prefix("new mode ") {
        patch.new_mode = Some(parse_mode(rest)?);
    } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
        (patch.deleted, patch.old, patch.old_mode) = (true, git_line_path.map(<[u8]>::to_vec), Some(parse_mode(rest)?));
    } else if let Some(rest) = line.strip_prefix("new file mode ") {
        (patch.created, patch.new, patch.new_mode) = (true, git_line_path.map(<[u8]>::to_vec), Some(parse_mode(rest)?));
    } else if let Some(rest) = line.strip_prefix("copy from ") {
        (patch.copied, patch.old) = (true, paths::from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("copy to ") {
        (patch.copied, patch.new) = (true, paths::from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("rename from ").or_else(|| line.strip_prefix("rename old ")) {
        (patch.renamed, patch.old) = (true, paths::from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("rename new ")) {
        (patch.renamed, patch.new) = (true, paths::from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("index ") {
        if let Some((ids, octal)) = rest.split_once(' ')
            && ids.contains("..")
        {
            patch.old_mode = Some(parse_mode(octal)?);
        }
    } else {
        return Ok(line.starts_with("similarity index ") || line.starts_with("dissimilarity index "));
    }
    Ok(true)
}

/// Parses the path of one side.
///
/// `/dev/null` means a missing file only if an earlier header line created or deleted the file. Otherwise git treats it
/// as an ordinary path.
fn parse_side(name: &mut Option<Vec<u8>>, rest: &str, absent: bool, strip: u8) -> Result<(), &'static str> {
    match name {
        None if absent && paths::is_dev_null(rest) => Ok(()),
        None if absent => Err("a name where /dev/null belongs"),
        None => {
            *name = paths::from_line(rest, strip, true);
            Ok(())
        }
        Some(known) if paths::from_line(rest, strip, true).as_ref() == Some(known) => Ok(()),
        Some(_) => Err("file names contradict each other"),
    }
}

/// Parses the header of a patch as `diff -u` writes it: `---`, `+++` and the first hunk.
pub(super) fn parse_plain(
    mut cursor: LineCursor<'_>,
    strip: u8,
) -> Result<Option<(Patch<'_>, LineCursor<'_>)>, ParseError> {
    let old = cursor.line.and_then(|line| line.strip_prefix("--- "));
    let second = cursor.advance();
    let new = second.and_then(|line| line.strip_prefix("+++ "));
    let hunk = cursor.advance().and_then(|line| line.strip_prefix("@@ -"));
    let (Some(old), Some(new), Some(hunk)) = (old, new, hunk) else { return Ok(None) };
    let error = |what| Err(ParseError { line: cursor.number.saturating_sub(2), what });

    // Git removes such a date from the name by its own rules.
    if [old, new].into_iter().any(|name| !name.contains('\t') && has_date(name)) {
        return error("a date in a file name");
    }
    let mut patch = Patch::default();
    if paths::is_dev_null(old) {
        patch.created = true;
        patch.new = paths::from_line(new, strip, true);
    } else if paths::is_dev_null(new) {
        patch.deleted = true;
        patch.old = paths::from_line(old, strip, true);
    } else {
        let (old_name, name) = (paths::from_line(old, strip, true), paths::from_line(new, strip, true));
        // If one name begins with the other, git prefers the shorter one.
        let name = match (old_name, name) {
            (Some(old), Some(new)) if new.len() > old.len() && new.starts_with(&old) => Some(old),
            (old, new) => new.or(old),
        };
        let range = parse_hunk_range(hunk);
        patch.created = range.is_some_and(|range| range.old == 0 && range.old_start == 0);
        patch.deleted = is_epoch(new) && range.is_some_and(|range| range.new == 0);
        patch.old = name.clone().filter(|_| !patch.created);
        patch.new = name.filter(|_| !patch.deleted);
    }
    if patch.old.is_none() && patch.new.is_none() {
        return error("the header does not say which file it is about");
    }
    Ok(Some((patch, cursor)))
}

fn has_date(name: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(' ').skip(1).any(|word| word.len() >= 8 && word.split('-').count() == 3 && word.split('-').all(digits))
}

fn is_epoch(name: &str) -> bool {
    name.rsplit_once('\t').is_some_and(|(_, time)| time.starts_with("1970-01-01 ") || time.starts_with("1969-12-31 "))
}

fn parse_mode(octal: &str) -> Result<u32, &'static str> {
    u32::from_str_radix(octal.trim_end(), 8).map_err(|_| "a file mode that cannot be read")
}
