//! Edits tables in TOML files, keeping comments and order.

use super::{EditError, line_diff::with_original_line_ends};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        EditError::at(text, offset, error.message().to_owned())
    })
}

pub(super) fn get(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    let document = parse(text)?;
    let mut item = document.as_item();
    for name in path {
        let Some(inner) = item.as_table_like().and_then(|table| table.get(name)) else { return Ok(None) };
        item = inner;
    }
    Ok(Some(to_json(item)))
}

pub(super) fn insert(text: &str, path: &[String], value: &Value, keys: &[&str]) -> Result<String, EditError> {
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
        let wrong_type = || EditError::WrongType { path: path[..=depth].join("."), expected: "table" };
        at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(wrong_type)?;
    }
    let can_have_headers = at.get_values().is_empty();
    match at.get_mut(name) {
        Some(there) => match there.as_table_like_mut() {
            Some(there) => update(there, value, keys),
            None => *there = Item::Value(inline(value)),
        },
        // A header is not allowed beside `mcp_servers.other = …` or inside `mcp_servers = { … }`.
        None if !can_have_headers => {
            at.insert(name, Item::Value(inline(value)));
        }
        None => {
            at.insert(name, Item::Table(table(value, is_first)));
        }
    }
    Ok(with_original_line_ends(text, &document.to_string()))
}

/// Updates only `keys`, so that additions of the user stay.
fn update(there: &mut dyn TableLike, value: &Value, keys: &[&str]) {
    for key in keys {
        match (there.get_mut(key), value.get(*key)) {
            (Some(old), Some(new)) if self::to_json(old) == *new => {}
            (Some(old), Some(new)) => *old = Item::Value(inline(new)),
            (Some(_), None) => {
                there.remove(key);
            }
            (None, Some(new)) => {
                there.insert(key, Item::Value(inline(new)));
            }
            (None, None) => {}
        }
    }
}

pub(super) fn remove(text: &str, path: &[String], created_containers: &[String]) -> Result<String, EditError> {
    let mut document = parse(text)?;
    remove_if(&mut document, path, |_| true);
    for container in created_containers.iter().rev() {
        let path: Vec<String> = container.split('.').map(str::to_owned).collect();
        remove_if(&mut document, &path, |item| item.as_table_like().is_some_and(TableLike::is_empty));
    }
    Ok(with_original_line_ends(text, &document.to_string()))
}

fn remove_if(document: &mut DocumentMut, path: &[String], fits: impl Fn(&Item) -> bool) {
    let Some((name, around)) = path.split_last() else { return };
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for name in around {
        let Some(inner) = at.get_mut(name).and_then(Item::as_table_like_mut) else { return };
        at = inner;
    }
    if at.get(name).is_some_and(fits) {
        at.remove(name);
    }
}

fn table(value: &Value, is_first: bool) -> Table {
    let mut table = Table::new();
    let nothing = Map::new();
    let mut entries: Vec<_> = value.as_object().unwrap_or(&nothing).iter().collect();
    entries.sort_by_key(|(key, _)| *key != "command");
    for (key, value) in entries {
        table.insert(key, Item::Value(inline(value)));
    }
    table.decor_mut().set_prefix(if is_first { "" } else { "\n" });
    table
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null.
        Value::Null => "".into(),
        Value::Bool(yes) => (*yes).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => list.iter().map(inline).collect::<Array>().into(),
        Value::Object(map) => map.iter().map(|(key, value)| (key, inline(value))).collect::<InlineTable>().into(),
    }
}

/// Converts to JSON for comparison.
fn to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), to_json(item))).collect());
    }
    item.as_value().map_or(Value::Null, scalar_to_json)
}

fn scalar_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(yes) => Value::from(*yes.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(list) => list.iter().map(scalar_to_json).collect(),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), scalar_to_json(value))).collect())
        }
    }
}
