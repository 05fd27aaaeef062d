//! The head of one file's patch: which file, and what becomes of it.

use super::cursor::{LineCursor, ParseError};
use super::parser::{Patch, hunk_range};
use super::paths;
use super::skipped_text::SkippedText;

pub(super) fn git<'a>(
    mut lines: LineCursor<'a>,
    rest: &str,
    level: u8,
    skipped: &mut SkippedText,
) -> Result<(Patch<'a>, LineCursor<'a>), ParseError> {
    let said = paths::from_git_line(rest, level);
    let start = lines.number;
    let mut patch = Patch::default();
    lines.advance();
    while let Some(line) = lines.line {
        if !header_line(&mut patch, line, level, said.as_deref()).map_err(|what| lines.error(what))? {
            break;
        }
        let kinds = [patch.created, patch.deleted, patch.renamed, patch.copied];
        if kinds.into_iter().filter(|&kind| kind).count() > 1 {
            return Err(lines.error("header lines contradict each other"));
        }
        lines.advance();
    }
    if patch.old.is_none() && patch.new.is_none() {
        patch.old.clone_from(&said);
        patch.new.clone_from(&said);
    }
    if (patch.new.is_none() && !patch.deleted) || (patch.old.is_none() && !patch.created) {
        return Err(ParseError { line: start, what: "the header does not say which file it is about" });
    }
    if lines.number == start + 1 {
        // git skips such a line but lets the next header change the file that this one names
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
    if let Some(said) = said
        && !(patch.renamed || patch.copied)
        && [&patch.old, &patch.new].into_iter().flatten().any(|used| *used != said)
    {
        skipped.misnamed(&paths::to_display(&said), patch.display_path());
    }
    Ok((patch, lines))
}

/// Takes one line of a git header; `false` where the header has ended.
///
/// `said` is the name on the `diff --git` line, which a new or deleted file goes by.
fn header_line(patch: &mut Patch<'_>, line: &str, level: u8, said: Option<&[u8]>) -> Result<bool, &'static str> {
    let bare = level.saturating_sub(1);
    if line.starts_with("@@ -") {
        return Ok(false);
    } else if let Some(rest) = line.strip_prefix("--- ") {
        side(&mut patch.old, rest, patch.created, level)?;
    } else if let Some(rest) = line.strip_prefix("+++ ") {
        side(&mut patch.new, rest, patch.deleted, level)?;
    } else if let Some(rest) = line.strip_prefix("old mode ") {
        patch.old_mode = Some(mode(rest)?);
    } else if let Some(rest) = line.strip_prefix("new mode ") {
        patch.new_mode = Some(mode(rest)?);
    } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
        (patch.deleted, patch.old, patch.old_mode) = (true, said.map(<[u8]>::to_vec), Some(mode(rest)?));
    } else if let Some(rest) = line.strip_prefix("new file mode ") {
        (patch.created, patch.new, patch.new_mode) = (true, said.map(<[u8]>::to_vec), Some(mode(rest)?));
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
            patch.old_mode = Some(mode(octal)?);
        }
    } else {
        return Ok(line.starts_with("similarity index ") || line.starts_with("dissimilarity index "));
    }
    Ok(true)
}

/// Takes the name of one side of a file that git's own header lines are about.
///
/// Where they did not say that the file comes or goes, `/dev/null` is to git a file like any other.
fn side(name: &mut Option<Vec<u8>>, rest: &str, absent: bool, level: u8) -> Result<(), &'static str> {
    match name {
        None if absent && paths::is_dev_null(rest) => Ok(()),
        None if absent => Err("a name where /dev/null belongs"),
        None => {
            *name = paths::from_line(rest, level, true);
            Ok(())
        }
        Some(known) if paths::from_line(rest, level, true).as_ref() == Some(known) => Ok(()),
        Some(_) => Err("file names contradict each other"),
    }
}

/// A diff as `diff -u` writes it: three lines that must follow each other.
pub(super) fn plain(mut lines: LineCursor<'_>, level: u8) -> Result<Option<(Patch<'_>, LineCursor<'_>)>, ParseError> {
    let old = lines.line.and_then(|line| line.strip_prefix("--- "));
    let second = lines.advance();
    let new = second.and_then(|line| line.strip_prefix("+++ "));
    let hunk = lines.advance().and_then(|line| line.strip_prefix("@@ -"));
    let (Some(old), Some(new), Some(hunk)) = (old, new, hunk) else { return Ok(None) };
    let unclear = |what| Err(ParseError { line: lines.number.saturating_sub(2), what });

    // git would cut such a date off the name by rules of its own
    if [old, new].into_iter().any(|name| !name.contains('\t') && has_date(name)) {
        return unclear("a date in a file name");
    }
    let mut patch = Patch::default();
    if paths::is_dev_null(old) {
        patch.created = true;
        patch.new = paths::from_line(new, level, true);
    } else if paths::is_dev_null(new) {
        patch.deleted = true;
        patch.old = paths::from_line(old, level, true);
    } else {
        let (old_name, name) = (paths::from_line(old, level, true), paths::from_line(new, level, true));
        // git prefers the shorter name where one is the other with something tacked on
        let name = match (old_name, name) {
            (Some(old), Some(new)) if new.len() > old.len() && new.starts_with(&old) => Some(old),
            (old, new) => new.or(old),
        };
        let range = hunk_range(hunk);
        patch.created = range.is_some_and(|range| range.old == 0 && range.old_start == 0);
        patch.deleted = is_epoch(new) && range.is_some_and(|range| range.new == 0);
        patch.old = name.clone().filter(|_| !patch.created);
        patch.new = name.filter(|_| !patch.deleted);
    }
    if patch.old.is_none() && patch.new.is_none() {
        return unclear("the header does not say which file it is about");
    }
    Ok(Some((patch, lines)))
}

fn has_date(name: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(' ').skip(1).any(|word| word.len() >= 8 && word.split('-').count() == 3 && word.split('-').all(digits))
}

fn is_epoch(name: &str) -> bool {
    name.rsplit_once('\t').is_some_and(|(_, time)| time.starts_with("1970-01-01 ") || time.starts_with("1969-12-31 "))
}

fn mode(octal: &str) -> Result<u32, &'static str> {
    u32::from_str_radix(octal.trim_end(), 8).map_err(|_| "a file mode that cannot be read")
}
