//! Generates JSON schemas in the form that MCP clients handle best: without references, `null` types and number
//! formats.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a request. It forbids unknown fields, because a misspelled argument must not be ignored.
pub fn request<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    forbid_unknown_fields(&mut schema);
    schema
}

fn forbid_unknown_fields(schema: &mut Map<String, Value>) {
    if schema.contains_key("properties") {
        schema.insert("additionalProperties".into(), false.into());
    }
    schema.values_mut().filter_map(Value::as_object_mut).for_each(forbid_unknown_fields);
}

/// The schema of a response, with the type's name as its title.
pub fn response<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    schema.insert("title".into(), T::schema_name().into());
    schema
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = Value::from(settings.into_generator().into_root_schema_for::<T>());
    simplify(&mut value);
    match value {
        Value::Object(mut object) => {
            object.remove("title");
            object.remove("description");
            // Some clients expect it even if there are no fields.
            object.entry("properties").or_insert_with(|| json!({}));
            object
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Drops `null` alternatives, which `required` already implies, and the formats of numbers.
fn simplify(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&json!("null")));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            let is_number = matches!(object.get("type").and_then(Value::as_str), Some("integer" | "number"));
            if is_number {
                object.remove("format");
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
