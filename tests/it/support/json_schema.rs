//! Validates a value against the part of JSON Schema that the tools and the OpenAPI document use.

use ::api::openapi::document;
use serde_json::Value;

/// The violations of the schema in `value`. An unknown keyword fails the test.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    violations_in(document(), schema, value)
}

/// The references in the schema point into `root`.
pub(crate) fn violations_in(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else {
        assert_eq!(schema, &Value::Bool(true), "a schema is an object or true");
        return;
    };
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "type" => {
                if !is_a(value, rule) {
                    found.push(format!("{path}: {value} is not {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{path}: {value} is none of {rule}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        found.push(format!("{path}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, property) in rule.as_object().unwrap() {
                    if let Some(part) = value.get(name) {
                        check(root, property, part, &format!("{path}/{name}"), found);
                    }
                }
            }
            "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                for (name, part) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if rule == false {
                        found.push(format!("{path}: {name} is not allowed"));
                    } else {
                        check(root, rule, part, &format!("{path}/{name}"), found);
                    }
                }
            }
            "items" => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{path}/{at}"), found);
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) {
                    found.push(format!("{path}: {value} is below {rule}"));
                }
            }
            "$ref" => {
                let named = root.pointer(rule.as_str().unwrap().trim_start_matches('#'));
                check(root, named.expect("a named schema"), value, path, found);
            }
            "const" => {
                if value != rule {
                    found.push(format!("{path}: {value} is not {rule}"));
                }
            }
            "oneOf" | "anyOf" => {
                let choices = rule.as_array().unwrap();
                if !choices.iter().any(|choice| violations_in(root, choice, value).is_empty()) {
                    found.push(format!("{path}: {value} fits no alternative"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap()) {
                    found.push(format!("{path}: {value} is above {rule}"));
                }
            }
            "minItems" => {
                if value.as_array().is_some_and(|items| (items.len() as u64) < rule.as_u64().unwrap()) {
                    found.push(format!("{path}: fewer than {rule} items"));
                }
            }
            "uniqueItems" => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                if rule == true && items.iter().enumerate().any(|(at, item)| items[..at].contains(item)) {
                    found.push(format!("{path}: an item occurs twice"));
                }
            }
            "description" | "title" | "default" | "format" | "$schema" | "$id" | "definitions" => {}
            other => panic!("{path}: the keyword {other} is not known to this check"),
        }
    }
}

fn is_a(value: &Value, kind: &Value) -> bool {
    if let Some(kinds) = kind.as_array() {
        return kinds.iter().any(|kind| is_a(value, kind));
    }
    match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("unknown type {other}"),
    }
}
