//! A diff as `git apply` must be given it.

use super::skipped_text::is_mail_start;
use super::{parser, paths};

/// A piece for one run of `git apply`, and what git must be told so that it takes it as meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyPart<'a> {
    pub text: &'a str,
    /// The number behind `-p`.
    pub strip: u8,
    pub zero_context: ZeroContext,
}

/// Whether the diff was made with `-U0`.
///
/// Without `--unidiff-zero` git puts such insertions at the end of the file and reports success;
/// with it, git is less strict about every other diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroContext {
    No,
    /// One hunk at the top of each file and no context: whole small files look like this too.
    Possible,
    Certain,
}

/// The pieces in the order in which they apply: one per mail with a patch, else the whole text.
///
/// In one run git first removes and then writes the files of all patches, so a file that one mail
/// changes and a later one deletes would stay.
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

/// The mails of `git format-patch`, or the whole text where it is none.
///
/// The line that begins a mail cannot stand in a hunk: there, every line has its sign in front.
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
