//! Edits the text of a JSON settings file, in which comments and trailing commas are allowed, and preserves the rest.

use super::{EditError, changed_keys, lookup};
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::{Map, Value, json};

/// Accepts what the clients' own parsers accept.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &options())
        .map_err(|error| EditError::at(text, error.range().start, error.kind().to_string()))
}

pub(super) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    lookup(parse(text)?.value().and_then(|value| value.to_serde_value()), path, "object")
}

/// The object at `path`. It is created if it is missing.
fn object(root: &CstRootNode, path: &[&str]) -> Result<CstObject, EditError> {
    let mut at = root.object_value_or_create().ok_or_else(|| EditError::wrong_type(&[], "object"))?;
    for (depth, name) in path.iter().enumerate() {
        let object = at.object_value_or_create(name);
        at = object.ok_or_else(|| EditError::wrong_type(&path[..=depth], "object"))?;
    }
    Ok(at)
}

pub(super) fn insert(text: &str, path: &[&str], value: &Value, keys: &[&str]) -> Result<String, EditError> {
    let current = get(text, path)?.unwrap_or_default();
    let root = parse(text)?;
    let Some((name, around)) = path.split_last() else { return Ok(text.to_owned()) };
    let at = object(&root, around)?;
    match (at.get(name), at.object_value(name)) {
        // Additions of the user stay.
        (Some(_), Some(there)) => {
            for key in changed_keys(&current, value, keys) {
                match (there.get(key), value.get(key)) {
                    (Some(old), Some(new)) => old.set_value(input(new)),
                    (Some(old), None) => old.remove(),
                    (None, Some(new)) => drop(there.append(key, input(new))),
                    (None, None) => {}
                }
            }
        }
        (Some(there), None) => there.set_value(input(value)),
        (None, _) => drop(at.append(name, input(value))),
    }
    Ok(root.to_string())
}

pub(super) fn remove(text: &str, path: &[&str], created_containers: &[String]) -> Result<String, EditError> {
    let root = parse(text)?;
    if let Some(found) = find_property(&root, path) {
        found.remove();
    }
    prune(&root, created_containers);
    Ok(root.to_string())
}

fn find_property(root: &CstRootNode, path: &[&str]) -> Option<CstObjectProp> {
    let (name, around) = path.split_last()?;
    let mut at = root.object_value()?;
    for name in around {
        at = at.object_value(name)?;
    }
    at.get(name)
}

/// Removes containers that `init` created and that are now empty, the innermost first.
fn prune(root: &CstRootNode, created_containers: &[String]) {
    for path in created_containers.iter().rev() {
        let path: Vec<&str> = path.split('.').collect();
        let Some(found) = find_property(root, &path) else { continue };
        let is_empty = match (found.object_value(), found.array_value()) {
            (Some(object), _) => object.properties().is_empty(),
            (None, Some(array)) => array.elements().is_empty(),
            (None, None) => false,
        };
        if is_empty {
            found.remove();
        }
    }
}

/// An entry in the hook list of an event: a matcher and a handler.
pub(super) fn group(matcher: Option<&str>, handler: &Value) -> Value {
    match matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": [handler] }),
        None => json!({ "hooks": [handler] }),
    }
}

pub(super) fn get_hook(text: &str, event: &str, subcommand: &str) -> Result<Option<Value>, EditError> {
    let path = ["hooks", event];
    let Some(groups) = get(text, &path)? else { return Ok(None) };
    let Value::Array(groups) = groups else { return Err(EditError::wrong_type(&path, "list")) };
    let ours = groups.into_iter().find_map(|group| {
        let handler = group["hooks"].as_array()?.iter().find(|handler| is_ours(handler, subcommand))?.clone();
        Some(self::group(group["matcher"].as_str(), &handler))
    });
    Ok(ours)
}

fn is_ours(handler: &Value, subcommand: &str) -> bool {
    handler["command"].as_str().is_some_and(|command| command.contains("countersign") && command.contains(subcommand))
}

pub(super) fn insert_hook(text: &str, event: &str, group: &Value, subcommand: &str) -> Result<String, EditError> {
    let text = remove_hook(text, event, subcommand, &[])?;
    let root = parse(&text)?;
    let list = object(&root, &["hooks"])?.array_value_or_create(event);
    let list = list.ok_or_else(|| EditError::wrong_type(&["hooks", event], "list"))?;
    list.append(input(group));
    Ok(root.to_string())
}

pub(super) fn remove_hook(
    text: &str,
    event: &str,
    subcommand: &str,
    created_containers: &[String],
) -> Result<String, EditError> {
    let root = parse(text)?;
    let list = find_property(&root, &["hooks", event]).and_then(|property| property.array_value());
    for group in list.map(|list| list.elements()).unwrap_or_default() {
        remove_from_group(&group, subcommand);
    }
    prune(&root, created_containers);
    Ok(root.to_string())
}

fn remove_from_group(group: &CstNode, subcommand: &str) {
    let Some(handlers) = group.as_object().and_then(|group| group.array_value("hooks")) else { return };
    let is_ours = |handler: &CstNode| handler.to_serde_value().is_some_and(|value| is_ours(&value, subcommand));
    let ours: Vec<CstNode> = handlers.elements().into_iter().filter(is_ours).collect();
    let found = !ours.is_empty();
    for handler in ours {
        handler.remove();
    }
    if found && handlers.elements().is_empty() {
        group.clone().remove();
    }
}

/// Whether the text contains only empty objects and lists, and no comments.
pub(super) fn is_blank(text: &str) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Object(map) => map.values().all(is_empty),
            Value::Array(list) => list.iter().all(is_empty),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    text.trim().is_empty() || serde_json::from_str::<Value>(text).is_ok_and(|value| is_empty(&value))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(ordered(map)),
    }
}

/// The entries in conventional order: `type` first, then `command`.
fn ordered(map: &Map<String, Value>) -> Vec<(String, CstInputValue)> {
    const FIRST: [&str; 5] = ["type", "matcher", "command", "args", "hooks"];
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| rank(key));
    entries.into_iter().map(|(key, value)| (key.clone(), input(value))).collect()
}
