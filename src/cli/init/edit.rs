//! Edits of other people's files, on paper: the old text in, the new text out.
//!
//! Everything that is not ours comes out as it went in: comments, order, indentation, line ends, a byte order mark.

mod json;
mod line_diff;
mod marked_block;
mod toml;

pub(super) use line_diff::{Splice, splices, undo, unified};
pub(super) use marked_block::{BlockPosition, MarkedBlock, Markers};

use serde_json::Value;

const BOM: char = '\u{feff}';

/// Why a text is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("line {line}, column {column}: {what}")]
    Unreadable { line: usize, column: usize, what: String },
    #[error("`{at}` is no {needed}")]
    Shape { at: String, needed: &'static str },
    #[error("line {line}: the mark `{mark}` has no end")]
    OpenMark { line: usize, mark: &'static str },
}

impl EditError {
    /// Something wrong at this byte.
    fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self::Unreadable { line, column: before[start..].chars().count() + 1, what: what.into() }
    }
}

/// Something in a file that is ours.
#[derive(Debug, Clone)]
pub(super) enum Fragment {
    /// An object in JSON, with or without comments. Of what stands there, only `keys` are ours to judge and change.
    Json { path: Vec<String>, value: Value, keys: &'static [&'static str] },
    /// A command in the lists of hooks that Claude Code and Codex share, told by how it ends.
    Hook { event: &'static str, matcher: Option<&'static str>, handler: Value, ending: &'static str },
    /// The same as [`Fragment::Json`] as a table in TOML.
    Toml { path: Vec<String>, value: Value, keys: &'static [&'static str] },
    /// Lines between two markers.
    Block(MarkedBlock),
    /// All of the file.
    Whole(String),
}

/// How a piece stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FragmentState {
    Missing,
    UpToDate,
    /// What is different, in words.
    Different(String),
}

