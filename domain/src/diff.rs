//! What a diff touches, and what in it a reviewer must be shown.
//!
//! The walk follows the rules of `git apply` rather than those of a general diff reader: git takes
//! its file names, creations and deletions from particular lines and skips the rest, so a reader
//! with other rules could be shown one change while git applies another.

mod files;
mod flags;
pub use flags::is_hidden;
mod header;
mod lines;
mod names;
mod outside;
mod parts;
mod walk;

use serde::{Deserialize, Serialize};

use crate::words;
use files::Files;
pub use parts::{ApplyPart, ZeroContext, apply_parts};

/// One file as the whole diff leaves it: several patches to one path are folded together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

words! {
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    pub kind: FlagKind,
    /// `None` when it concerns text that belongs to no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One short line; characters that do not show are written as `U+202E`.
    pub detail: String,
}

words! {
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
pub struct DiffReading {
    pub files: Vec<AffectedFile>,
    pub flags: Vec<Flag>,
    /// Why `files` is empty although there is a diff; names the line where reading ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Reads any text: what cannot be read as a diff gives no files and a note.
///
/// Flags found before the unreadable line are kept, so a broken tail hides nothing.
pub fn read(diff: &str) -> DiffReading {
    let mut reading = DiffReading::default();
    let mut files = Files::default();
    for mail in parts::mails(diff) {
        let walk = walk::walk(mail.text, mail.first_line, names::strip_level(mail.text));
        reading.flags.extend(walk.patches.iter().flat_map(flags::of_patch));
        reading.flags.extend(files.add_commit(&walk.patches));
        reading.flags.extend(walk.outside.into_flags());
        if let Some(fault) = walk.fault {
            reading.note = Some(format!("line {}: {}", fault.line, fault.what));
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
