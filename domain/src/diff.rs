//! What a diff touches, and what in it a reviewer must be shown.
//!
//! The parsed follows the rules of `git apply` rather than those of a general diff reader: git takes
//! its file names, creations and deletions from particular lines and skips the rest, so a reader
//! with other rules could be shown one change while git applies another.

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

/// One file as the whole diff leaves it: several patches to one path are folded together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AffectedFile {
    /// Without the `a/` or `b/` prefix; bytes that are not UTF-8 are replaced, so it is for showing.
    pub path: String,
    /// Where a rename or copy came from.
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
        /// Nothing but the mode changes.
        Mode = "mode",
    }
}

/// Something a reviewer must be shown and a policy may refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flag {
    pub kind: FlagKind,
    /// `None` when it concerns text that belongs to no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One short line; characters that do not show are escaped: `\u{202e}`.
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
        /// The diff shows text that git ignores when it applies the diff.
        TextOutsideHunks = "text_outside_hunks",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSummary {
    pub files: Vec<AffectedFile>,
    pub flags: Vec<Flag>,
    /// Why `files` is empty although there is a diff; names the line where reading ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Reads any text: what cannot be read as a diff gives no files and a note.
///
/// Flags found before the unreadable line are kept, so a broken tail hides nothing.
pub fn summarize(diff: &str) -> DiffSummary {
    let mut reading = DiffSummary::default();
    let mut files = Files::default();
    for mail in apply_parts::mails(diff) {
        let parsed = parser::parse(mail.text, mail.first_line, paths::strip_level(mail.text));
        reading.flags.extend(parsed.patches.iter().flat_map(flags::for_patch));
        reading.flags.extend(files.add_commit(&parsed.patches));
        reading.flags.extend(parsed.skipped.into_flags());
        if let Some(error) = parsed.error {
            reading.note = Some(format!("line {}: {}", error.line, error.what));
            return reading;
        }
    }
    reading.files = files.list;
    if diff.trim().is_empty() {
        reading.note = Some("the diff is empty".to_owned());
    } else if reading.files.is_empty() {
        reading.note = Some("no file header found: neither `diff --git` nor `---` and `+++`".to_owned());
    }
    reading
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
