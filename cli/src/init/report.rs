//! Prints what `init` did or would do: the changes as a diff, and notes for the user.

use super::{
    edit::unified,
    file_change::{Change, Kind},
};
use crate::{CliError, atomic_files::FileMode, terminal};
use anyhow::anyhow;
use domain::text::escape;
use serde::Serialize;
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A fragment that is missing or different.
#[derive(Debug, Serialize)]
pub(super) struct Drift {
    pub path: PathBuf,
    #[serde(rename = "piece")]
    pub fragment: String,
    pub what: String,
}

/// A client that was found, and the file or program that proves it.
#[derive(Debug, Serialize)]
pub(super) struct FoundClient {
    pub client: &'static str,
    #[serde(rename = "by")]
    pub evidence: String,
}

/// What the user has to do in a client.
#[derive(Debug, Serialize)]
pub(super) struct ClientStep {
    pub client: &'static str,
    pub step: &'static str,
}

/// A file that was left alone, at least in part.
#[derive(Debug, Serialize)]
pub(super) struct LeftAlone {
    pub path: PathBuf,
    pub why: String,
}

/// Everything that is printed beside the changes.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    scope: &'static str,
    root: PathBuf,
    pub found: Vec<FoundClient>,
    pub notes: Vec<String>,
    pub left_to_do: Vec<ClientStep>,
    pub by_hand: Vec<String>,
    /// What stays because it was changed after the installation.
    pub kept: Vec<LeftAlone>,
    pub problems: Vec<LeftAlone>,
    #[serde(skip)]
    pub drift: Vec<Drift>,
}

/// The answer of `init --json`.
#[derive(Serialize)]
struct InitAnswer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    changes: Vec<ChangeAnswer<'a>>,
    applied: bool,
}

#[derive(Serialize)]
struct ChangeAnswer<'a> {
    path: &'a Path,
    kind: Kind,
    action: &'static str,
    diff: String,
}

/// The answer of `init --check --json`.
#[derive(Serialize)]
struct CheckAnswer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    drift: &'a [Drift],
}

impl Report {
    pub(super) fn new(root: &Path, user: bool) -> Self {
        let scope = if user { "user" } else { "project" };
        Self { scope, root: root.to_owned(), ..Self::default() }
    }

    pub(super) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(LeftAlone { path: path.to_owned(), why: why.into() });
    }

    pub(super) fn print(&self, json: bool, changes: &[Change], applied: bool) -> Result<(), CliError> {
        let changes = changes.iter().filter(|change| !change.is_silent()).map(|change| self.change_answer(change));
        let answer = InitAnswer { report: self, changes: changes.collect(), applied };
        print(json, &answer, |InitAnswer { changes, .. }| match (changes.is_empty(), applied) {
            (true, _) => "nothing to do\n".to_owned(),
            (false, true) => changes.iter().map(|change| change.diff.as_str()).chain(["\nwritten\n"]).collect(),
            (false, false) => changes.iter().map(|change| change.diff.as_str()).collect(),
        })?;
        if json { Ok(()) } else { self.print_notes(!answer.changes.is_empty()) }
    }

    pub(super) fn print_check(&self, json: bool) -> Result<(), CliError> {
        let line = |Drift { path, fragment, what }: &Drift| {
            format!("{}: {fragment}: {}\n", self.display_path(path), escape(what))
        };
        print(json, &CheckAnswer { report: self, drift: &self.drift }, |CheckAnswer { drift, .. }| {
            match drift.is_empty() && self.problems.is_empty() {
                true => "everything is up to date\n".to_owned(),
                false => drift.iter().map(line).collect(),
            }
        })?;
        if json { Ok(()) } else { self.print_notes(false) }
    }

    /// Fails if a file was left alone, even if the others were written.
    pub(super) fn result(&self) -> Result<(), CliError> {
        match self.problems.len() {
            0 => Ok(()),
            1 => Err(anyhow!("1 file was left alone").into()),
            several => Err(anyhow!("{several} files were left alone").into()),
        }
    }

    /// The path relative to the root, if it is below it.
    fn display_path(&self, path: &Path) -> String {
        escape(&path.strip_prefix(&self.root).unwrap_or(path).display().to_string()).into_owned()
    }

    fn change_answer<'a>(&self, change: &'a Change) -> ChangeAnswer<'a> {
        let action = match (&change.before, &change.after) {
            (None, _) => "create",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) => "edit",
        };
        ChangeAnswer { path: &change.path, kind: change.kind, action, diff: self.diff(change) }
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
        for FoundClient { client, evidence } in self.found.iter().filter(|_| writes) {
            let _ = writeln!(out, "found {client}: {}", escape(evidence));
        }
        for note in self.notes.iter().filter(|_| writes) {
            let _ = writeln!(out, "note: {}", escape(note));
        }
        for ClientStep { client, step } in self.left_to_do.iter().filter(|_| writes) {
            let _ = writeln!(out, "left to do: {client}: {step}");
        }
        for step in &self.by_hand {
            let _ = writeln!(out, "by hand: {step}");
        }
        for LeftAlone { path, why } in &self.kept {
            let _ = writeln!(out, "left alone: {}: {}", self.display_path(path), escape(why));
        }
        for LeftAlone { path, why } in &self.problems {
            let _ = writeln!(out, "left alone: {}: {}", escape(&path.display().to_string()), escape(why));
        }
        io::stderr().lock().write_all(out.as_bytes())?;
        Ok(())
    }
}

/// Without a pager: a question may follow.
fn print<T: Serialize>(json: bool, answer: &T, render: impl Fn(&T) -> String) -> Result<(), CliError> {
    if json { terminal::write_pretty_json(answer) } else { terminal::write(&render(answer)) }
}
