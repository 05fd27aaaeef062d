//! Splits a diff into parts for `git apply`.

use super::skipped_text::is_mail_start;
use super::{parser, paths};

/// The input of one run of `git apply`, and the options that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyPart<'a> {
    pub text: &'a str,
    /// The number for the option `-p`.
    pub strip: u8,
    pub zero_context: ZeroContext,
}

/// Whether the diff was made with `-U0`.
///
/// Without `--unidiff-zero`, git puts insertions of such a diff at the end of the file and reports success. With it, git
/// is less strict about all other diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroContext {
    No,
    /// One hunk at the top of each file, without context. A diff of whole small files looks like this too.
    Possible,
    Certain,
}

/// The parts in the order in which they apply: one for each mail with a patch, otherwise the whole text.
///
/// In one run, git first deletes and then writes the files of all patches. A file that one mail changes and a later one
/// deletes would not be deleted.
pub fn apply_parts(diff: &str) -> Vec<ApplyPart<'_>> {
    let part = |text| {
        let strip = paths::strip_level(text);
        let parsed = parser::parse(text, 1, strip);
        let empty = parsed.patches.is_empty() && parsed.error.is_none();
        (ApplyPart { text, strip, zero_context: parsed.zero_context() }, empty)
    };
    let mut parts: Vec<_> = mails(diff).map(|mail| part(mail.text)).filter(|(_, empty)| !empty).collect();
    if parts.is_empty() {
        parts.push(part(diff));
    }
    parts.into_iter().map(|(part, _)| part).collect()
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Mail<'a> {
    pub(super) text: &'a str,
    pub(super) first_line: usize,
}

/// The mails of `git format-patch`, or the whole text if it is not a mail.
///
/// A hunk cannot contain the first line of a mail, because all its lines start with a sign.
pub(super) fn mails(diff: &str) -> impl Iterator<Item = Mail<'_>> {
    let mut rest = Some(diff);
    let mut first_line = 1;
    std::iter::from_fn(move || {
        let text = rest?;
        let starts = text.match_indices("\nFrom ").map(|(at, _)| at + 1);
        let end = starts
            .into_iter()
            .find(|&at| text.get(at..).and_then(|text| text.lines().next()).is_some_and(is_mail_start));
        let (text, after) = end.and_then(|end| text.split_at_checked(end)).map_or((text, None), |(a, b)| (a, Some(b)));
        let mail = Mail { text, first_line };
        first_line += text.bytes().filter(|&byte| byte == b'\n').count();
        rest = after;
        Some(mail)
    })
}
