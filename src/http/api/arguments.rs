//! Path, query and body together are the arguments of a tool.

use super::routes::Operation;
use crate::mcp::Malformed;
use axum::{
    extract::Query,
    http::{HeaderName, request::Parts},
};
use rmcp::model::JsonObject;
use serde_json::Value;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

pub(super) fn read(
    operation: &Operation,
    path: Vec<(String, String)>,
    parts: &Parts,
    body: &[u8],
) -> Result<JsonObject, Malformed> {
    let query = in_query(parts)?;
    let mut arguments = if operation.takes_body() {
        if let Some(name) = query.keys().next() {
            return Err(malformed(name, "give it in the body, which is a JSON object; this call takes no query"));
        }
        in_body(body)?
    } else {
        query
    };
    for (name, value) in path {
        if arguments.contains_key(&name) {
            return Err(malformed(&name, "the path says it already"));
        }
        arguments.insert(name, value.into());
    }
    if let Some(name) = operation.without.iter().find(|name| arguments.contains_key(**name)) {
        return Err(malformed(name, "unknown field; it has no meaning here"));
    }
    if let Some(key) = parts.headers.get(IDEMPOTENCY_KEY).filter(|_| takes_key(operation)) {
        let key = key.to_str().map_err(|_| malformed(IDEMPOTENCY_KEY.as_str(), "expected printable ASCII"))?;
        let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        let before = arguments.insert("idempotency_key".into(), key.into());
        if before.is_some_and(|before| before != key) {
            return Err(malformed("idempotency_key", "the header Idempotency-Key gives another"));
        }
    }
    Ok(arguments)
}

/// Whether a repeat of the call is recognised by a key.
pub(super) fn takes_key(operation: &Operation) -> bool {
    operation.tool() == Some(crate::mcp::Tool::CreateReview)
}

/// A name that comes more than once is a list.
fn in_query(parts: &Parts) -> Result<JsonObject, Malformed> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(pairs) = pairs.map_err(|_| malformed("query", "expected name=value, with & between them"))?;
    let mut arguments = JsonObject::new();
    for (name, value) in pairs {
        let value = Value::String(value);
        match arguments.get_mut(&name) {
            None => drop(arguments.insert(name, value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(arguments)
}

/// Nothing is as good as an empty object.
fn in_body(body: &[u8]) -> Result<JsonObject, Malformed> {
    if body.trim_ascii().is_empty() {
        return Ok(JsonObject::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(malformed("body", "expected a JSON object"))
        }
        Err(error) => Err(malformed("body", &format!("not JSON: {error}"))),
    }
}

pub(super) fn malformed(field: &str, problem: &str) -> Malformed {
    Malformed { field: domain::text::truncate(field, 100).to_owned(), problem: problem.to_owned() }
}
