//! Generates the OpenAPI 3.1 document from the table of operations and the schemas of its types.

mod named_types;
mod sign_in;

use crate::{
    description_placeholders::Placeholders,
    exports::ExportFormat,
    operation::{OperationId, PREFIX, ROUTES},
    route::{Format, Route},
};
use named_types::NamedTypes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(build);

const ABOUT: &str = "Reviews of changes by agents and people. The operations, rules, names and codes are those of the MCP \
                     tools. A review_id is an id, a number (R-12) or a unique prefix of an id.";

/// Response of get_openapi: the OpenAPI document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OpenApi(pub Map<String, Value>);

/// The document. It names settings instead of their values, so it is the same for every broker.
pub fn document() -> &'static Value {
    &DOCUMENT
}

fn build() -> Value {
    let (mut paths, types) = (Map::new(), NamedTypes::collect());
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = describe(route, &types);
    }
    let mut schemas = types.schemas;
    schemas.insert("Problem".into(), problem_schema());
    paths.insert(format!("{PREFIX}/events"), json!({ "get": events() }));
    paths.insert(format!("{PREFIX}/ws-ticket"), json!({ "post": ticket() }));
    paths.extend(sign_in::paths());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        // A token is optional where the settings do not require one.
        "security": [{}, { "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Problem": {
                "description": "Refused: what is wrong and what is allowed. Nothing was changed.",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
            } },
        },
    })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": text("A URN that ends with the code."),
            "title": text("The code in words."),
            "status": { "type": "integer", "description": "The HTTP status." },
            "detail": text("What is wrong, what is allowed, and what to do next."),
            "code": text("A stable code for programs, shared with the MCP tools."),
            "retryable": { "type": "boolean", "description": "Whether the same call may succeed later." },
            "field": text("The argument that is wrong."),
            "allowed": { "type": "array", "description": "The allowed values." },
            "candidates": { "type": "array", "items": { "type": "string" }, "description": "The reviews that match an ambiguous prefix." },
            "current_status": text("The review status that prevents the call."),
        },
        "additionalProperties": true,
    })
}

fn describe(route: &Route, types: &NamedTypes) -> Value {
    let (operation, placeholders) = (route.operation, Placeholders::with_names());
    let mut input = types.request(operation);
    placeholders.fill_schema(&mut input);
    let has_version =
        operation.response_schema().get("properties").is_some_and(|properties| properties.get("version").is_some());
    let has_etag = has_version && route.is_about_a_review();
    let required = take_required(&mut input);
    let mut properties = take_properties(&mut input);
    properties.retain(|name, _| !route.omitted.contains(&name.as_str()));
    let mut parameters: Vec<_> = route
        .path_arguments()
        .map(|name| parameter("path", name, properties.remove(name).unwrap_or(json!({ "type": "string" })), true))
        .collect();
    let (summary, description) = texts(route);
    let mut described = json!({
        "operationId": route.id, "summary": summary, "description": placeholders.fill(description),
    });
    if route.takes_body() {
        let required: Vec<_> = required.into_iter().filter(|name| properties.contains_key(name)).collect();
        let is_needed = !required.is_empty();
        input.insert("properties".into(), properties.into());
        if is_needed {
            input.insert("required".into(), required.into());
        }
        described["requestBody"] =
            json!({ "required": is_needed, "content": { "application/json": { "schema": input } } });
    } else {
        let query = properties.into_iter().map(|(name, schema)| {
            let is_required = required.contains(&name);
            parameter("query", &name, schema, is_required)
        });
        parameters.extend(query);
    }
    parameters.extend(headers(route, has_etag));
    described["parameters"] = parameters.into();
    described["responses"] = responses(route, &types.response(operation), has_etag);
    described["tags"] = json!([route.path.split('/').nth(3).unwrap_or_default()]);
    if operation.is_tool() {
        described["x-tool"] = operation.name().into();
    }
    described
}

/// The summary and description of a route.
fn texts(route: &Route) -> (&'static str, &'static str) {
    match route.format {
        Format::Json | Format::Export => (route.operation.title(), route.operation.description()),
        Format::Diff => (
            "The diff of a round",
            "JSON pages as in get_review, or the whole diff with Accept: text/x-diff. file, since_round, content and round choose which part. With content_hash the text never changes and can be cached.",
        ),
        Format::Patch => ("The diff as a mail", "For `git am` or `git apply`."),
        Format::CounterPatch => (
            "A counter-patch",
            "The whole counter-patch of a round as text: the latest one, or that of the seat of `persona`. It leads from the base, or with since_round from what that round submitted.",
        ),
        Format::LogStream => (
            "Follow the output of a reviewer",
            "Server-sent events named log, each with a ReviewerLogResponse as data and its `next` as id; the event end with a LogEnd closes the stream, also after the reviewer has ended. Continue with from, or the header Last-Event-ID. With Accept: text/plain only the text.",
        ),
    }
}

