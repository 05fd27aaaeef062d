//! Generates JSON schemas of requests and responses: for MCP in the form that its clients handle best, without
//! references, `null` types and number formats, and for OpenAPI with named types.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
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

/// The prefix of references to named schemas.
const NAMED: &str = "#/components/schemas/";

/// Collects the types of requests or responses as named schemas, one definition each.
pub(crate) struct NamedSchemas {
    generator: SchemaGenerator,
    is_request: bool,
}

impl NamedSchemas {
    pub(crate) fn of_requests() -> Self {
        Self { generator: named(SchemaSettings::draft2020_12().for_deserialize()), is_request: true }
    }

    pub(crate) fn of_responses() -> Self {
        Self { generator: named(SchemaSettings::draft2020_12().for_serialize()), is_request: false }
    }

    /// The schema that `generate` returns, simplified.
    pub(crate) fn schema(&mut self, generate: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Value {
        let schema = generate(&mut self.generator);
        self.simplified(schema.into())
    }

    /// The collected types by name.
    pub(crate) fn collected(mut self) -> Map<String, Value> {
        let collected = self.generator.take_definitions(true);
        collected.into_iter().map(|(name, schema)| (name, self.simplified(schema))).collect()
    }

    fn simplified(&self, mut schema: Value) -> Value {
        simplify_optional(&mut schema);
        if self.is_request
            && let Value::Object(schema) = &mut schema
        {
            forbid_unknown_fields(schema);
        }
        schema
    }
}

fn named(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = NAMED.trim_start_matches('#').into();
    });
    settings.into_generator()
}

/// A reference to a named schema.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{NAMED}{name}") })
}

/// The name in a reference to a named schema.
pub(crate) fn referenced_name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(NAMED)
}

/// Drops `null` alternatives from the fields of an object that may be absent. A field that is always there may be `null`.
fn simplify_optional(value: &mut Value) {
    let required = value.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = value.get_mut("properties") {
        for (name, property) in properties {
            if !required.iter().any(|one| one == name) {
                drop_null(property);
            }
        }
    }
    match value {
        Value::Object(object) => {
            drop_number_format(object);
            object.values_mut().for_each(simplify_optional);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_optional),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Drops `null` alternatives, which `required` already implies, and the formats of numbers.
fn simplify(value: &mut Value) {
    match value {
        Value::Object(_) => {
            drop_null(value);
            if let Value::Object(object) = value {
                drop_number_format(object);
                object.values_mut().for_each(simplify);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Drops the `null` alternative of one schema.
fn drop_null(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
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
}

fn drop_number_format(object: &mut Map<String, Value>) {
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    let is_number = match object.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    };
    if is_number {
        object.remove("format");
    }
}
