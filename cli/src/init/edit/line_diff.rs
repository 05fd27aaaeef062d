//! Line diffs between two texts: to show a change, to undo it, and to preserve line endings.

use domain::text::escape;
use gix_imara_diff::{Algorithm, Diff, InternedInput, Token, UnifiedDiffConfig, UnifiedDiffPrinter};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// One changed place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Splice {
    /// Byte offset in the new text.
    offset: usize,
    inserted: String,
    removed: String,
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The changes from the old text to the new one, in text order.
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
    let concat = |lines: &[&str], range: std::ops::Range<u32>| lines[range.start as usize..range.end as usize].concat();
    hunks
        .hunks()
        .map(|hunk| Splice {
            offset: ends[hunk.after.start as usize],
            inserted: concat(&new, hunk.after.clone()),
            removed: concat(&old, hunk.before.clone()),
        })
        .collect()
}

/// Reverts the changes. `None` if `new` is not the text that they lead to.
pub(in super::super) fn undo(new: &str, splices: &[Splice]) -> Option<String> {
    let mut text = new.to_owned();
    for Splice { offset, inserted, removed } in splices.iter().rev() {
        let range = *offset..offset + inserted.len();
        if text.get(range.clone())? != inserted {
            return None;
        }
        text.replace_range(range, removed);
    }
    Some(text)
}

/// `edited` with the line endings of `original`. The TOML editor writes newlines only.
pub(super) fn with_original_line_ends(original: &str, edited: &str) -> String {
    let newline = dominant_newline(original);
    let (old, new) = (lines(original), lines(edited));
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(old.iter().map(|line| without_line_end(line)));
    input.update_after(new.iter().map(|line| without_line_end(line)));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut out = String::with_capacity(original.len() + edited.len());
    let mut kept = 0;
    for hunk in diff.hunks() {
        out.push_str(&old[kept..hunk.before.start as usize].concat());
        for line in &new[hunk.after.start as usize..hunk.after.end as usize] {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(newline);
            }
            let _ = write!(out, "{}{newline}", without_line_end(line));
        }
        kept = hunk.before.end as usize;
    }
    out.push_str(&old[kept..].concat());
    out
}

/// The line ending of most lines.
pub(super) fn dominant_newline(text: &str) -> &'static str {
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// The change as a unified diff, with control characters escaped.
pub(in super::super) fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(&EscapedPrinter(&input), UnifiedDiffConfig::default(), &input).to_string()
}

struct EscapedPrinter<'a>(&'a InternedInput<&'a str>);

impl EscapedPrinter<'_> {
    fn line(&self, mut f: impl fmt::Write, sign: char, token: Token) -> fmt::Result {
        let line = self.0.interner[token];
        let body = line.strip_suffix('\n').unwrap_or(line);
        // Keep tabs: they are indentation.
        let escaped: Vec<_> = body.split('\t').map(escape).collect();
        writeln!(f, "{sign}{}", escaped.join("\t"))?;
        if line.ends_with('\n') { Ok(()) } else { writeln!(f, "\\ No newline at end of file") }
    }
}

impl UnifiedDiffPrinter for EscapedPrinter<'_> {
    fn display_header(
        &self,
        mut f: impl fmt::Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        // For an empty range, `diff -u` names the line before it.
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
