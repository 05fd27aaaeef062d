//! Computes line diffs of the settings files that `init` edits: to show the edit, and to undo it later without touching
//! other lines or line endings.

use domain::text::escape;
use serde::{Deserialize, Serialize};
use similar::{DiffTag, TextDiff};
use std::fmt::Write as _;

/// One changed place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Splice {
    /// Byte offset in the new text.
    offset: usize,
    inserted: String,
    removed: String,
}

/// The changes from the old text to the new one, in text order.
pub(in super::super) fn splices(old: &str, new: &str) -> Vec<Splice> {
    let diff = TextDiff::from_lines(old, new);
    let (mut splices, mut offset) = (Vec::new(), 0);
    for op in diff.ops() {
        let inserted = diff.new_slices()[op.new_range()].concat();
        let end = offset + inserted.len();
        if op.tag() != DiffTag::Equal {
            splices.push(Splice { offset, inserted, removed: diff.old_slices()[op.old_range()].concat() });
        }
        offset = end;
    }
    splices
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
    let original_lines: Vec<&str> = original.split_inclusive('\n').collect();
    let (old, new): (Vec<&str>, Vec<&str>) = (original.lines().collect(), edited.lines().collect());
    let mut out = String::with_capacity(original.len() + edited.len());
    for op in TextDiff::from_slices(&old, &new).ops() {
        if op.tag() == DiffTag::Equal {
            out.push_str(&original_lines[op.old_range()].concat());
            continue;
        }
        for line in &new[op.new_range()] {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(newline);
            }
            let _ = write!(out, "{line}{newline}");
        }
    }
    out
}

/// The line ending of most lines.
pub(super) fn dominant_newline(text: &str) -> &'static str {
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// The change as a unified diff, with control characters escaped.
pub(in super::super) fn unified(old: &str, new: &str) -> String {
    // For an empty range, `diff -u` names the line before it.
    let range =
        |range: std::ops::Range<usize>| format!("{},{}", range.start + usize::from(!range.is_empty()), range.len());
    let mut out = String::new();
    for hunk in TextDiff::from_lines(old, new).unified_diff().iter_hunks() {
        let ops = hunk.ops();
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { continue };
        let before = range(first.old_range().start..last.old_range().end);
        let after = range(first.new_range().start..last.new_range().end);
        let _ = writeln!(out, "@@ -{before} +{after} @@");
        for change in hunk.iter_changes() {
            let line = change.value();
            // Keep tabs: they are indentation.
            let escaped: Vec<_> = line.strip_suffix('\n').unwrap_or(line).split('\t').map(escape).collect();
            let _ = writeln!(out, "{}{}", change.tag(), escaped.join("\t"));
            if change.missing_newline() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
}
