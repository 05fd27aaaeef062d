//! Decodes a request from JSON and corrects the harmless mistakes that models make.
//!
//! Such mistakes are a number or a boolean in quotes, an empty string instead of a missing value, one string instead of
//! a list, and JSON inside a string. One pass over the value corrects them by the request's schema before serde reads
//! it.

use crate::error::{ErrorBody, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Bounds on an error message, which may quote what the caller sent.
const MAX_PROBLEM_CHARS: usize = 600;
const MAX_FIELD_CHARS: usize = 100;
const QUOTED_CHARS: usize = 80;

/// Field names that models use instead of ours.
const FIELD_ALIASES: &[(&str, &str)] = &[("line", "line_start")];

/// Why a request could not be read.
#[derive(Debug)]
pub enum DecodeError {
    /// An argument is missing, unknown or of the wrong type.
    Malformed(Malformed),
    /// A string is not one of the allowed values.
    UnknownValue(ErrorBody),
}

/// An argument that is missing, unknown or of the wrong type.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The path of the argument, for example `metrics.cost_usd`.
    pub field: String,
    pub problem: String,
    /// The allowed values, or the known fields in place of an unknown one.
    pub allowed: Vec<String>,
}

impl Malformed {
    pub fn new(field: &str, problem: impl Into<String>) -> Self {
        let problem: String = problem.into();
        Self {
            field: field.chars().take(MAX_FIELD_CHARS).collect(),
            problem: problem.chars().take(MAX_PROBLEM_CHARS).collect(),
            allowed: Vec::new(),
        }
    }

    /// The problem says what is allowed as well.
    pub fn allowing(self, allowed: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { allowed: allowed.into_iter().map(Into::into).collect(), ..self }
    }

    pub fn missing(field: &str, hint: &str) -> Self {
        Self::new(field, format!("missing; {hint}"))
    }
}

impl From<Malformed> for ErrorBody {
    fn from(Malformed { field, problem, allowed }: Malformed) -> Self {
        let body = Self::new(ErrorCode::InvalidParams, format!("{field}: {problem}"));
        let body = body.with("field", field).with("problem", problem);
        if allowed.is_empty() { body } else { body.with("allowed", allowed) }
    }
}

impl From<Malformed> for DecodeError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Reads `arguments` as a `T`, whose schema is `schema`.
pub fn decode<T: DeserializeOwned>(
    schema: &Map<String, Value>,
    arguments: Map<String, Value>,
) -> Result<T, DecodeError> {
    let mut value = Value::Object(arguments);
    correct_object(schema, &mut value, "")?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let message = error.into_inner().to_string();
        if let Some(text) = message.strip_prefix("unknown variant `")
            && let Some(allowed) = allowed_values(schema, &path)
        {
            return unknown_value(&path, text.split('`').next().unwrap_or_default(), &allowed);
        }
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        // serde reports a missing field at the object that should have it.
        let Some(name) = missing else { return Malformed::new(&path, message).into() };
        let field = join(&path, name);
        match allowed_values(schema, &field) {
            Some(allowed) => {
                Malformed::missing(&field, &format!("allowed: {}", allowed.join(", "))).allowing(allowed).into()
            }
            None => Malformed::missing(&field, "this argument is required").into(),
        }
    })
}

/// The enum values that the schema allows at `path`, for example `issues[0].severity`.
fn allowed_values<'a>(schema: &'a Map<String, Value>, path: &str) -> Option<Vec<&'a str>> {
    let mut schema = schema;
    for part in path.split('.') {
        let name = part.split('[').next().unwrap_or(part);
        schema = schema.get("properties")?.get(name)?.as_object()?;
        if part.ends_with(']') {
            schema = schema.get("items")?.as_object()?;
        }
    }
    Some(schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str).collect())
}

