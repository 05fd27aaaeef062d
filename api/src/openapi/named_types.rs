//! Collects the types of all operations as named schemas, so that the OpenAPI document defines each type once.

use crate::{
    json_schema::{NamedSchemas, reference, referenced_name},
    live_frames::LiveFrame,
    operation::OperationId,
    sign_in::{CreateSessionRequest, SessionCode},
};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

pub(super) struct NamedTypes {
    /// Every type that requests and responses refer to, by name.
    pub schemas: Map<String, Value>,
    requests: HashMap<OperationId, Value>,
    responses: HashMap<OperationId, Value>,
}

impl NamedTypes {
    pub(super) fn collect() -> Self {
        let mut named = NamedSchemas::of_responses();
        let responses = OperationId::ALL
            .iter()
            .map(|id| (*id, named.schema(|generator| id.response_reference(generator))))
            .collect();
        // Types that no operation of the table returns.
        named.schema(|generator| generator.subschema_for::<LiveFrame>());
        named.schema(|generator| generator.subschema_for::<SessionCode>());
        let mut schemas = named.collected();

        let mut named = NamedSchemas::of_requests();
        let mut requests: HashMap<_, _> = OperationId::ALL
            .iter()
            .map(|id| (*id, named.schema(|generator| id.request_with_references(generator))))
            .collect();
        named.schema(|generator| generator.subschema_for::<CreateSessionRequest>());
        let mut of_requests = named.collected();
        // A request forbids unknown fields, so a type of both may have two schemas.
        let differs = |(name, schema): (&String, &Value)| schemas.get(name).is_some_and(|other| other != schema);
        let ambiguous: BTreeSet<_> =
            of_requests.iter().filter(|one| differs(*one)).map(|(name, _)| name.clone()).collect();
        requests.values_mut().chain(of_requests.values_mut()).for_each(|schema| rename(schema, &ambiguous));
        for (name, schema) in of_requests {
            let name = if ambiguous.contains(&name) { input_name(&name) } else { name };
            schemas.insert(name, schema);
        }
        Self { schemas, requests, responses }
    }

    /// The schema of a request. Its fields refer to named types.
    pub(super) fn request(&self, operation: OperationId) -> Map<String, Value> {
        let mut request = self.requests.get(&operation).and_then(Value::as_object).cloned().unwrap_or_default();
        request.remove("description");
        request
    }

    /// A reference to the schema of a response.
    pub(super) fn response(&self, operation: OperationId) -> Value {
        self.responses.get(&operation).cloned().unwrap_or_default()
    }
}

/// Replaces references to `ambiguous` types by references to their variant for requests.
fn rename(schema: &mut Value, ambiguous: &BTreeSet<String>) {
    if let Some(name) = referenced_name(schema).filter(|name| ambiguous.contains(*name)) {
        let renamed = reference(&input_name(name));
        schema["$ref"] = renamed["$ref"].clone();
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(|value| rename(value, ambiguous)),
        Value::Array(items) => items.iter_mut().for_each(|value| rename(value, ambiguous)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn input_name(name: &str) -> String {
    format!("{name}Input")
}
