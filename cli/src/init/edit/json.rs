//! Edits JSON with comments and trailing commas, the format of client settings.

use super::EditError;
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
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

/// The root object. An empty file gets an empty one.
fn object(root: &CstRootNode) -> Result<CstObject, EditError> {
    root.object_value_or_create().ok_or_else(|| wrong_type(&[], "object"))
}

fn wrong_type(path: &[String], needed: &'static str) -> EditError {
    let at = if path.is_empty() { "the file".to_owned() } else { path.join(".") };
    EditError::WrongType { path: at, expected: needed }
}

pub(super) fn get(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    let root = parse(text)?;
    let Some(value) = root.value() else { return Ok(None) };
    let Some(mut value) = value.to_serde_value() else { return Ok(None) };
    if !value.is_object() {
        return Err(wrong_type(&[], "object"));
    }
    for (depth, name) in path.iter().enumerate() {
        let Value::Object(map) = &mut value else { return Err(wrong_type(&path[..depth], "object")) };
        let Some(inner) = map.remove(name) else { return Ok(None) };
        value = inner;
    }
    Ok(Some(value))
}

pub(super) fn insert(text: &str, path: &[String], value: &Value, keys: &[&str]) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some((name, around)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut at = object(&root)?;
    for (depth, name) in around.iter().enumerate() {
        at = at.object_value_or_create(name).ok_or_else(|| wrong_type(&path[..=depth], "object"))?;
    }
    match (at.get(name), at.object_value(name)) {
        (Some(_), Some(there)) => update(&there, value, keys),
        (Some(there), None) => there.set_value(input(value)),
        (None, _) => {
            at.append(name, input(value));
        }
    }
    Ok(root.to_string())
}

/// Updates only `keys`, so that additions of the user stay.
fn update(there: &CstObject, value: &Value, keys: &[&str]) {
    for key in keys {
        match (there.get(key), value.get(*key)) {
            (Some(old), Some(new)) => {
                if old.value().and_then(|old| old.to_serde_value()).as_ref() != Some(new) {
                    old.set_value(input(new));
                }
            }
            (Some(old), None) => old.remove(),
            (None, Some(new)) => {
                there.append(key, input(new));
            }
            (None, None) => {}
        }
    }
}

pub(super) fn remove(text: &str, path: &[String], created_containers: &[String]) -> Result<String, EditError> {
    let root = parse(text)?;
    if let Some(found) = find_property(&root, path) {
        found.remove();
    }
    prune(&root, created_containers);
    Ok(root.to_string())
}

fn find_property(root: &CstRootNode, path: &[String]) -> Option<CstObjectProp> {
    let (name, around) = path.split_last()?;
    let mut at = root.object_value()?;
    for name in around {
        at = at.object_value(name)?;
    }
    at.get(name)
}

/// Removes containers that `init` created_containers and that are now empty, the innermost first.
fn prune(root: &CstRootNode, created_containers: &[String]) {
    for path in created_containers.iter().rev() {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
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
    let path = ["hooks".to_owned(), event.to_owned()];
    let Some(groups) = get(text, &path)? else { return Ok(None) };
    let Value::Array(groups) = groups else { return Err(wrong_type(&path, "list")) };
    let ours = groups.into_iter().find_map(|group| {
        let handler = group["hooks"].as_array()?.iter().find(|handler| is_ours(handler, subcommand))?.clone();
        Some(self::group(group["matcher"].as_str(), &handler))
    });
    Ok(ours)
}

fn is_ours(handler: &Value, subcommand: &str) -> bool {
    handler["command"].as_str().is_some_and(|command| command.contains("countersign") && command.contains(subcommand))
}

pub(super) fn insert_hook(
    text: &str,
    event: &str,
    matcher: Option<&str>,
    handler: &Value,
    subcommand: &str,
) -> Result<String, EditError> {
    let text = remove_hook(text, event, subcommand, &[])?;
    let root = parse(&text)?;
    let path = ["hooks".to_owned(), event.to_owned()];
    let hooks = object(&root)?.object_value_or_create("hooks").ok_or_else(|| wrong_type(&path[..1], "object"))?;
    let list = hooks.array_value_or_create(event).ok_or_else(|| wrong_type(&path, "list"))?;
    list.append(input(&group(matcher, handler)));
    Ok(root.to_string())
}

pub(super) fn remove_hook(
    text: &str,
    event: &str,
    subcommand: &str,
    created_containers: &[String],
) -> Result<String, EditError> {
    let root = parse(text)?;
    if let Some(list) =
        find_property(&root, &["hooks".to_owned(), event.to_owned()]).and_then(|prop| prop.array_value())
    {
        for group in list.elements() {
            remove_from_group(&group, subcommand);
        }
    }
    prune(&root, created_containers);
    Ok(root.to_string())
}

fn remove_from_group(group: &CstNode, subcommand: &str) {
    let Some(handlers) = group.as_object().and_then(|group| group.array_value("hooks")) else { return };
    let ours = |handlers: &CstArray| {
        let is_ours = |handler: &CstNode| handler.to_serde_value().is_some_and(|value| is_ours(&value, subcommand));
        handlers.elements().into_iter().find(is_ours)
    };
    let mut found = false;
    while let Some(handler) = ours(&handlers) {
        handler.remove();
        found = true;
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