fn unknown_value(path: &str, text: &str, allowed: &[&str]) -> DecodeError {
    let text: String = text.chars().take(QUOTED_CHARS).collect();
    DecodeError::UnknownValue(ErrorBody::unknown_value(path, &text, allowed))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Corrects the fields of an object and refuses unknown ones.
fn correct_object(schema: &Map<String, Value>, value: &mut Value, path: &str) -> Result<(), DecodeError> {
    let (Some(Value::Object(properties)), Value::Object(fields)) = (schema.get("properties"), value) else {
        return Ok(());
    };
    for (alias, name) in FIELD_ALIASES {
        if properties.contains_key(*name)
            && !fields.contains_key(*name)
            && let Some(value) = fields.remove(*alias)
        {
            fields.insert((*name).to_owned(), value);
        }
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(false))
        && let Some(unknown) = fields.keys().find(|name| !properties.contains_key(*name))
    {
        return Err(unknown_field(path, unknown, properties).into());
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
    fields.retain(|name, value| is_required(name) || !(value.is_null() || value == ""));
    for (name, value) in fields {
        if let Some(Value::Object(schema)) = properties.get(name) {
            correct(schema, value, &join(path, name))?;
        }
    }
    Ok(())
}

fn unknown_field(path: &str, name: &str, properties: &Map<String, Value>) -> Malformed {
    let shown: String = name.chars().take(QUOTED_CHARS).collect();
    let known: Vec<_> = properties.keys().map(|known| format!("`{known}`")).collect();
    let expected = match known.as_slice() {
        [] => "this call takes no arguments".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    };
    Malformed::new(&join(path, name), format!("unknown field `{shown}`, {expected}")).allowing(properties.keys())
}

fn correct(schema: &Map<String, Value>, value: &mut Value, path: &str) -> Result<(), DecodeError> {
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => replace(value, path, "a whole number of 0 or more", |value| {
            let number = value.as_u64().or_else(|| whole_float(value.as_f64()?));
            number.or_else(|| value.as_str()?.trim().parse().ok()).map(Value::from)
        }),
        Some("number") => replace(value, path, "a number", |value| {
            let parse = || value.as_str()?.trim().parse().ok().filter(|number: &f64| number.is_finite());
            value.as_number().cloned().map(Value::from).or_else(|| parse().map(Value::from))
        }),
        Some("boolean") => replace(value, path, "true or false", |value| {
            value.as_bool().or_else(|| value.as_str()?.parse().ok()).map(Value::from)
        }),
        Some("array") => correct_list(schema, value, path),
        Some("object") => {
            replace(value, path, "a JSON object, or a string that holds one", |value| {
                let parsed = value.as_str().map_or(Ok(value.clone()), serde_json::from_str);
                parsed.ok().filter(Value::is_object)
            })?;
            correct_object(schema, value, path)
        }
        Some("string") if !value.is_string() => Err(unexpected(path, value, "a string").into()),
        _ => Ok(()),
    }
}

/// A list. A string is taken for a list with one item, or for JSON that holds a list. Where objects are expected, a
/// string item stands for an object with that title.
fn correct_list(schema: &Map<String, Value>, value: &mut Value, path: &str) -> Result<(), DecodeError> {
    let item_schema = schema.get("items").and_then(Value::as_object);
    let has_objects = item_schema.is_some_and(|items| items.get("type") == Some(&json!("object")));
    let expected = if has_objects { "a list of objects" } else { "a list" };
    replace(value, path, expected, |value| match value {
        Value::Array(_) => Some(value.clone()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) => Some(list),
            Ok(_) | Err(_) => (!has_objects).then(|| json!([text])),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    })?;
    let (Value::Array(items), Some(item_schema)) = (value, item_schema) else { return Ok(()) };
    for (n, item) in items.iter_mut().enumerate() {
        if has_objects && let Value::String(title) = item {
            *item = json!({ "title": title });
        }
        let is_right = match item_schema.get("type").and_then(Value::as_str) {
            Some("object") => item.is_object(),
            Some("string") => item.is_string(),
            _ => true,
        };
        if !is_right {
            let problem = format!("item {n}: {}", problem(item, expected));
            return Err(Malformed::new(path, problem).into());
        }
        correct(item_schema, item, &format!("{path}[{n}]"))?;
    }
    Ok(())
}

fn replace(
    value: &mut Value,
    path: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<Value>,
) -> Result<(), DecodeError> {
    match read(value) {
        Some(read) => *value = read,
        None => return Err(unexpected(path, value, expected).into()),
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole_float(number: f64) -> Option<u64> {
    let fits = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    fits.then_some(number as u64)
}

fn unexpected(path: &str, value: &Value, expected: &str) -> Malformed {
    Malformed::new(path, problem(value, expected))
}

fn problem(value: &Value, expected: &str) -> String {
    let given = match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => format!("boolean {flag}"),
        Value::Number(number) => format!("number {number}"),
        Value::String(text) => format!("string {:?}", text.chars().take(QUOTED_CHARS).collect::<String>()),
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(fields) => format!("an object with {} fields", fields.len()),
    };
    format!("is {given}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, decode};
    use crate::{json_schema, reviews::CreateReviewRequest, verdicts::VerdictRequest};
    use schemars::JsonSchema;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn read<T: DeserializeOwned + JsonSchema>(arguments: Value) -> Result<T, DecodeError> {
        decode(&json_schema::request::<T>(), arguments.as_object().cloned().unwrap_or_default())
    }

    #[track_caller]
    fn check<T: DeserializeOwned + JsonSchema>(arguments: Value, field: &str, problem: &str) {
        match read::<T>(arguments).err().expect("refused") {
            DecodeError::Malformed(malformed) => {
                assert_eq!(malformed.field, field);
                assert!(malformed.problem.contains(problem), "{}", malformed.problem);
            }
            DecodeError::UnknownValue(body) => panic!("{body:?}"),
        }
    }

    fn verdict(more: Value) -> Value {
        let mut all = json!({ "review_id": "R-1", "verdict": "approved" });
        for (name, value) in more.as_object().expect("an object") {
            all[name] = value.clone();
        }
        all
    }

    #[test]
    fn an_error_names_the_field() {
        check::<VerdictRequest>(json!({ "review_id": "R-1" }), "verdict", "missing; allowed: approved");
        check::<CreateReviewRequest>(json!({ "intent": 3 }), "intent", "expected a string");
        check::<CreateReviewRequest>(json!({ "intent": "a", "colour": "red" }), "colour", "expected one of");
        let skip = json!({ "intent": "a", "skip_diff_validation": "maybe" });
        check::<CreateReviewRequest>(skip, "skip_diff_validation", "true or false");
        let cost = verdict(json!({ "metrics": { "cost_usd": [] } }));
        check::<VerdictRequest>(cost, "metrics.cost_usd", "expected a number");
        check::<VerdictRequest>(verdict(json!({ "metrics": { "speed": 1 } })), "metrics.speed", "unknown field");
        check::<VerdictRequest>(verdict(json!({ "claim_generation": -1 })), "claim_generation", "is number -1");
        let finding = verdict(json!({ "issues": [{ "title": "a", "colour": "red" }] }));
        check::<VerdictRequest>(finding, "issues[0].colour", "unknown field");
    }

    #[test]
    fn an_unknown_value_is_answered_with_the_allowed_ones() {
        let error = read::<CreateReviewRequest>(json!({ "intent": "a", "policy": { "rule": "most" } })).unwrap_err();
        let DecodeError::UnknownValue(body) = error else { panic!("{error:?}") };
        assert_eq!(body.code.as_str(), "unknown_rule");
        assert_eq!(body.detail("field"), Some("policy.rule"));
        assert_eq!(body.details["allowed"], json!(["require_all", "min_approvals", "majority"]));
    }

    #[test]
    fn harmless_slips_are_corrected() {
        let request: VerdictRequest = read(verdict(json!({
            "verdict": "approve", "reason": null, "claim_generation": "3", "summary": "",
            "metrics": { "cost_usd": "0.5", "input_tokens": 12.0 },
            "issues": "[\"a title\", {\"title\": \"b\", \"line\": \"7\"}]",
        })))
        .expect("accepted");
        assert_eq!((request.claim_generation, request.reason, request.summary), (Some(3), None, None));
        let metrics = request.metrics.expect("given");
        assert_eq!((metrics.cost_usd, metrics.input_tokens), (Some(0.5), Some(12)));
        let issues = request.issues.expect("given");
        assert_eq!((issues[0].title.as_str(), issues[1].line_start), ("a title", Some(7)));
    }
}
