//! Parses the header of one file's patch in a diff with the rules of `git apply`: which file, and what happens to it.

use super::{
    parser::{LineCursor, ParseError, Patch, parse_hunk_range},
    risk_flags::SkippedText,
};

/// Git cuts a name there, and changes another file than the diff seems to name.
const NUL_IN_NAME: &str = "a file name with a NUL character";

pub(super) fn parse_git<'a>(
    mut cursor: LineCursor<'a>,
    rest: &str,
    strip: u8,
    skipped: &mut SkippedText,
) -> Result<(Patch<'a>, LineCursor<'a>), ParseError> {
    let git_line_path = from_git_line(rest, strip);
    let start = cursor.number;
    let mut patch = Patch::default();
    cursor.advance();
    while let Some(line) = cursor.line {
        if !parse_header_line(&mut patch, line, strip, git_line_path.as_deref()).map_err(|what| cursor.error(what))? {
            break;
        }
        let kinds = [patch.created, patch.deleted, patch.renamed, patch.copied];
        if kinds.into_iter().filter(|&kind| kind).count() > 1 {
            return Err(cursor.error("header lines contradict each other"));
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
    // Git may stop there with an internal error.
    if (patch.created && patch.old.is_some()) || (patch.deleted && patch.new.is_some()) {
        return Err(ParseError { line: start, what: "a file name before the line that creates or deletes the file" });
    }
    if [&patch.old, &patch.new, &git_line_path].into_iter().flatten().any(|name| name.contains(&0)) {
        return Err(ParseError { line: start, what: NUL_IN_NAME });
    }
    if let Some(git_line_path) = git_line_path
        && !(patch.renamed || patch.copied)
        && [&patch.old, &patch.new].into_iter().flatten().any(|used| *used != git_line_path)
    {
        skipped.misnamed(&to_display(&git_line_path), patch.display_path());
    }
    Ok((patch, cursor))
}

/// Parses one line of a git header. Returns `false` at the end of the header.
///
/// `git_line_path` is the path in the `diff --git` line. New and deleted files take it.
fn parse_header_line<'a>(
    patch: &mut Patch<'a>,
    line: &'a str,
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
        (patch.copied, patch.old) = (true, path_from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("copy to ") {
        (patch.copied, patch.new) = (true, path_from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("rename from ").or_else(|| line.strip_prefix("rename old ")) {
        (patch.renamed, patch.old) = (true, path_from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("rename new ")) {
        (patch.renamed, patch.new) = (true, path_from_line(rest, bare, false));
    } else if let Some(rest) = line.strip_prefix("index ") {
        let (ids, octal) = rest.split_once(' ').map_or((rest, None), |(ids, octal)| (ids, Some(octal)));
        patch.index_ids = ids.split_once("..");
        if let (Some(_), Some(octal)) = (patch.index_ids, octal) {
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
        None if absent && is_dev_null(rest) => Ok(()),
        None if absent => Err("a name where /dev/null belongs"),
        None => {
            *name = path_from_line(rest, strip, true);
            Ok(())
        }
        Some(known) if path_from_line(rest, strip, true).as_ref() == Some(known) => Ok(()),
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
    if is_dev_null(old) {
        patch.created = true;
        patch.guessed = is_dev_null(new);
        patch.new = path_from_line(new, strip, true);
    } else if is_dev_null(new) {
        patch.deleted = true;
        patch.old = path_from_line(old, strip, true);
    } else {
        let (old_name, name) = (path_from_line(old, strip, true), path_from_line(new, strip, true));
        // If one name begins with the other, git prefers the shorter one.
        patch.guessed = old_name != name || is_epoch(old) || is_epoch(new);
        let name = match (old_name, name) {
            (Some(old), Some(new)) if new.len() > old.len() && new.starts_with(&old) => Some(old),
            (old, new) => new.or(old),
        };
        let range = parse_hunk_range(hunk);
        patch.created = range.is_some_and(|range| range.old == 0 && range.old_start == 0);
        patch.deleted = is_epoch(new) && range.is_some_and(|range| range.new == 0);
        patch.guessed |= range.is_none_or(|range| range.old == 0 || range.new == 0);
        patch.old = name.clone().filter(|_| !patch.created);
        patch.new = name.filter(|_| !patch.deleted);
    }
    if patch.old.is_none() && patch.new.is_none() {
        return error("the header does not say which file it is about");
    }
    if [&patch.old, &patch.new].into_iter().flatten().any(|name| name.contains(&0)) {
        return error(NUL_IN_NAME);
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

/// Only these four characters are white space for git.
fn parse_mode(octal: &str) -> Result<u32, &'static str> {
    let digits = octal.trim_end_matches([' ', '\t', '\r', '\n']);
    let is_octal = digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(digits, 8).ok().filter(|_| is_octal);
    mode.ok_or("a file mode that cannot be read")
}

/// Whether git must strip the first folder of the names (`-p1`) or not (`-p0`).
///
/// A header that names one file twice has the form `a/x b/x` (any two different prefixes) or, with `--no-prefix`, `x x`.
/// One header of the first form means 1. Otherwise one of the second form means 0. For renames, the `rename from` line
/// decides; for diffs without `diff --git`, the first `---` and `+++` do.
pub(super) fn strip_level(diff: &str) -> u8 {
    let mut unprefixed = false;
    let mut lines = diff.lines().peekable();
    let mut git = false;
    while let Some(line) = lines.next() {
        let Some(names) = line.strip_prefix("diff --git ") else { continue };
        git = true;
        if from_git_line(names, 0).is_some() || moved_without_prefix(names, lines.clone()) {
            unprefixed = true;
        } else if from_git_line(names, 1).is_some() {
            return 1;
        }
    }
    match (git, unprefixed) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => strip_level_of_plain(diff),
    }
}

fn moved_without_prefix<'a>(names: &str, following: impl Iterator<Item = &'a str>) -> bool {
    following
        .take(6)
        .take_while(|line| !line.starts_with("diff --git "))
        .find_map(|line| line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from ")))
        .is_some_and(|from| names.strip_prefix(from).is_some_and(|rest| rest.starts_with(' ')))
}

fn strip_level_of_plain(diff: &str) -> u8 {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("--- "));
    let (Some(old), Some(new)) = (lines.next(), lines.next()) else { return 1 };
    let cut = |line: &str| line.get(4..).and_then(|rest| rest.split('\t').next()).map(str::to_owned);
    let (Some(old), Some(new)) = (cut(old), cut(new)) else { return 1 };
    let known = |name: &str| matches!(name.split_once('/'), Some(("a" | "b" | "c" | "i" | "o" | "w" | "1" | "2", _)));
    let prefixed = match (old.as_str(), new.as_str()) {
        ("/dev/null", name) | (name, "/dev/null") => known(name),
        (old, new) => old != new && old.contains('/') && new.contains('/'),
    };
    u8::from(prefixed)
}

/// The name that a `diff --git` line contains twice, or `None` if the line is ambiguous.
fn from_git_line(names: &str, strip: u8) -> Option<Vec<u8>> {
    let same = |left: &[u8], right: &[u8]| {
        let (left, right) = (strip_tree(left, strip)?, strip_tree(right, strip)?);
        (left == right && !left.is_empty()).then(|| left.to_vec())
    };
    if let Some((left, used)) = unquote(names) {
        let right = names.get(used..)?.trim_start_matches([' ', '\t']);
        return match unquote(right) {
            Some((right, _)) => same(&left, &right),
            None => same(&left, right.as_bytes()),
        };
    }
    if let Some(at) = names.find(" \"") {
        let (right, _) = unquote(names.get(at + 1..)?)?;
        return same(names.get(..at)?.as_bytes(), &right);
    }
    find_repeated_name(names.as_bytes(), strip).map(<[u8]>::to_vec)
}

/// Finds the blank that separates two equal names.
///
/// A hostile diff may contain very many blanks, so this does not compare the whole line at each of them.
fn find_repeated_name(names: &[u8], strip: u8) -> Option<&[u8]> {
    const MAX_BYTES: usize = 8192;
    if names.len() > MAX_BYTES {
        return None;
    }
    let is_blank = |at: usize| matches!(names.get(at), Some(b' ' | b'\t'));
    if strip == 0 {
        let middle = names.len() / 2;
        let (left, right) = (names.get(..middle)?, names.get(middle + 1..)?);
        return (is_blank(middle) && left == right && left.first() != Some(&b'/')).then_some(left);
    }
    let mut slashes = names.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let start = slashes.next().filter(|&at| at > 0)? + 1;
    slashes.find_map(|slash| {
        // The right name runs to the end of the line, so its length gives the end of the left one.
        let right = names.get(slash + 1..)?;
        let blank = start + right.len();
        let left = names.get(start..blank)?;
        let prefix = names.get(blank + 1..slash)?;
        (is_blank(blank) && !prefix.is_empty() && !prefix.contains(&b'/') && left == right && !left.is_empty())
            .then_some(left)
    })
}

/// The name in a `---`, `+++`, `rename` or `copy` line; `None` if stripping leaves nothing.
fn path_from_line(rest: &str, strip: u8, ends_at_tab: bool) -> Option<Vec<u8>> {
    let name = match unquote(rest) {
        Some((name, _)) => name,
        None => {
            let end = rest.find(|c| c == '\r' || (ends_at_tab && c == '\t')).unwrap_or(rest.len());
            rest.get(..end)?.as_bytes().to_vec()
        }
    };
    let name = match strip {
        0 => name.as_slice(),
        _ => name.get(name.iter().position(|&byte| byte == b'/')? + 1..)?,
    };
    let mut normalized = name.to_vec();
    normalized.dedup_by(|next, previous| *next == b'/' && *previous == b'/');
    (!normalized.is_empty()).then_some(normalized)
}

fn is_dev_null(rest: &str) -> bool {
    rest.strip_prefix("/dev/null").is_some_and(|end| end.is_empty() || end.starts_with([' ', '\t', '\r']))
}

pub(super) fn to_display(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn strip_tree(name: &[u8], strip: u8) -> Option<&[u8]> {
    if strip == 0 {
        return (name.first() != Some(&b'/')).then_some(name);
    }
    match name.iter().position(|&byte| byte == b'/')? {
        0 => None,
        at => name.get(at + 1..),
    }
}

/// Decodes git's C-style quoting. Also returns the length of the quoted form.
fn unquote(text: &str) -> Option<(Vec<u8>, usize)> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut name = Vec::new();
    let mut at = 1;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((name, at)),
            b'\\' => {
                let escaped = *bytes.get(at)?;
                at += 1;
                name.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'\\' | b'"' => escaped,
                    b'0'..=b'3' => {
                        let octal = text.get(at - 1..at + 2)?;
                        at += 2;
                        u8::from_str_radix(octal, 8).ok()?
                    }
                    _ => return None,
                });
            }
            other => name.push(other),
        }
    }
}
