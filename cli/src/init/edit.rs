//! Pure text edits: take the old text of a file, return the new one.
//!
//! Everything that does not belong to Countersign is preserved: comments, order, indentation, line endings, a byte order
//! mark.

mod json;
mod line_diff;
mod marked_block;
mod toml;

pub(super) use line_diff::{Splice, splices, undo, unified};
pub(super) use marked_block::{BlockPosition, MarkedBlock, Markers};

use serde_json::Value;

const BOM: char = '\u{feff}';

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("line {line}, column {column}: {what}")]
    Syntax { line: usize, column: usize, what: String },
    #[error("expected {path} to be {article} {expected}", article = article(expected))]
    WrongType { path: String, expected: &'static str },
    #[error("line {line}: the marker `{marker}` has no matching end marker")]
    UnclosedMarker { line: usize, marker: &'static str },
}

impl EditError {
    /// A syntax error at this byte offset.
    fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self::Syntax { line, column: before[start..].chars().count() + 1, what: what.into() }
    }
}

/// A part of a file that `init` manages.
#[derive(Debug, Clone)]
pub(super) enum Fragment {
    /// An object in JSON with comments. Only `keys` are compared and changed.
    Json { path: Vec<String>, value: Value, keys: &'static [&'static str] },
    /// A handler in the hook lists of Claude Code and Codex, recognized by its subcommand.
    Hook { event: &'static str, matcher: Option<&'static str>, handler: Value, subcommand: &'static str },
    /// Like [`Fragment::Json`], as a table in TOML.
    Toml { path: Vec<String>, value: Value, keys: &'static [&'static str] },
    /// Lines between two markers.
    Block(MarkedBlock),
    /// The whole file.
    Whole(String),
}

/// How a fragment in a text compares with the wanted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FragmentState {
    Missing,
    UpToDate,
    /// Describes the difference.
    Different(String),
}

