//! Parses file names in diff headers, with the rules of `git apply`.

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
pub(super) fn from_git_line(names: &str, strip: u8) -> Option<Vec<u8>> {
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
pub(super) fn from_line(rest: &str, strip: u8, ends_at_tab: bool) -> Option<Vec<u8>> {
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

pub(super) fn is_dev_null(rest: &str) -> bool {
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
