//! Which files a diff changes, and what in it needs a reviewer's attention.
//!
//! The parser follows the rules of `git apply`. Git takes file names, creations and deletions from particular lines and
//! skips the rest. A parser with other rules could show the reviewer one change while git applies another.

mod apply_parts;
mod cursor;
mod files;
mod flags;
mod header;
mod parser;
mod paths;
mod skipped_text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::string_enum;
pub use apply_parts::{ApplyPart, ZeroContext, apply_parts};
use files::Files;

/// A file that the diff changes. Several patches to one path are combined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AffectedFile {
    /// Without the `a/` or `b/` prefix. For display: bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The source of a rename or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub operation: Operation,
    pub added: u32,
    pub removed: u32,
    pub binary: bool,
}

string_enum! {
    Operation {
        Create = "create",
        Modify = "modify",
        Delete = "delete",
        Rename = "rename",
        Copy = "copy",
        /// Only the mode changes.
        Mode = "mode",
    }
}

/// Something that needs a reviewer's attention. The policy may refuse it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flag {
    pub kind: FlagKind,
    /// `None` for text that does not belong to a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One short line. Hidden characters are escaped: `\u{202e}`.
    pub detail: String,
}

string_enum! {
    FlagKind {
        Symlink = "symlink",
        Gitlink = "gitlink",
        ModeChange = "mode_change",
        AgentConfig = "agent_config",
        CiConfig = "ci_config",
        GitConfig = "git_config",
        ControlCharacters = "control_characters",
        BidiCharacters = "bidi_characters",
        /// The diff contains text that `git apply` ignores.
        TextOutsideHunks = "text_outside_hunks",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSummary {
    pub files: Vec<AffectedFile>,
    pub flags: Vec<Flag>,
    /// Why the diff could not be parsed, with the line number. `files` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Summarizes any text. Text that cannot be parsed as a diff gives no files and a note.
///
/// Flags from before the error are kept, so that a broken end does not hide them.
pub fn summarize(diff: &str) -> DiffSummary {
    let mut summary = DiffSummary::default();
    let mut files = Files::default();
    for mail in apply_parts::mails(diff) {
        let parsed = parser::parse(mail.text, mail.first_line, paths::strip_level(mail.text));
        summary.flags.extend(parsed.patches.iter().flat_map(flags::for_patch));
        summary.flags.extend(files.add_commit(&parsed.patches));
        summary.flags.extend(parsed.skipped.into_flags());
        if let Some(error) = parsed.error {
            summary.note = Some(format!("line {}: {}", error.line, error.what));
            return summary;
        }
    }
    summary.files = files.list;
    if diff.trim().is_empty() {
        summary.note = Some("the diff is empty".to_owned());
    } else if summary.files.is_empty() {
        summary.note = Some("no file header found: neither `diff --git` nor `---` and `+++`".to_owned());
    }
    summary
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