impl Fragment {
    /// A name that does not change between versions; the manifest uses it as a key.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Json { path, .. } | Self::Toml { path, .. } => path.join("."),
            Self::Hook { event, .. } => format!("hooks.{event}"),
            Self::Block(_) => "block".into(),
            Self::Whole(_) => "file".into(),
        }
    }

    /// The fragment as it is in the text now, in a form that can be compared.
    pub(super) fn current(&self, text: &str) -> Result<Option<String>, EditError> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        Ok(match self {
            Self::Json { path, .. } => json::get(text, path)?.map(|value| value.to_string()),
            Self::Toml { path, .. } => toml::get(text, path)?.map(|value| value.to_string()),
            Self::Hook { event, subcommand, .. } => {
                json::get_hook(text, event, subcommand)?.map(|group| group.to_string())
            }
            Self::Block(block) => block.body_in(text)?,
            Self::Whole(_) => (!text.is_empty()).then(|| text.to_owned()),
        })
    }

    pub(super) fn state(&self, text: &str) -> Result<FragmentState, EditError> {
        let bare = text.strip_prefix(BOM).unwrap_or(text);
        Ok(match self {
            Self::Json { path, value, keys } => compare_keys(json::get(bare, path)?, value, keys),
            Self::Toml { path, value, keys } => compare_keys(toml::get(bare, path)?, value, keys),
            Self::Hook { event, matcher, handler, subcommand } => compare_keys(
                json::get_hook(bare, event, subcommand)?,
                &json::group(*matcher, handler),
                &["matcher", "hooks"],
            ),
            Self::Block(block) => compare_text(block.body_in(bare)?.as_deref(), &block.body),
            Self::Whole(wanted) => compare_text(Some(bare).filter(|bare| !bare.is_empty()), wanted),
        })
    }

    /// Whether the [current](Self::current) fragment calls the same program as the wanted one.
    pub(super) fn has_same_program(&self, current: &str) -> bool {
        let now: Value = serde_json::from_str(current).unwrap_or_default();
        let program_of = |group: &Value| {
            let command = group["hooks"][0]["command"].as_str()?;
            command.split_once(" hook ").map(|(program, _)| program.to_owned())
        };
        match self {
            // An entry with an address has no program.
            Self::Json { value, .. } | Self::Toml { value, .. } => {
                now.get("command").is_none() || value.get("command").is_none() || now["command"] == value["command"]
            }
            Self::Hook { matcher, handler, .. } => program_of(&now) == program_of(&json::group(*matcher, handler)),
            Self::Block(block) => {
                block.markers == Markers::SHELL && current.lines().next() == block.body.lines().next()
            }
            Self::Whole(_) => false,
        }
    }

    /// The text with the wanted fragment.
    pub(super) fn insert(&self, text: &str) -> Result<String, EditError> {
        if self.state(text)? == FragmentState::UpToDate {
            return Ok(text.to_owned());
        }
        with_bom(text, |text| match self {
            Self::Json { path, value, keys } => json::insert(text, path, value, keys),
            Self::Toml { path, value, keys } => toml::insert(text, path, value, keys),
            Self::Hook { event, matcher, handler, subcommand } => {
                json::insert_hook(text, event, *matcher, handler, subcommand)
            }
            Self::Block(block) => block.insert(text),
            Self::Whole(wanted) => Ok(wanted.clone()),
        })
    }

    /// The text without the fragment, and without the created containers that are then empty.
    pub(super) fn remove(&self, text: &str, created_containers: &[String]) -> Result<String, EditError> {
        with_bom(text, |text| match self {
            Self::Json { path, .. } => json::remove(text, path, created_containers),
            Self::Toml { path, .. } => toml::remove(text, path, created_containers),
            Self::Hook { event, subcommand, .. } => json::remove_hook(text, event, subcommand, created_containers),
            Self::Block(block) => block.remove(text),
            Self::Whole(_) => Ok(String::new()),
        })
    }

    /// The containers that must be created to insert the fragment.
    pub(super) fn missing_containers(&self, text: &str) -> Result<Vec<String>, EditError> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let around: Vec<Vec<String>> = match self {
            Self::Json { path, .. } | Self::Toml { path, .. } => (1..path.len()).map(|n| path[..n].to_vec()).collect(),
            Self::Hook { event, .. } => vec![vec!["hooks".into()], vec!["hooks".into(), (*event).to_owned()]],
            Self::Block(_) | Self::Whole(_) => Vec::new(),
        };
        let mut missing = Vec::new();
        for path in around {
            let found = match self {
                Self::Toml { .. } => toml::get(text, &path)?,
                Self::Json { .. } | Self::Hook { .. } | Self::Block(_) | Self::Whole(_) => json::get(text, &path)?,
            };
            if found.is_none() {
                missing.push(path.join("."));
            }
        }
        Ok(missing)
    }

    /// Whether the text has no content, so that a file created by `init` can be deleted.
    pub(super) fn is_blank(&self, text: &str) -> bool {
        match self {
            Self::Json { .. } | Self::Hook { .. } => json::is_blank(text.strip_prefix(BOM).unwrap_or(text)),
            Self::Toml { .. } | Self::Whole(_) => text.trim().is_empty(),
            Self::Block(block) => block.is_blank(text),
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with('o') { "an" } else { "a" }
}

fn with_bom(text: &str, edit: impl FnOnce(&str) -> Result<String, EditError>) -> Result<String, EditError> {
    match text.strip_prefix(BOM) {
        Some(rest) => Ok(format!("{BOM}{}", edit(rest)?)),
        None => edit(text),
    }
}

fn compare_text(found: Option<&str>, wanted: &str) -> FragmentState {
    match found {
        None => FragmentState::Missing,
        Some(found) if found == wanted => FragmentState::UpToDate,
        Some(_) => FragmentState::Different("the text differs".into()),
    }
}

fn compare_keys(found: Option<Value>, wanted: &Value, keys: &[&str]) -> FragmentState {
    let Some(found) = found else { return FragmentState::Missing };
    let different = keys.iter().filter(|key| found.get(**key) != wanted.get(**key));
    let differences: Vec<String> = different
        .map(|key| match (found.get(*key), wanted.get(*key)) {
            (Some(is), Some(wanted)) => format!("{key} is {is}, expected {wanted}"),
            (Some(is), None) => format!("unexpected {key}: {is}"),
            (None, Some(wanted)) => format!("{key} is missing, expected {wanted}"),
            (None, None) => String::new(),
        })
        .collect();
    match (found.is_object(), differences.is_empty()) {
        (true, true) => FragmentState::UpToDate,
        (true, false) => FragmentState::Different(differences.join(", ")),
        (false, _) => FragmentState::Different(format!("found {found}")),
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
