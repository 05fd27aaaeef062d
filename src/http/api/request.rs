//! Reads the arguments of an operation from path, query, body and headers.

use api::{OperationId, Route, decode::Malformed};
use axum::{
    extract::Query,
    http::{HeaderName, request::Parts},
};
use serde_json::{Map, Value};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

pub(super) fn arguments(
    route: &Route,
    path: Vec<(String, String)>,
    parts: &Parts,
    body: &[u8],
) -> Result<Map<String, Value>, Malformed> {
    let query = from_query(parts)?;
    let mut arguments = if route.takes_body() {
        if let Some(name) = query.keys().next() {
            return Err(Malformed::new(name, "this call takes no query; give it in the JSON body"));
        }
        from_body(body)?
    } else {
        query
    };
    for (name, value) in path {
        if arguments.contains_key(&name) {
            return Err(Malformed::new(&name, "already given in the path"));
        }
        arguments.insert(name, value.into());
    }
    if let Some(name) = route.omitted.iter().find(|name| arguments.contains_key(**name)) {
        return Err(Malformed::new(name, "unknown field; this route does not take it"));
    }
    if let Some(key) = parts.headers.get(IDEMPOTENCY_KEY).filter(|_| route.operation == OperationId::CreateReview) {
        let key = key.to_str().map_err(|_| Malformed::new(IDEMPOTENCY_KEY.as_str(), "expected printable ASCII"))?;
        let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        let before = arguments.insert("idempotency_key".into(), key.into());
        if before.is_some_and(|before| before != key) {
            return Err(Malformed::new("idempotency_key", "differs from the Idempotency-Key header"));
        }
    }
    Ok(arguments)
}

/// A name that occurs more than once becomes a list.
fn from_query(parts: &Parts) -> Result<Map<String, Value>, Malformed> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(pairs) = pairs.map_err(|_| Malformed::new("query", "expected name=value pairs joined by &"))?;
    let mut arguments = Map::new();
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

/// An empty body stands for an empty object.
fn from_body(body: &[u8]) -> Result<Map<String, Value>, Malformed> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Malformed::new("body", "expected a JSON object"))
        }
        Err(error) => Err(Malformed::new("body", format!("not JSON: {error}"))),
    }
}
