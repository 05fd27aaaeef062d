//! Values in the results of tools, and in the arguments of the next call.

use std::collections::VecDeque;

use serde_json::{Map, Value};

/// The nearest `key` that is not null in a result: breadth first through JSON anywhere in the
/// text, and through strings in it that are JSON themselves.
pub(super) fn find(result: &str, key: &str) -> Option<Value> {
    let mut queue = VecDeque::from(json_in(result));
    while let Some(value) = queue.pop_front() {
        match value {
            Value::Object(mut fields) => match fields.remove(key) {
                Some(Value::Null) | None => queue.extend(fields.into_iter().map(|(_, field)| field)),
                Some(found) => return Some(found),
            },
            Value::Array(items) => queue.extend(items),
            Value::String(text) => queue.extend(serde_json::from_str::<Value>(&text).ok().filter(is_nested)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    None
}

/// The JSON objects and arrays in a text, which clients wrap in words of their own.
fn json_in(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let past = match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                values.byte_offset()
            }
            Some(Err(_)) | None => 1,
        };
        rest = &rest[at + past..];
    }
    found
}

fn is_nested(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Puts values in the place of `${name}`; a string that is nothing else takes the value's type.
pub(super) fn fill(template: &Value, vars: &Map<String, Value>) -> Result<Value, String> {
    Ok(match template {
        Value::String(text) => fill_text(text, vars)?,
        Value::Array(items) => items.iter().map(|item| fill(item, vars)).collect::<Result<_, _>>()?,
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| Ok((name.clone(), fill(field, vars)?)))
            .collect::<Result<Map<_, _>, String>>()?
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    })
}

fn fill_text(text: &str, vars: &Map<String, Value>) -> Result<Value, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_blank(rest) {
        let value = vars.get(name).ok_or_else(|| format!("nothing is saved as {name}"))?;
        if name.len() + "${}".len() == text.len() {
            return Ok(value.clone());
        }
        filled.push_str(before);
        filled.push_str(&plain(value));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled.into())
}

fn next_blank(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
