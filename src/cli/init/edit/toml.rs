//! Tables in TOML.

use super::{EditError, line_diff::woven};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

fn parsed(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        EditError::at(text, offset, error.message().to_owned())
    })
}

pub(super) fn read(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    let document = parsed(text)?;
    let mut item = document.as_item();
    for name in path {
        let Some(inner) = item.as_table_like().and_then(|table| table.get(name)) else { return Ok(None) };
        item = inner;
    }
    Ok(Some(value(item)))
}

pub(super) fn put(text: &str, path: &[String], value: &Value, keys: &[&str]) -> Result<String, EditError> {
    let mut document = parsed(text)?;
    let Some((name, around)) = path.split_last() else { return Ok(text.to_owned()) };
    let is_first = document.is_empty();
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in around.iter().enumerate() {
        if !at.contains_key(name) {
            // Only the tables below it get a header.
            let mut table = Table::new();
            table.set_implicit(true);
            at.insert(name, Item::Table(table));
        }
        let shape = || EditError::Shape { at: path[..=depth].join("."), needed: "table" };
        at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(shape)?;
    }
    let can_have_headers = at.get_values().is_empty();
    match at.get_mut(name) {
        Some(there) => match there.as_table_like_mut() {
            Some(there) => change(there, value, keys),
            None => *there = Item::Value(inline(value)),
        },
        // Beside `mcp_servers.other = …` or in `mcp_servers = { … }` a header would be an error.
        None if !can_have_headers => {
            at.insert(name, Item::Value(inline(value)));
        }
        None => {
            at.insert(name, Item::Table(table(value, is_first)));
        }
    }
    Ok(woven(text, &document.to_string()))
}

/// Only what is ours in it, so that what the user has added stays.
fn change(there: &mut dyn TableLike, value: &Value, keys: &[&str]) {
    for key in keys {
        match (there.get_mut(key), value.get(*key)) {
            (Some(old), Some(new)) if self::value(old) == *new => {}
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

pub(super) fn cut(text: &str, path: &[String], made: &[String]) -> Result<String, EditError> {
    let mut document = parsed(text)?;
    remove(&mut document, path, |_| true);
    for made in made.iter().rev() {
        let path: Vec<String> = made.split('.').map(str::to_owned).collect();
        remove(&mut document, &path, |item| item.as_table_like().is_some_and(TableLike::is_empty));
    }
    Ok(woven(text, &document.to_string()))
}

fn remove(document: &mut DocumentMut, path: &[String], fits: impl Fn(&Item) -> bool) {
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
        // TOML has none.
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

/// As JSON, to be compared.
fn value(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), value(item))).collect());
    }
    item.as_value().map_or(Value::Null, plain)
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(yes) => Value::from(*yes.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(list) => list.iter().map(plain).collect(),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect())
        }
    }
}
