//! What a diff touches, and what in it a reviewer must be shown.
//!
//! The walk follows the rules of `git apply` rather than those of a general diff reader: git takes
//! its file names, creations and deletions from particular lines and skips the rest, so a reader
//! with other rules could be shown one change while git applies another.

mod flags;
mod header;
mod lines;
mod names;
mod outside;
mod walk;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::words;
use walk::Patch;

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
    let walk = walk::walk(diff, names::strip_level(diff));
    let mut flags: Vec<Flag> = walk.patches.iter().flat_map(flags::of_patch).collect();
    flags.extend(walk.outside.into_flags());

    let note = match walk.fault {
        Some(fault) => Some(format!("line {}: {}", fault.line, fault.what)),
        None if diff.trim().is_empty() => Some("the diff is empty".to_owned()),
        None if walk.patches.is_empty() => {
            Some("no file header found: neither `diff --git` nor `---` and `+++`".to_owned())
        }
        None => None,
    };
    let files = if note.is_some() { Vec::new() } else { fold(&walk.patches) };
    DiffReading { files, flags, note }
}

/// What `git apply` must be told so that it takes a diff as it was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyHints {
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

pub fn apply_hints(diff: &str) -> ApplyHints {
    let strip = names::strip_level(diff);
    ApplyHints { strip, zero_context: walk::walk(diff, strip).zero_context() }
}

fn fold(patches: &[Patch<'_>]) -> Vec<AffectedFile> {
    let mut files: Vec<AffectedFile> = Vec::with_capacity(patches.len());
    let mut by_path: HashMap<String, usize> = HashMap::with_capacity(patches.len());
    for patch in patches {
        let file = affected(patch);
        let earlier = by_path.get(&file.path).and_then(|&at| files.get_mut(at));
        if let Some(earlier) = earlier
            && let Some(operation) = folded(earlier.operation, file.operation)
        {
            earlier.operation = operation;
            earlier.added = earlier.added.saturating_add(file.added);
            earlier.removed = earlier.removed.saturating_add(file.removed);
            earlier.binary |= file.binary;
            continue;
        }
        by_path.insert(file.path.clone(), files.len());
        files.push(file);
    }
    files
}

/// What two patches to one path amount to, or `None` where both should be listed.
fn folded(first: Operation, second: Operation) -> Option<Operation> {
    use Operation::{Copy, Create, Delete, Mode, Modify, Rename};
    match (first, second) {
        (Create | Modify | Rename | Copy, Modify | Mode) => Some(first),
        (Mode, Modify | Mode) => Some(second),
        (Modify | Mode, Delete) => Some(Delete),
        // git writes a change of type (file to symlink) as these two
        (Delete, Create) => Some(Modify),
        (Create | Rename | Copy, Delete)
        | (Delete, Modify | Mode | Delete)
        | (Create | Modify | Rename | Copy | Mode, Create)
        | (_, Rename | Copy) => None,
    }
}

fn affected(patch: &Patch<'_>) -> AffectedFile {
    let moved = patch.old.is_some() && patch.new.is_some() && patch.old != patch.new;
    let operation = if patch.created {
        Operation::Create
    } else if patch.deleted {
        Operation::Delete
    } else if patch.copied {
        Operation::Copy
    } else if moved || patch.renamed {
        // git moves the file also where only `---` and `+++` differ
        Operation::Rename
    } else if patch.hunks == 0 && !patch.binary {
        Operation::Mode
    } else {
        Operation::Modify
    };
    AffectedFile {
        path: patch.shown_path(),
        old_path: match operation {
            Operation::Rename | Operation::Copy => patch.old.as_deref().map(names::shown),
            Operation::Create | Operation::Modify | Operation::Delete | Operation::Mode => None,
        },
        operation,
        added: patch.added,
        removed: patch.removed,
        binary: patch.binary,
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