fn headers(route: &Route, has_etag: bool) -> impl Iterator<Item = Value> {
    let changes_a_review =
        route.changes() && (route.is_about_a_review() || route.operation == OperationId::UpdateIssue);
    let if_match = changes_a_review.then(|| {
        let mut tag = text("The ETag you know, or *. A review with a different ETag is not changed (412).");
        tag["pattern"] = "^(\"[0-9]{1,19}(-[0-9a-f]+)?\"|\\*)$".into();
        parameter("header", "If-Match", tag, false)
    });
    let if_none_match = (!route.changes() && has_etag)
        .then(|| parameter("header", "If-None-Match", text("The ETag you know: 304 if it has not changed."), false));
    let key = (route.operation == OperationId::CreateReview)
        .then(|| parameter("header", "Idempotency-Key", text("Sets idempotency_key."), false));
    let last_event_id = (route.format == Format::LogStream)
        .then(|| parameter("header", "Last-Event-ID", text("Equal to from, as browsers send it."), false));
    [if_match, if_none_match, key, last_event_id].into_iter().flatten()
}

fn parameter(location: &str, name: &str, mut schema: Value, required: bool) -> Value {
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({ "name": name, "in": location, "required": required, "schema": schema });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

fn responses(route: &Route, schema: &Value, has_etag: bool) -> Value {
    let plain = json!({ "schema": { "type": "string" } });
    let content = match route.format {
        Format::Patch => json!({ "text/x-patch": plain }),
        Format::CounterPatch => json!({ "text/x-diff": plain }),
        Format::Diff => json!({ "application/json": { "schema": schema }, "text/x-diff": plain }),
        Format::LogStream => json!({ "text/event-stream": plain, "text/plain": plain }),
        Format::Json => json!({ "application/json": { "schema": schema } }),
        Format::Export => {
            let has_format =
                route.operation.request_schema().get("properties").is_some_and(|all| all.get("format").is_some());
            let formats = if has_format { ExportFormat::ALL } else { &[ExportFormat::Jsonl] };
            let object = json!({ "schema": { "type": "object" } });
            let content = |format: &ExportFormat| {
                let is_text = matches!(format, ExportFormat::Markdown | ExportFormat::Jsonl);
                (format.content_type().to_owned(), if is_text { plain.clone() } else { object.clone() })
            };
            formats.iter().map(content).collect()
        }
    };
    let mut success = json!({ "description": "Success.", "content": content });
    if route.format == Format::Diff {
        success["headers"]["Content-Hash"] = json!({ "description": "The content_hash of the diff, if the response is text.", "schema": { "type": "string" } });
    }
    if has_etag {
        success["headers"]["ETag"] = json!({ "description": "The review's version, and the start of branch_head if the response has one. Weak if the response is text.", "schema": { "type": "string" } });
    }
    let status = if route.creates() { "201" } else { "200" };
    let mut responses = json!({ status: success, "4XX": problem(), "5XX": problem() });
    if has_etag && !route.changes() {
        responses["304"] = json!({ "description": "Not changed." });
    }
    responses
}

fn problem() -> Value {
    json!({ "$ref": "#/components/responses/Problem" })
}

fn take_required(schema: &mut Map<String, Value>) -> Vec<String> {
    let required = schema.remove("required").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    required.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn take_properties(schema: &mut Map<String, Value>) -> Map<String, Value> {
    match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) | None => Map::new(),
    }
}

/// The stream of events, which is not an operation of the table.
fn events() -> Value {
    let position = |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    let parameters = [
        ("query", "since", position("The last sequence number you have. Default: only new events.")),
        ("query", "review", text("Only events of this review.")),
        ("query", "project", text("Only events of this registered project.")),
        ("query", "kind", text("Only events of these types or kinds, separated by commas.")),
        ("query", "follow", json!({ "type": "boolean", "description": "false: end after the existing events." })),
        ("header", "Last-Event-ID", position("Equal to since, as browsers send it.")),
    ];
    let parameters: Vec<_> =
        parameters.into_iter().map(|(location, name, schema)| parameter(location, name, schema, false)).collect();
    json!({
        "operationId": "subscribe",
        "summary": "Live events",
        "description": "The event log as endless server-sent events. docs/events.md describes them; the data of each is a \
                        LiveFrame. /ws offers a WebSocket with the same query.",
        "parameters": parameters,
        "responses": {
            "200": { "description": "The stream.", "content": { "text/event-stream": { "schema": { "type": "string" } } } },
            "4XX": problem(),
            "5XX": problem(),
        },
        "tags": ["events"],
    })
}

/// The ticket with which a web page opens a WebSocket.
fn ticket() -> Value {
    let response = json!({
        "type": "object",
        "required": ["ticket", "expires_in_seconds"],
        "properties": {
            "ticket": { "type": "string", "description": "Pass it as ?ticket= when you open /ws. It is valid once." },
            "expires_in_seconds": { "type": "integer" },
        },
    });
    json!({
        "operationId": "get_ws_ticket",
        "summary": "A ticket for a WebSocket",
        "description": "For web pages, which cannot send a token when they open one.",
        "requestBody": { "required": false, "content": { "application/json": { "schema": { "type": "object" } } } },
        "responses": {
            "200": { "description": "Success.", "content": { "application/json": { "schema": response } } },
            "4XX": problem(),
            "5XX": problem(),
        },
        "tags": ["events"],
    })
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