impl Fragment {
    /// A name that stays the same from version to version.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Json { path, .. } | Self::Toml { path, .. } => path.join("."),
            Self::Hook { event, .. } => format!("hooks.{event}"),
            Self::Block(_) => "block".into(),
            Self::Whole(_) => "file".into(),
        }
    }

    /// All that stands there now in its place, in a form that can be compared.
    pub(super) fn read(&self, text: &str) -> Result<Option<String>, EditError> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        Ok(match self {
            Self::Json { path, .. } => json::read(text, path)?.map(|value| value.to_string()),
            Self::Toml { path, .. } => toml::read(text, path)?.map(|value| value.to_string()),
            Self::Hook { event, ending, .. } => json::read_hook(text, event, ending)?.map(|group| group.to_string()),
            Self::Block(block) => block.read(text)?,
            Self::Whole(_) => (!text.is_empty()).then(|| text.to_owned()),
        })
    }

    pub(super) fn stands(&self, text: &str) -> Result<FragmentState, EditError> {
        let bare = text.strip_prefix(BOM).unwrap_or(text);
        Ok(match self {
            Self::Json { path, value, keys } => compared(json::read(bare, path)?, value, keys),
            Self::Toml { path, value, keys } => compared(toml::read(bare, path)?, value, keys),
            Self::Hook { event, matcher, handler, ending } => {
                compared(json::read_hook(bare, event, ending)?, &json::group(*matcher, handler), &["matcher", "hooks"])
            }
            Self::Block(block) => said(block.read(bare)?.as_deref(), &block.body),
            Self::Whole(wanted) => said(Some(bare).filter(|bare| !bare.is_empty()), wanted),
        })
    }

    /// Whether what was [read](Self::read) calls the same program as what is wanted, whatever else is different.
    pub(super) fn has_same_program(&self, read: &str) -> bool {
        let now: Value = serde_json::from_str(read).unwrap_or_default();
        let before_hook = |group: &Value| {
            let command = group["hooks"][0]["command"].as_str()?;
            command.split_once(" hook ").map(|(program, _)| program.to_owned())
        };
        match self {
            // An address is no program.
            Self::Json { value, .. } | Self::Toml { value, .. } => {
                now.get("command").is_none() || value.get("command").is_none() || now["command"] == value["command"]
            }
            Self::Hook { matcher, handler, .. } => before_hook(&now) == before_hook(&json::group(*matcher, handler)),
            Self::Block(block) => block.markers == Markers::SHELL && read.lines().next() == block.body.lines().next(),
            Self::Whole(_) => false,
        }
    }

    /// The text with the piece as it is wanted.
    pub(super) fn put(&self, text: &str) -> Result<String, EditError> {
        if self.stands(text)? == FragmentState::UpToDate {
            return Ok(text.to_owned());
        }
        with_bom(text, |text| match self {
            Self::Json { path, value, keys } => json::put(text, path, value, keys),
            Self::Toml { path, value, keys } => toml::put(text, path, value, keys),
            Self::Hook { event, matcher, handler, ending } => json::put_hook(text, event, *matcher, handler, ending),
            Self::Block(block) => block.put(text),
            Self::Whole(wanted) => Ok(wanted.clone()),
        })
    }

    /// The text without the piece, and without those of `made` that hold nothing any more.
    pub(super) fn cut(&self, text: &str, made: &[String]) -> Result<String, EditError> {
        with_bom(text, |text| match self {
            Self::Json { path, .. } => json::cut(text, path, made),
            Self::Toml { path, .. } => toml::cut(text, path, made),
            Self::Hook { event, ending, .. } => json::cut_hook(text, event, ending, made),
            Self::Block(block) => block.cut(text),
            Self::Whole(_) => Ok(String::new()),
        })
    }

    /// What it has to make around itself where it is not there.
    pub(super) fn containers(&self, text: &str) -> Result<Vec<String>, EditError> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let around: Vec<Vec<String>> = match self {
            Self::Json { path, .. } | Self::Toml { path, .. } => (1..path.len()).map(|n| path[..n].to_vec()).collect(),
            Self::Hook { event, .. } => vec![vec!["hooks".into()], vec!["hooks".into(), (*event).to_owned()]],
            Self::Block(_) | Self::Whole(_) => Vec::new(),
        };
        let mut missing = Vec::new();
        for path in around {
            let there = match self {
                Self::Toml { .. } => toml::read(text, &path)?,
                Self::Json { .. } | Self::Hook { .. } | Self::Block(_) | Self::Whole(_) => json::read(text, &path)?,
            };
            if there.is_none() {
                missing.push(path.join("."));
            }
        }
        Ok(missing)
    }

    /// Whether a text without it says nothing.
    pub(super) fn is_nothing(&self, text: &str) -> bool {
        match self {
            Self::Json { .. } | Self::Hook { .. } => json::is_nothing(text.strip_prefix(BOM).unwrap_or(text)),
            Self::Toml { .. } | Self::Whole(_) => text.trim().is_empty(),
            Self::Block(block) => block.is_nothing(text),
        }
    }
}

fn with_bom(text: &str, edit: impl FnOnce(&str) -> Result<String, EditError>) -> Result<String, EditError> {
    match text.strip_prefix(BOM) {
        Some(rest) => Ok(format!("{BOM}{}", edit(rest)?)),
        None => edit(text),
    }
}

fn said(there: Option<&str>, wanted: &str) -> FragmentState {
    match there {
        None => FragmentState::Missing,
        Some(there) if there == wanted => FragmentState::UpToDate,
        Some(_) => FragmentState::Different("its text is another".into()),
    }
}

fn compared(there: Option<Value>, wanted: &Value, keys: &[&str]) -> FragmentState {
    let Some(there) = there else { return FragmentState::Missing };
    let different = keys.iter().filter(|key| there.get(**key) != wanted.get(**key));
    let words: Vec<String> = different
        .map(|key| match (there.get(*key), wanted.get(*key)) {
            (Some(is), Some(wanted)) => format!("{key} is {is}, not {wanted}"),
            (Some(is), None) => format!("{key} is {is}"),
            (None, Some(wanted)) => format!("{key} is missing ({wanted})"),
            (None, None) => String::new(),
        })
        .collect();
    match (there.is_object(), words.is_empty()) {
        (true, true) => FragmentState::UpToDate,
        (true, false) => FragmentState::Different(words.join(", ")),
        (false, _) => FragmentState::Different(format!("it is {there}")),
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
