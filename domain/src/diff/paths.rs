//! File names in diff headers, taken apart as `git apply` does it.

/// Whether git must take a leading folder off the names (`-p1`) or not (`-p0`).
///
/// A header that names one file twice is written either `a/x b/x` (any two different prefixes) or,
/// by `--no-prefix`, `x x`. One header of the first form decides for 1; with none of it, one of
/// the second decides for 0. Renames are told by their `rename from` line, diffs without
/// `diff --git` by their first `---` and `+++`.
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

/// The one name that `diff --git` gives twice, or `None` when the line does not tell.
pub(super) fn from_git_line(names: &str, level: u8) -> Option<Vec<u8>> {
    let same = |left: &[u8], right: &[u8]| {
        let (left, right) = (strip_tree(left, level)?, strip_tree(right, level)?);
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
    plain_twice(names.as_bytes(), level).map(<[u8]>::to_vec)
}

/// Finds the blank that leaves the same name on both sides.
///
/// A diff comes from a stranger, so this must not try every blank against the whole line.
fn plain_twice(names: &[u8], level: u8) -> Option<&[u8]> {
    const LONGEST: usize = 8192;
    if names.len() > LONGEST {
        return None;
    }
    let is_blank = |at: usize| matches!(names.get(at), Some(b' ' | b'\t'));
    if level == 0 {
        let middle = names.len() / 2;
        let (left, right) = (names.get(..middle)?, names.get(middle + 1..)?);
        return (is_blank(middle) && left == right && left.first() != Some(&b'/')).then_some(left);
    }
    let mut slashes = names.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let start = slashes.next().filter(|&at| at > 0)? + 1;
    slashes.find_map(|slash| {
        // the right name runs from here to the end, so its length says where the left one ends
        let right = names.get(slash + 1..)?;
        let blank = start + right.len();
        let left = names.get(start..blank)?;
        let prefix = names.get(blank + 1..slash)?;
        (is_blank(blank) && !prefix.is_empty() && !prefix.contains(&b'/') && left == right && !left.is_empty())
            .then_some(left)
    })
}

/// The name on a `---`, `+++`, `rename` or `copy` line; `None` where stripping leaves nothing.
pub(super) fn from_line(rest: &str, level: u8, ends_at_tab: bool) -> Option<Vec<u8>> {
    let name = match unquote(rest) {
        Some((name, _)) => name,
        None => {
            let end = rest.find(|c| c == '\r' || (ends_at_tab && c == '\t')).unwrap_or(rest.len());
            rest.get(..end)?.as_bytes().to_vec()
        }
    };
    let name = match level {
        0 => name.as_slice(),
        _ => name.get(name.iter().position(|&byte| byte == b'/')? + 1..)?,
    };
    let mut squashed = name.to_vec();
    squashed.dedup_by(|next, previous| *next == b'/' && *previous == b'/');
    (!squashed.is_empty()).then_some(squashed)
}

pub(super) fn is_dev_null(rest: &str) -> bool {
    rest.strip_prefix("/dev/null").is_some_and(|end| end.is_empty() || end.starts_with([' ', '\t', '\r']))
}

pub(super) fn to_display(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn strip_tree(name: &[u8], level: u8) -> Option<&[u8]> {
    if level == 0 {
        return (name.first() != Some(&b'/')).then_some(name);
    }
    match name.iter().position(|&byte| byte == b'/')? {
        0 => None,
        at => name.get(at + 1..),
    }
}

/// Undoes git's C-style quoting; also gives how long the quoted form was.
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
