//! What is no operation of the table: live events, and the ticket with which a page opens them.

use super::parameter;
use crate::http::Route;
use serde_json::{Map, Value, json};

pub(super) fn describe(paths: &mut Map<String, Value>) {
    paths.insert(Route::Events.path().into(), json!({ "get": events() }));
    paths.insert(Route::Ticket.path().into(), json!({ "post": ticket() }));
}

fn events() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let place = |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    let parameters = [
        ("query", "since", place("The last place in the log that you have. Left out: from now on.")),
        ("query", "review", text("Only of this review.")),
        ("query", "project", text("Only of this registered project.")),
        ("query", "kind", text("Only of these types or kinds, separated by commas.")),
        ("query", "follow", json!({ "type": "boolean", "description": "false: only what there is already." })),
        ("header", "Last-Event-ID", place("The same as since, as browsers send it.")),
    ];
    let parameters: Vec<_> =
        parameters.into_iter().map(|(within, name, schema)| parameter(within, name, schema, false)).collect();
    json!({
        "operationId": "subscribe",
        "summary": "Live events",
        "description": "The log as server-sent events, without an end. docs/events.md says what they hold. A WebSocket \
                        with the same query is at /ws.",
        "parameters": parameters,
        "responses": {
            "200": { "description": "The stream.", "content": { "text/event-stream": { "schema": { "type": "string" } } } },
            "4XX": { "$ref": "#/components/responses/Problem" },
            "5XX": { "$ref": "#/components/responses/Problem" },
        },
        "tags": ["events"],
    })
}

fn ticket() -> Value {
    let answer = json!({
        "type": "object",
        "required": ["ticket", "expires_in_seconds"],
        "properties": {
            "ticket": { "type": "string", "description": "Give it as ?ticket= when you open /ws; it is good once." },
            "expires_in_seconds": { "type": "integer" },
        },
    });
    json!({
        "operationId": "get_ws_ticket",
        "summary": "A ticket for a WebSocket",
        "description": "For pages, which cannot show a token when they open one.",
        "requestBody": { "required": false, "content": { "application/json": { "schema": { "type": "object" } } } },
        "responses": {
            "200": { "description": "Done.", "content": { "application/json": { "schema": answer } } },
            "4XX": { "$ref": "#/components/responses/Problem" },
            "5XX": { "$ref": "#/components/responses/Problem" },
        },
        "tags": ["events"],
    })
}
