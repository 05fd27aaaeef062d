//! Summarizes a diff: which files it changes, and what in it needs a reviewer's attention.
//!
//! The parser follows the rules of `git apply`. Git takes file names, creations and deletions from particular lines and
//! skips the rest. A parser with other rules could show the reviewer one change while git applies another.

mod agent_and_tool_config;
mod header;
mod parser;
mod risk_flags;
mod suspicious_text;

use crate::string_enum;
use risk_flags::{excerpt, is_mail_start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap};

pub use parser::{Hunk, Patch};

/// A file that the diff changes. Several patches to one path are combined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AffectedFile {
    /// Without the `a/` or `b/` prefix. For display: bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The source of a rename or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub operation: FileOperation,
    pub added: u32,
    pub removed: u32,
    pub binary: bool,
}

string_enum! {
    FileOperation {
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
        /// A new file that can be run.
        Executable = "executable",
        AgentConfig = "agent_config",
        CiConfig = "ci_config",
        GitConfig = "git_config",
        /// Configuration with which building, testing or opening the project runs code.
        BuildConfig = "build_config",
        ControlCharacters = "control_characters",
        BidiCharacters = "bidi_characters",
        /// A word with letters of several scripts, which can look like another word.
        MixedScripts = "mixed_scripts",
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
    for mail in mails(diff) {
        let parsed = parser::parse(mail.text, mail.first_line, header::strip_level(mail.text));
        summary.flags.extend(parsed.patches.iter().flat_map(risk_flags::for_patch));
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

/// The part of `diff` that changes `path`: from the header of each of its patches to the next header.
pub fn file_section<'a>(diff: &'a str, path: &str) -> Option<Cow<'a, str>> {
    let mut own = sections(diff).into_iter().filter(|(changed, _)| changed == path).map(|(_, section)| section);
    let first = own.next()?;
    Some(own.fold(Cow::Borrowed(first), |all, section| Cow::Owned(all.into_owned() + section)))
}

/// The path and the text of each patch.
fn sections(diff: &str) -> Vec<(String, &str)> {
    let (mut patches, mut mail_start) = (Vec::new(), 0);
    for mail in mails(diff) {
        let parsed = parser::parse(mail.text, mail.first_line, header::strip_level(mail.text));
        patches.extend(parsed.patches.iter().map(|patch| (mail_start + patch.start, patch.display_path())));
        mail_start += mail.text.len();
    }
    let ends: Vec<_> = patches.iter().skip(1).map(|(start, _)| *start).chain([diff.len()]).collect();
    patches.into_iter().zip(ends).map(|((start, path), end)| (path, &diff[start..end])).collect()
}

/// The input of one run of `git apply`, and the options that it needs.
#[derive(Debug)]
pub struct ApplyPart<'a> {
    pub text: &'a str,
    /// The number for the option `-p`.
    pub strip: u8,
    pub zero_context: ZeroContext,
    /// `None` if the text cannot be parsed.
    pub patches: Option<Vec<Patch<'a>>>,
    /// Why the text cannot be parsed, with the number of the line within it.
    pub error: Option<String>,
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
        let strip = header::strip_level(text);
        let parsed = parser::parse(text, 1, strip);
        let zero_context = parsed.zero_context();
        let error = parsed.error.as_ref().map(|error| format!("line {}: {}", error.line, error.what));
        ApplyPart { text, strip, zero_context, patches: error.is_none().then_some(parsed.patches), error }
    };
    let is_empty = |part: &ApplyPart<'_>| part.patches.as_ref().is_some_and(Vec::is_empty);
    let mut parts: Vec<_> = mails(diff).map(|mail| part(mail.text)).filter(|part| !is_empty(part)).collect();
    if parts.is_empty() {
        parts.push(part(diff));
    }
    parts
}

#[derive(Debug, Clone, Copy)]
struct Mail<'a> {
    text: &'a str,
    first_line: usize,
}

/// The mails of `git format-patch`, or the whole text if it is not a mail.
///
/// A hunk cannot contain the first line of a mail, because all its lines start with a sign.
fn mails(diff: &str) -> impl Iterator<Item = Mail<'_>> {
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

#[derive(Debug, Default)]
struct Files {
    list: Vec<AffectedFile>,
    by_path: HashMap<String, usize>,
}

impl Files {
    /// Adds the patches that git applies in one run. Returns flags for deletions that git does not perform.
    fn add_commit(&mut self, patches: &[Patch<'_>]) -> Vec<Flag> {
        let mut flags = Vec::new();
        // Paths that this run writes, and whether as the target of a rename or copy.
        let mut written: HashMap<String, bool> = HashMap::with_capacity(patches.len());
        for patch in patches {
            let file = affected(patch);
            let removed = match file.operation {
                FileOperation::Delete => Some(&file.path),
                FileOperation::Rename => file.old_path.as_ref(),
                FileOperation::Create | FileOperation::Modify | FileOperation::Copy | FileOperation::Mode => None,
            };
            let kept = removed.and_then(|path| Some((path, *written.get(path)?)));
            // Two files may swap their names in one diff. Git does that correctly.
            let kept =
                kept.filter(|(_, moved)| !moved || file.operation == FileOperation::Delete).map(|(path, _)| path);
            if let Some(path) = kept {
                let detail = format!("git keeps {}, because the diff writes it before removing it", excerpt(path));
                flags.push(Flag { kind: FlagKind::TextOutsideHunks, path: Some(path.clone()), detail });
                self.by_path.remove(path);
            }
            if file.operation != FileOperation::Delete {
                written
                    .insert(file.path.clone(), matches!(file.operation, FileOperation::Rename | FileOperation::Copy));
            }
            self.add(file);
        }
        flags
    }

    fn add(&mut self, file: AffectedFile) {
        let earlier = self.by_path.get(&file.path).and_then(|&at| self.list.get_mut(at));
        if let Some(earlier) = earlier
            && let Some(operation) = combine(earlier.operation, file.operation)
        {
            earlier.operation = operation;
            earlier.added = earlier.added.saturating_add(file.added);
            earlier.removed = earlier.removed.saturating_add(file.removed);
            earlier.binary |= file.binary;
            return;
        }
        self.by_path.insert(file.path.clone(), self.list.len());
        self.list.push(file);
    }
}

/// The combined operation of two patches to one path, or `None` if both are listed.
fn combine(first: FileOperation, second: FileOperation) -> Option<FileOperation> {
    use FileOperation::{Copy, Create, Delete, Mode, Modify, Rename};
    match (first, second) {
        (Create | Modify | Rename | Copy, Modify | Mode) => Some(first),
        (Mode, Modify | Mode) => Some(second),
        (Modify | Mode, Delete) => Some(Delete),
        // Git writes a change of the file type, such as file to symlink, as a deletion and a creation.
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
        FileOperation::Create
    } else if patch.deleted {
        FileOperation::Delete
    } else if patch.copied {
        FileOperation::Copy
    } else if moved || patch.renamed {
        // Git renames the file even if only `---` and `+++` differ.
        FileOperation::Rename
    } else if patch.hunks.is_empty() && !patch.binary {
        FileOperation::Mode
    } else {
        FileOperation::Modify
    };
    let old_path = match operation {
        FileOperation::Rename | FileOperation::Copy => patch.old.as_deref().map(header::to_display),
        FileOperation::Create | FileOperation::Modify | FileOperation::Delete | FileOperation::Mode => None,
    };
    let (added, removed, binary) = (patch.added, patch.removed, patch.binary);
    AffectedFile { path: patch.display_path(), old_path, operation, added, removed, binary }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
