//! What `init` says: the change as a diff, and what it leaves to the user.

use super::{
    super::{Failure, terminal},
    atomic_write::FileMode,
    change::Change,
    edit::unified,
    short,
};
use anyhow::anyhow;
use domain::text::escape;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Something that is not as it was put, or not there.
#[derive(Debug)]
pub(super) struct Drift {
    pub path: PathBuf,
    pub piece: String,
    pub what: String,
}

/// All there is to say beside the changes.
#[derive(Debug)]
pub(super) struct Report {
    root: PathBuf,
    user: bool,
    /// Which clients, and by what one can tell.
    pub found: Vec<(&'static str, String)>,
    pub notes: Vec<String>,
    pub by_hand: Vec<String>,
    /// What stays because somebody has changed it.
    pub kept: Vec<(PathBuf, String)>,
    pub problems: Vec<(PathBuf, String)>,
    pub drift: Vec<Drift>,
}

impl Report {
    pub(super) fn new(root: &Path, user: bool) -> Self {
        Self {
            root: root.to_owned(),
            user,
            found: Vec::new(),
            notes: Vec::new(),
            by_hand: Vec::new(),
            kept: Vec::new(),
            problems: Vec::new(),
            drift: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push((path.to_owned(), why.into()));
    }

    pub(super) fn print(&self, json: bool, changes: &[Change], applied: bool) -> Result<(), Failure> {
        if json {
            return terminal::write_json(&format!("{:#}\n", self.json(changes, applied)));
        }
        terminal::write(&self.text(changes, applied))?;
        self.remark(changes.iter().any(|change| !change.is_silent()))
    }

    /// After the change was shown and agreed to.
    pub(super) fn print_done(&self, json: bool, done: usize) -> Result<(), Failure> {
        if !json {
            writeln!(io::stderr(), "{done} files written")?;
        }
        Ok(())
    }

    pub(super) fn print_check(&self, json: bool) -> Result<(), Failure> {
        if json {
            return terminal::write_json(&format!("{:#}\n", self.check_json()));
        }
        let text = match self.drift.is_empty() && self.problems.is_empty() {
            true => "all is as it should be\n".to_owned(),
            false => self.drift.iter().map(|drift| format!("{}\n", self.line(drift))).collect(),
        };
        terminal::write(&text)?;
        self.remark(false)
    }

    /// What was left alone is a failure, also where the rest is done.
    pub(super) fn ending(&self) -> Result<(), Failure> {
        match self.problems.len() {
            0 => Ok(()),
            1 => Err(anyhow!("one file was left alone").into()),
            several => Err(anyhow!("{several} files were left alone").into()),
        }
    }

    fn line(&self, drift: &Drift) -> String {
        format!("{}: {}: {}", self.name(&drift.path), drift.piece, escape(&drift.what))
    }

    fn name(&self, path: &Path) -> String {
        escape(&short(path, &self.root)).into_owned()
    }

    fn text(&self, changes: &[Change], applied: bool) -> String {
        let mut out = String::new();
        for change in changes.iter().filter(|change| !change.is_silent()) {
            out.push_str(&self.diff(change));
        }
        if out.is_empty() {
            out.push_str("nothing to do\n");
        } else if applied {
            out.push_str("\nwritten\n");
        }
        out
    }

    fn diff(&self, change: &Change) -> String {
        let name = self.name(&change.path);
        let side = |text: &Option<String>, letter: char| match text {
            Some(_) => format!("{letter}/{name}"),
            None => "/dev/null".to_owned(),
        };
        let mut out = String::new();
        if let Some((from, to)) = &change.moved {
            let _ = writeln!(out, "move {} to {}", self.name(from), self.name(to));
        }
        if change.before == change.after {
            if change.make == FileMode::Executable {
                let _ = writeln!(out, "make {name} executable");
            }
            return out;
        }
        let _ = writeln!(out, "--- {}\n+++ {}", side(&change.before, 'a'), side(&change.after, 'b'));
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        out.push_str(&unified(before.unwrap_or_default(), after.unwrap_or_default()));
        out
    }

    /// For people, beside the data. Where nothing is written, what was found and what comes next is no news.
    fn remark(&self, writes: bool) -> Result<(), Failure> {
        let mut out = String::new();
        for (client, by) in self.found.iter().filter(|_| writes) {
            let _ = writeln!(out, "found {client}: {}", escape(by));
        }
        for note in self.notes.iter().filter(|_| writes) {
            let _ = writeln!(out, "note: {}", escape(note));
        }
        for words in &self.by_hand {
            let _ = writeln!(out, "by hand: {words}");
        }
        for (path, why) in &self.kept {
            let _ = writeln!(out, "left alone: {}: {}", self.name(path), escape(why));
        }
        for (path, why) in &self.problems {
            let _ = writeln!(out, "left alone: {}: {}", escape(&path.display().to_string()), escape(why));
        }
        io::stderr().lock().write_all(out.as_bytes())?;
        Ok(())
    }

    fn json(&self, changes: &[Change], applied: bool) -> Value {
        let rows: Vec<_> = changes.iter().filter(|change| !change.is_silent()).map(|change| self.row(change)).collect();
        let mut all = self.beside();
        all["changes"] = rows.into();
        all["applied"] = applied.into();
        all
    }

    fn row(&self, change: &Change) -> Value {
        let action = match (&change.before, &change.after) {
            (None, _) => "create",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) => "edit",
        };
        json!({ "path": change.path, "kind": change.kind, "action": action, "diff": self.diff(change) })
    }

    fn check_json(&self) -> Value {
        let row = |drift: &Drift| json!({ "path": drift.path, "piece": drift.piece, "what": drift.what });
        let mut all = self.beside();
        all["drift"] = self.drift.iter().map(row).collect();
        all
    }

    fn beside(&self) -> Value {
        let said = |words: &[(PathBuf, String)]| -> Value {
            words.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect()
        };
        json!({
            "scope": if self.user { "user" } else { "project" },
            "root": self.root,
            "found": self.found.iter().map(|(client, by)| json!({ "client": client, "by": by })).collect::<Vec<_>>(),
            "notes": self.notes,
            "by_hand": self.by_hand,
            "kept": said(&self.kept),
            "problems": said(&self.problems),
        })
    }
}
