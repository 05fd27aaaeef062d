//! JSON schemas as clients like them: no references, no `null`, and output schemas that a refusal
//! fits as well, since some clients check structured content against them even then.

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

pub(super) fn input<T: JsonSchema>() -> JsonObject {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// An answer, with its name as the title.
pub(crate) fn output<T: JsonSchema>() -> JsonObject {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    schema.insert("title".into(), T::schema_name().into());
    schema
}

/// Nothing is required of a tool's answer, because it may be a refusal.
pub(super) fn or_refusal(mut schema: JsonObject) -> JsonObject {
    schema.remove("title");
    schema.remove("required");
    schema.remove("additionalProperties");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("error".into(), text("Only in a refusal (isError): what is wrong and what would be right."));
        properties.insert("code".into(), text("Only in a refusal: a stable code for programs."));
        properties.insert(
            "retryable".into(),
            json!({ "type": "boolean", "description": "Only in a refusal: the same call may succeed later." }),
        );
    }
    schema
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A string that is one of `words`.
pub(super) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Schema {
    let words: Vec<_> = words.into_iter().collect();
    Schema::try_from(json!({ "type": "string", "enum": words })).unwrap_or_default()
}

macro_rules! word_schemas {
    ($($name:ident = $of:ty),+ $(,)?) => { $(
        pub(super) fn $name(_: &mut SchemaGenerator) -> Schema {
            one_of(<$of>::ALL.iter().map(|word| word.as_str()))
        }
    )+ };
}

word_schemas! {
    status = domain::review::Status,
    category = domain::review::Category,
    role = domain::review::Role,
    verdict = domain::verdict::Verdict,
    priority = domain::priority::Priority,
    applies_to = domain::review::AppliesTo,
    outcome = domain::consensus::Outcome,
    target_kind = domain::review::TargetKind,
    rule = domain::consensus::RuleName,
    finding_kind = domain::finding::FindingKind,
    severity = domain::finding::Severity,
    finding_status = domain::finding::FindingStatus,
    finding_wish = domain::finding::RequestedStatus,
    anchor = domain::finding::AnchorState,
    says = domain::finding::ProposerResponse,
    authority = domain::credential::Authority,
    escalation = domain::consensus::Escalation,
    log_kind = domain::event_kind::EventKind,
    log_order = domain::query::EventOrder,
    group_by = domain::query::GroupBy,
    reclaimed = domain::review::ClaimEndReason,
}

pub(super) fn which_content(_: &mut SchemaGenerator) -> Schema {
    one_of(["active", "submitted"])
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = Value::from(schema);
    simplify(&mut value);
    match value {
        Value::Object(mut object) => {
            object.remove("title");
            object.remove("description");
            // Some clients look for it also where there is nothing to give.
            object.entry("properties").or_insert_with(|| json!({}));
            object
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
    }
}

/// Drops what only says "may be left out", which `required` says already, and the widths of numbers.
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
