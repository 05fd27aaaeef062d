//! What changed between two texts, line by line: to show it, to take it back, and to keep line ends.

use domain::text::escape;
use gix_imara_diff::{Algorithm, Diff, InternedInput, Token, UnifiedDiffConfig, UnifiedDiffPrinter};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// One place in a text that was changed: what was put there instead of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Splice {
    /// The byte in the new text.
    at: usize,
    put: String,
    took: String,
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// From the old text to the new one, in the order of the text.
pub(in super::super) fn splices(old: &str, new: &str) -> Vec<Splice> {
    let input = InternedInput::new(old, new);
    let (old, new) = (lines(old), lines(new));
    let ends: Vec<usize> = std::iter::once(0)
        .chain(new.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        }))
        .collect();
    let hunks = Diff::compute(Algorithm::Histogram, &input);
    let of = |lines: &[&str], range: std::ops::Range<u32>| lines[range.start as usize..range.end as usize].concat();
    hunks
        .hunks()
        .map(|hunk| Splice {
            at: ends[hunk.after.start as usize],
            put: of(&new, hunk.after.clone()),
            took: of(&old, hunk.before.clone()),
        })
        .collect()
}

/// The old text, if this is the new one.
pub(in super::super) fn undo(new: &str, splices: &[Splice]) -> Option<String> {
    let mut text = new.to_owned();
    for Splice { at, put, took } in splices.iter().rev() {
        let range = *at..at + put.len();
        if text.get(range.clone())? != put {
            return None;
        }
        text.replace_range(range, took);
    }
    Some(text)
}

/// `edited` with the line ends of `original`, for editors that only know newlines.
pub(super) fn woven(original: &str, edited: &str) -> String {
    let newline = newline(original);
    let (old, new) = (lines(original), lines(edited));
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(old.iter().map(|line| without_end(line)));
    input.update_after(new.iter().map(|line| without_end(line)));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut out = String::with_capacity(original.len() + edited.len());
    let mut kept = 0;
    for hunk in diff.hunks() {
        out.push_str(&old[kept..hunk.before.start as usize].concat());
        for line in &new[hunk.after.start as usize..hunk.after.end as usize] {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(newline);
            }
            let _ = write!(out, "{}{newline}", without_end(line));
        }
        kept = hunk.before.end as usize;
    }
    out.push_str(&old[kept..].concat());
    out
}

/// How most of the text's lines end.
pub(super) fn newline(text: &str) -> &'static str {
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// The change as `diff -u` shows it, with nothing hidden.
pub(in super::super) fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(&Shown(&input), UnifiedDiffConfig::default(), &input).to_string()
}

struct Shown<'a>(&'a InternedInput<&'a str>);

impl Shown<'_> {
    fn line(&self, mut f: impl fmt::Write, sign: char, token: Token) -> fmt::Result {
        let line = self.0.interner[token];
        let body = line.strip_suffix('\n').unwrap_or(line);
        // Tabs are what indents here.
        let shown: Vec<_> = body.split('\t').map(escape).collect();
        writeln!(f, "{sign}{}", shown.join("\t"))?;
        if line.ends_with('\n') { Ok(()) } else { writeln!(f, "\\ No newline at end of file") }
    }
}

impl UnifiedDiffPrinter for Shown<'_> {
    fn display_header(
        &self,
        mut f: impl fmt::Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        // Of nothing, the line before it is named.
        let first = |start: u32, len: u32| if len == 0 { start } else { start + 1 };
        let (before, after) = (first(start_before, len_before), first(start_after, len_after));
        writeln!(f, "@@ -{before},{len_before} +{after},{len_after} @@")
    }

    fn display_context_token(&self, f: impl fmt::Write, token: Token) -> fmt::Result {
        self.line(f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl fmt::Write, before: &[Token], after: &[Token]) -> fmt::Result {
        for token in before {
            self.line(&mut f, '-', *token)?;
        }
        for token in after {
            self.line(&mut f, '+', *token)?;
        }
        Ok(())
    }
}
