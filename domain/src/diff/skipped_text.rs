//! Text that git skips: it is shown to a reviewer but is no part of the change.

use super::cursor::LineCursor;
use super::flags::{SuspiciousChars, excerpt};
use super::{Flag, FlagKind};

/// Collects skipped lines; what git itself writes around patches is expected and not flagged.
#[derive(Debug, Default)]
pub(super) struct SkippedText {
    place: Section,
    lines: usize,
    first: Option<(usize, String)>,
    misnamed: Vec<Flag>,
    suspicious: SuspiciousChars,
}

#[derive(Debug, Default, Clone, Copy)]
enum Section {
    #[default]
    Bare,
    /// Head and message of a `git format-patch` mail.
    Mail,
    /// Head and message as `git show` and `git log -p` print them.
    Log,
    /// After the `-- ` that ends a mail: git's version follows.
    Signature,
}

impl SkippedText {
    /// A patch begins, so the head of the mail or commit has ended.
    pub(super) fn enter_patch(&mut self) {
        self.place = Section::Bare;
    }

    pub(super) fn skip(&mut self, number: usize, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.suspicious.scan(line, number);
        if is_mail_start(line) {
            self.place = Section::Mail;
        } else if is_commit_line(line) {
            self.place = Section::Log;
        } else {
            match self.place {
                Section::Mail => {}
                Section::Log if is_log_line(line) => {}
                Section::Bare if line.trim_end() == "--" => self.place = Section::Signature,
                Section::Signature if is_version(line) => self.place = Section::Bare,
                Section::Bare | Section::Log | Section::Signature => self.flag(number, line),
            }
        }
    }

    /// The rest cannot be read as a diff, but it is shown, so its characters count.
    pub(super) fn give_up(&mut self, mut lines: LineCursor<'_>) {
        while let Some(line) = lines.line {
            self.suspicious.scan(line, lines.number);
            lines.advance();
        }
    }

    /// A line inside a patch that git takes for nothing, whatever it says.
    pub(super) fn flag(&mut self, number: usize, line: &str) {
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some((number, excerpt(line)));
        }
    }

    /// The `diff --git` line says one name and git uses another.
    pub(super) fn misnamed(&mut self, said: &str, used: String) {
        let detail = format!("the `diff --git` line names {}, git changes {}", excerpt(said), excerpt(&used));
        self.misnamed.push(Flag { kind: FlagKind::TextOutsideHunks, path: Some(used), detail });
    }

    pub(super) fn into_flags(self) -> Vec<Flag> {
        let mut flags = self.misnamed;
        if let Some((number, text)) = self.first {
            let detail = match self.lines {
                1 => format!("line {number} is ignored by git: {text}"),
                lines => format!("{lines} lines are ignored by git, the first is line {number}: {text}"),
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
