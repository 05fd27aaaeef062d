//! The output of `init`: the changes as a diff, and notes for the user.

use super::{
    super::{CliError, terminal},
    change::Change,
    edit::unified,
    relative,
    user_files::FileMode,
};
use anyhow::anyhow;
use domain::text::escape;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A fragment that is missing or different.
#[derive(Debug)]
pub(super) struct Drift {
    pub path: PathBuf,
    pub fragment: String,
    pub what: String,
}

/// Everything that is printed beside the changes.
#[derive(Debug)]
pub(super) struct Report {
    root: PathBuf,
    user: bool,
    /// The clients that were found, and the file or program that proves it.
    pub found: Vec<(&'static str, String)>,
    pub notes: Vec<String>,
    pub by_hand: Vec<String>,
    /// What stays because it was changed after the installation.
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

    pub(super) fn print(&self, json: bool, changes: &[Change], applied: bool) -> Result<(), CliError> {
        if json {
            return terminal::write_json(&format!("{:#}\n", self.json(changes, applied)));
        }
        terminal::write(&self.text(changes, applied))?;
        self.print_notes(changes.iter().any(|change| !change.is_silent()))
    }

    /// Printed after the user has confirmed the changes.
    pub(super) fn print_done(&self, json: bool, done: usize) -> Result<(), CliError> {
        if !json {
            writeln!(io::stderr(), "{done} {} written", if done == 1 { "file" } else { "files" })?;
        }
        Ok(())
    }

    pub(super) fn print_check(&self, json: bool) -> Result<(), CliError> {
        if json {
            return terminal::write_json(&format!("{:#}\n", self.check_json()));
        }
        let text = match self.drift.is_empty() && self.problems.is_empty() {
            true => "everything is up to date\n".to_owned(),
            false => self.drift.iter().map(|drift| format!("{}\n", self.line(drift))).collect(),
        };
        terminal::write(&text)?;
        self.print_notes(false)
    }

    /// Fails if a file was left alone, even if the others were written.
    pub(super) fn result(&self) -> Result<(), CliError> {
        match self.problems.len() {
            0 => Ok(()),
            1 => Err(anyhow!("1 file was left alone").into()),
            several => Err(anyhow!("{several} files were left alone").into()),
        }
    }

    fn line(&self, drift: &Drift) -> String {
        format!("{}: {}: {}", self.display_path(&drift.path), drift.fragment, escape(&drift.what))
    }

    fn display_path(&self, path: &Path) -> String {
        escape(&relative(path, &self.root)).into_owned()
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
        let name = self.display_path(&change.path);
        let side = |text: &Option<String>, letter: char| match text {
            Some(_) => format!("{letter}/{name}"),
            None => "/dev/null".to_owned(),
        };
        let mut out = String::new();
        if let Some((from, to)) = &change.moved {
            let _ = writeln!(out, "move {} to {}", self.display_path(from), self.display_path(to));
        }
        if change.before == change.after {
            if change.mode == FileMode::Executable {
                let _ = writeln!(out, "make {name} executable");
            }
            return out;
        }
        let _ = writeln!(out, "--- {}\n+++ {}", side(&change.before, 'a'), side(&change.after, 'b'));
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        out.push_str(&unified(before.unwrap_or_default(), after.unwrap_or_default()));
        out
    }

    /// Prints notes to stderr. What was found is only of interest if something is written.
    fn print_notes(&self, writes: bool) -> Result<(), CliError> {
        let mut out = String::new();
        for (client, by) in self.found.iter().filter(|_| writes) {
            let _ = writeln!(out, "found {client}: {}", escape(by));
        }
        for note in self.notes.iter().filter(|_| writes) {
            let _ = writeln!(out, "note: {}", escape(note));
        }
        for step in &self.by_hand {
            let _ = writeln!(out, "by hand: {step}");
        }
        for (path, why) in &self.kept {
            let _ = writeln!(out, "left alone: {}: {}", self.display_path(path), escape(why));
        }
        for (path, why) in &self.problems {
            let _ = writeln!(out, "left alone: {}: {}", escape(&path.display().to_string()), escape(why));
        }
        io::stderr().lock().write_all(out.as_bytes())?;
        Ok(())
    }

    fn json(&self, changes: &[Change], applied: bool) -> Value {
        let rows: Vec<_> = changes.iter().filter(|change| !change.is_silent()).map(|change| self.row(change)).collect();
        let mut all = self.common_json();
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
        let row = |drift: &Drift| json!({ "path": drift.path, "piece": drift.fragment, "what": drift.what });
        let mut all = self.common_json();
        all["drift"] = self.drift.iter().map(row).collect();
        all
    }

    fn common_json(&self) -> Value {
        let rows = |reasons: &[(PathBuf, String)]| -> Value {
            reasons.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect()
        };
        json!({
            "scope": if self.user { "user" } else { "project" },
            "root": self.root,
            "found": self.found.iter().map(|(client, by)| json!({ "client": client, "by": by })).collect::<Vec<_>>(),
            "notes": self.notes,
            "by_hand": self.by_hand,
            "kept": rows(&self.kept),
            "problems": rows(&self.problems),
        })
    }
}
