//! Text that git skips: the reviewer sees it, but it is not part of the change.

use super::cursor::LineCursor;
use super::flags::{SuspiciousChars, excerpt};
use super::{Flag, FlagKind};

/// Collects skipped lines. Lines that git itself writes around patches are not flagged.
#[derive(Debug, Default)]
pub(super) struct SkippedText {
    section: Section,
    count: usize,
    first: Option<(usize, String)>,
    misnamed: Vec<Flag>,
    suspicious: SuspiciousChars,
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
