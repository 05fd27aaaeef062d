//! Edits tables in the text of a TOML settings file, keeping comments and order.

use super::{EditError, changed_keys, line_diff::with_original_line_ends, lookup};
use serde::Serialize as _;
use serde_json::Value;
use std::ops::Range;
use toml_edit::{DocumentMut, Item, Table, TableLike, ser::ValueSerializer};

fn syntax_error(text: &str, span: Option<Range<usize>>, message: &str) -> EditError {
    EditError::at(text, span.map_or(0, |span| span.start), message)
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| syntax_error(text, error.span(), error.message()))
}

pub(super) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let document = ::toml::from_str(text).map_err(|error| syntax_error(text, error.span(), error.message()))?;
    lookup(Some(document), path, "table")
}

pub(super) fn insert(text: &str, path: &[&str], value: &Value, keys: &[&str]) -> Result<String, EditError> {
    let current = get(text, path)?.unwrap_or_default();
    let mut document = parse(text)?;
    let Some((name, around)) = path.split_last() else { return Ok(text.to_owned()) };
    let is_first = document.is_empty();
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in around.iter().enumerate() {
        if !at.contains_key(name) {
            // A parent table without values needs no header.
            let mut table = Table::new();
            table.set_implicit(true);
            at.insert(name, Item::Table(table));
        }
        let wrong_type = || EditError::wrong_type(&path[..=depth], "table");
        at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(wrong_type)?;
    }
    // A header is not allowed beside `mcp_servers.other = …` or inside `mcp_servers = { … }`.
    let can_have_headers = at.get_values().is_empty();
    match at.get_mut(name).map(|there| there.as_table_like_mut()) {
        // Additions of the user stay.
        Some(Some(there)) => {
            for key in changed_keys(&current, value, keys) {
                match value.get(key) {
                    Some(new) => there.insert(key, inline(new)),
                    None => there.remove(key),
                };
            }
        }
        None if can_have_headers => drop(at.insert(name, table(value, is_first))),
        Some(None) | None => drop(at.insert(name, inline(value))),
    }
    Ok(with_original_line_ends(text, &document.to_string()))
}

pub(super) fn remove(text: &str, path: &[&str], created_containers: &[String]) -> Result<String, EditError> {
    let mut document = parse(text)?;
    remove_if(&mut document, path, |_| true);
    for container in created_containers.iter().rev() {
        let path: Vec<&str> = container.split('.').collect();
        remove_if(&mut document, &path, |item| item.as_table_like().is_some_and(TableLike::is_empty));
    }
    Ok(with_original_line_ends(text, &document.to_string()))
}

fn remove_if(document: &mut DocumentMut, path: &[&str], condition: impl Fn(&Item) -> bool) {
    let Some((name, around)) = path.split_last() else { return };
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for name in around {
        let Some(inner) = at.get_mut(name).and_then(Item::as_table_like_mut) else { return };
        at = inner;
    }
    if at.get(name).is_some_and(condition) {
        at.remove(name);
    }
}

fn table(value: &Value, is_first: bool) -> Item {
    let mut entries: Vec<_> = value.as_object().into_iter().flatten().collect();
    entries.sort_by_key(|(key, _)| *key != "command");
    let mut table: Table = entries.into_iter().map(|(key, value)| (key, inline(value))).collect();
    table.decor_mut().set_prefix(if is_first { "" } else { "\n" });
    Item::Table(table)
}

fn inline(value: &Value) -> Item {
    // Only null fails, which TOML does not have.
    value.serialize(ValueSerializer::new()).map_or(Item::None, Item::Value)
}
