//! Pure text edits for `init`: take the old text of a file, return the new one.
//!
//! Everything that does not belong to Countersign is preserved: comments, order, indentation, line endings, a byte order
//! mark.

mod json;
mod line_diff;
mod marked_block;
mod toml;

pub(super) use line_diff::{Splice, splices, undo, unified};
pub(super) use marked_block::{BlockPosition, MarkedBlock, SHELL_BEGIN};

use serde_json::Value;

const BOM: char = '\u{feff}';

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("line {line}, column {column}: {what}")]
    Syntax { line: usize, column: usize, what: String },
    #[error("expected {path} to be {expected}")]
    WrongType { path: String, expected: String },
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

    fn wrong_type(path: &[&str], expected: &str) -> Self {
        let path = if path.is_empty() { "the file".to_owned() } else { path.join(".") };
        let article = if expected.starts_with('o') { "an" } else { "a" };
        Self::WrongType { path, expected: format!("{article} {expected}") }
    }
}

/// A part of a file that `init` manages.
#[derive(Debug, Clone)]
pub(super) enum Fragment {
    /// An object in JSON with comments. Only `keys` are compared and changed.
    Json { path: Vec<&'static str>, value: Value, keys: &'static [&'static str] },
    /// A handler in the hook lists of Claude Code and Codex, recognized by its subcommand.
    Hook { event: &'static str, matcher: Option<&'static str>, handler: Value, subcommand: &'static str },
    /// Like [`Fragment::Json`], as a table in TOML.
    Toml { path: Vec<&'static str>, value: Value, keys: &'static [&'static str] },
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

    /// The fragment as it is in the text now.
    pub(super) fn current(&self, text: &str) -> Result<Option<Value>, EditError> {
        let (_, text) = split_bom(text);
        Ok(match self {
            Self::Json { path, .. } => json::get(text, path)?,
            Self::Toml { path, .. } => toml::get(text, path)?,
            Self::Hook { event, subcommand, .. } => json::get_hook(text, event, subcommand)?,
            Self::Block(block) => block.body_in(text)?.map(Value::from),
            Self::Whole(_) => (!text.is_empty()).then(|| text.into()),
        })
    }

    /// The wanted fragment, comparable with the [current](Self::current) one.
    fn wanted(&self) -> Value {
        match self {
            Self::Json { value, .. } | Self::Toml { value, .. } => value.clone(),
            Self::Hook { matcher, handler, .. } => json::group(*matcher, handler),
            Self::Block(MarkedBlock { body: text, .. }) | Self::Whole(text) => text.as_str().into(),
        }
    }

    pub(super) fn state(&self, text: &str) -> Result<FragmentState, EditError> {
        let keys = match self {
            Self::Json { keys, .. } | Self::Toml { keys, .. } => keys,
            Self::Hook { .. } | Self::Block(_) | Self::Whole(_) => ["matcher", "hooks"].as_slice(),
        };
        Ok(self.current(text)?.map_or(FragmentState::Missing, |found| compare(&found, &self.wanted(), keys)))
    }

    /// Whether the [current](Self::current) fragment calls the same program as the wanted one.
    pub(super) fn has_same_program(&self, current: &Value) -> bool {
        let program = |fragment: &Value| match self {
            Self::Json { .. } | Self::Toml { .. } => fragment["command"].as_str().map(str::to_owned),
            Self::Hook { .. } => {
                let command = fragment["hooks"][0]["command"].as_str()?;
                command.split_once(" hook ").map(|(program, _)| program.to_owned())
            }
            Self::Block(block) => {
                let is_script = block.position == BlockPosition::AfterShebang;
                fragment.as_str()?.lines().next().filter(|_| is_script).map(str::to_owned)
            }
            Self::Whole(_) => None,
        };
        match (program(current), program(&self.wanted())) {
            (Some(current), Some(wanted)) => current == wanted,
            // An entry with an address has no program.
            (_, None) | (None, _) => matches!(self, Self::Json { .. } | Self::Toml { .. }),
        }
    }

    /// The text with the wanted fragment.
    pub(super) fn insert(&self, text: &str) -> Result<String, EditError> {
        if self.state(text)? == FragmentState::UpToDate {
            return Ok(text.to_owned());
        }
        let (bom, text) = split_bom(text);
        let edited = match self {
            Self::Json { path, value, keys } => json::insert(text, path, value, keys)?,
            Self::Toml { path, value, keys } => toml::insert(text, path, value, keys)?,
            Self::Hook { event, subcommand, .. } => json::insert_hook(text, event, &self.wanted(), subcommand)?,
            Self::Block(block) => block.insert(text)?,
            Self::Whole(wanted) => wanted.clone(),
        };
        Ok(format!("{bom}{edited}"))
    }

    /// The text without the fragment, and without the created containers that are then empty.
    pub(super) fn remove(&self, text: &str, created_containers: &[String]) -> Result<String, EditError> {
        let (bom, text) = split_bom(text);
        let edited = match self {
            Self::Json { path, .. } => json::remove(text, path, created_containers)?,
            Self::Toml { path, .. } => toml::remove(text, path, created_containers)?,
            Self::Hook { event, subcommand, .. } => json::remove_hook(text, event, subcommand, created_containers)?,
            Self::Block(block) => block.remove(text)?,
            Self::Whole(_) => String::new(),
        };
        Ok(format!("{bom}{edited}"))
    }

    /// The containers that must be created to insert the fragment.
    pub(super) fn missing_containers(&self, text: &str) -> Result<Vec<String>, EditError> {
        let (_, text) = split_bom(text);
        let around = match self {
            Self::Json { path, .. } | Self::Toml { path, .. } => path[..path.len() - 1].to_vec(),
            Self::Hook { event, .. } => vec!["hooks", event],
            Self::Block(_) | Self::Whole(_) => Vec::new(),
        };
        let get = if matches!(self, Self::Toml { .. }) { toml::get } else { json::get };
        let mut missing = Vec::new();
        for depth in 1..=around.len() {
            if get(text, &around[..depth])?.is_none() {
                missing.push(around[..depth].join("."));
            }
        }
        Ok(missing)
    }

    /// Whether the text has no content, so that a file created by `init` can be deleted.
    pub(super) fn is_blank(&self, text: &str) -> bool {
        match self {
            Self::Json { .. } | Self::Hook { .. } => json::is_blank(split_bom(text).1),
            Self::Toml { .. } | Self::Whole(_) => text.trim().is_empty(),
            Self::Block(block) => block.is_blank(text),
        }
    }
}

/// The JSON text with another value of a key at the top.
pub(super) fn set_json_key(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let (bom, text) = split_bom(text);
    Ok(format!("{bom}{}", json::insert(text, &[key], value, &[])?))
}

/// The byte order mark, if there is one, and the rest.
fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

/// The value at `path` of a parsed file.
fn lookup(document: Option<Value>, path: &[&str], container: &str) -> Result<Option<Value>, EditError> {
    let Some(mut value) = document else { return Ok(None) };
    for (depth, name) in path.iter().enumerate() {
        let Value::Object(map) = &mut value else { return Err(EditError::wrong_type(&path[..depth], container)) };
        let Some(inner) = map.remove(*name) else { return Ok(None) };
        value = inner;
    }
    Ok(Some(value))
}

/// Those of `keys` whose values differ.
fn changed_keys<'a>(found: &Value, wanted: &Value, keys: &[&'a str]) -> Vec<&'a str> {
    keys.iter().copied().filter(|key| found.get(key) != wanted.get(key)).collect()
}

fn compare(found: &Value, wanted: &Value, keys: &[&str]) -> FragmentState {
    if wanted.is_string() && found != wanted {
        return FragmentState::Different("the text differs".into());
    }
    if wanted.is_object() && !found.is_object() {
        return FragmentState::Different(format!("found {found}"));
    }
    let differences =
        changed_keys(found, wanted, keys).into_iter().map(|key| match (found.get(key), wanted.get(key)) {
            (Some(is), Some(wanted)) => format!("{key} is {is}, expected {wanted}"),
            (Some(is), None) => format!("unexpected {key}: {is}"),
            (None, wanted) => format!("{key} is missing, expected {}", wanted.unwrap_or_default()),
        });
    match differences.collect::<Vec<_>>() {
        none if none.is_empty() => FragmentState::UpToDate,
        differences => FragmentState::Different(differences.join(", ")),
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
