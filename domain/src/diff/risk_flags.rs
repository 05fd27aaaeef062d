//! Finds the parts of a diff that need a reviewer's attention, such as symlinks, hidden characters and files with
//! instructions for agents.

use super::suspicious_text::SuspiciousText;
use super::{
    Flag, FlagKind, agent_and_tool_config, header,
    parser::{LineCursor, Patch, REGULAR_FILE, TYPE_BITS},
};
use crate::text::{ellipsize, escape};

/// Longest excerpt of a diff in a flag.
const EXCERPT_CHARS: usize = 100;

const SYMLINK: u32 = 0o120_000;
const GITLINK: u32 = 0o160_000;

pub(super) fn for_patch(patch: &Patch<'_>) -> Vec<Flag> {
    let mut flags = Vec::new();
    let path = patch.display_path();
    let mut push = |kind, detail: String| flags.push(Flag { kind, path: Some(path.clone()), detail });

    let kind_of = |mode: Option<u32>| mode.map(|mode| mode & TYPE_BITS);
    let after = patch.new_mode.or(patch.old_mode);
    if !patch.deleted && kind_of(after) == Some(SYMLINK) {
        push(
            FlagKind::Symlink,
            format!("a symlink to {}", patch.first_added.map_or_else(|| "an unknown place".to_owned(), excerpt)),
        );
    }
    if kind_of(after) == Some(GITLINK) || kind_of(patch.old_mode) == Some(GITLINK) {
        push(FlagKind::Gitlink, patch.first_added.map_or_else(|| "a submodule".to_owned(), excerpt));
    }
    if let (Some(old), Some(new)) = (patch.old_mode, patch.new_mode)
        && old != new
    {
        push(FlagKind::ModeChange, format!("{old:06o} becomes {new:06o}"));
    }

    if patch.created && patch.new_mode.is_some_and(is_executable) {
        push(FlagKind::Executable, "a new file that can be run".to_owned());
    }

    let mut on_path = SuspiciousText::default();
    let mut seen = Vec::new();
    for name in [patch.new.as_deref(), patch.old.as_deref()].into_iter().flatten().map(header::to_display) {
        on_path.scan_path(&name);
        if let Some(kind) = agent_and_tool_config::kind_of(&name, patch)
            && !seen.contains(&kind)
        {
            seen.push(kind);
            push(kind, format!("{} can change what runs or who may run it", excerpt(&name)));
        }
    }
    flags.extend(on_path.flags(Some(&path)));
    flags.extend(patch.suspicious.flags(Some(&path)));
    flags
}

fn is_executable(mode: u32) -> bool {
    mode & TYPE_BITS == REGULAR_FILE & TYPE_BITS && mode & 0o111 != 0
}

/// At most 100 characters, with hidden ones escaped.
pub(super) fn excerpt(text: &str) -> String {
    ellipsize(&escape(text.trim_end()), EXCERPT_CHARS).into_owned()
}

/// Text that git skips: the reviewer sees it, but it is not part of the change. Lines that git itself writes around
/// patches are not flagged.
#[derive(Debug, Default)]
pub(super) struct SkippedText {
    section: Section,
    count: usize,
    first: Option<(usize, String)>,
    misnamed: Vec<Flag>,
    suspicious: SuspiciousText,
}

#[derive(Debug, Default, Clone, Copy)]
enum Section {
    #[default]
    Bare,
    /// Header and message of a `git format-patch` mail.
    Mail,
    /// Header and message as `git show` and `git log -p` print them.
    Log,
    /// After the `-- ` at the end of a mail; git's version follows.
    Signature,
}

impl SkippedText {
    /// A patch begins, so the header of the mail or commit has ended.
    pub(super) fn enter_patch(&mut self) {
        self.section = Section::Bare;
    }

    pub(super) fn skip(&mut self, number: usize, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.suspicious.scan(line, number);
        if is_mail_start(line) {
            self.section = Section::Mail;
        } else if is_commit_line(line) {
            self.section = Section::Log;
        } else {
            match self.section {
                Section::Mail => {}
                Section::Log if is_log_line(line) => {}
                Section::Bare if line.trim_end() == "--" => self.section = Section::Signature,
                Section::Signature if is_version(line) => self.section = Section::Bare,
                Section::Bare | Section::Log | Section::Signature => self.flag(number, line),
            }
        }
    }

    /// Scans the rest after an error. The reviewer sees it although it is not a valid diff.
    pub(super) fn scan_rest(&mut self, mut cursor: LineCursor<'_>) {
        while let Some(line) = cursor.line {
            self.suspicious.scan(line, cursor.number);
            cursor.advance();
        }
    }

    /// Records a line that git ignores.
    pub(super) fn flag(&mut self, number: usize, line: &str) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((number, excerpt(line)));
        }
    }

    /// Records that the `diff --git` line names another file than the one that git changes.
    pub(super) fn misnamed(&mut self, named: &str, changed: String) {
        let detail = format!("the `diff --git` line names {}, git changes {}", excerpt(named), excerpt(&changed));
        self.misnamed.push(Flag { kind: FlagKind::TextOutsideHunks, path: Some(changed), detail });
    }

    pub(super) fn into_flags(self) -> Vec<Flag> {
        let mut flags = self.misnamed;
        if let Some((number, text)) = self.first {
            let detail = match self.count {
                1 => format!("line {number} is ignored by git: {text}"),
                count => format!("{count} lines are ignored by git, the first is line {number}: {text}"),
            };
            flags.push(Flag { kind: FlagKind::TextOutsideHunks, path: None, detail });
        }
        flags.extend(self.suspicious.flags(None));
        flags
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_mail_start(line: &str) -> bool {
    line.strip_prefix("From ")
        .and_then(|rest| rest.trim_end().strip_suffix(" Mon Sep 17 00:00:00 2001"))
        .is_some_and(is_object_id)
}

fn is_commit_line(line: &str) -> bool {
    line.strip_prefix("commit ").and_then(|rest| rest.split(' ').next()).is_some_and(|id| is_object_id(id.trim_end()))
}

fn is_log_line(line: &str) -> bool {
    const HEADS: [&str; 8] = ["    ", "Author:", "AuthorDate:", "Commit:", "CommitDate:", "Date:", "Merge:", "tree "];
    HEADS.iter().any(|head| line.starts_with(head))
}

fn is_version(line: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || " .()-".contains(c);
    line.len() <= 40 && line.starts_with(|c: char| c.is_ascii_digit()) && line.trim_end().chars().all(known)
}
