//! The API described for programs: OpenAPI 3.1, made from the table of routes and the tools' own schemas.

mod live;

use super::{
    arguments::takes_key,
    pages::{Log, Personas},
    routes::{ALL, OfHooks, Operation, Page, What},
    webhooks::{Dead, Done, Hooks},
};
use crate::mcp;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(build);

/// The whole description.
pub fn document() -> &'static Value {
    &DOCUMENT
}

const ABOUT: &str = "Reviews of changes by agents and people: the tools of the MCP door as resources, with the same rules, \
                     names and codes. A review_id is an id, a number (R-12) or a unique prefix of an id.";

fn build() -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    schemas.insert("Problem".into(), problem_schema());
    for operation in ALL.iter().filter(|operation| !matches!(operation.what, What::Docs(_))) {
        let described = describe(operation, &mut schemas);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_ascii_lowercase()] = described;
    }
    live::describe(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        // Where tokens are not required, none is needed.
        "security": [{}, { "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Problem": {
                "description": "Refused: what is wrong and what would be right. Nothing was changed.",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
            } },
        },
    })
}

fn problem_schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": text("A URN that ends with the code."),
            "title": text("The code in words."),
            "status": { "type": "integer", "description": "The HTTP status." },
            "detail": text("What is wrong and what would be right."),
            "code": text("Stable, for programs; the same as the tools give."),
            "retryable": { "type": "boolean", "description": "The same call may succeed later." },
            "field": text("The argument it is about."),
            "allowed": { "type": "array", "description": "What could be given instead." },
            "candidates": { "type": "array", "items": { "type": "string" }, "description": "The reviews that an ambiguous prefix fits." },
            "current_status": text("The status that stands in the way."),
        },
        "additionalProperties": true,
    })
}

/// The texts and the schemas of what an operation does.
struct About {
    summary: String,
    description: String,
    input: JsonObject,
    output: JsonObject,
}

fn about(operation: &Operation) -> About {
    match operation.what {
        What::Call(tool) => {
            let mcp::Entry { title, description, input, output, .. } = mcp::entry(tool);
            About { summary: title.into(), description: description.into(), input, output }
        }
        What::Diff => proposal(
            "The diff of a round",
            "JSON in pages as get_review has it, or, with Accept: text/x-diff, the whole diff. file, since_round, content and round choose what of it.",
        ),
        What::Patch => proposal("The diff as a mail", "For `git am` or `git apply`."),
        What::Show(page) => shown(page),
        What::Hooks(act) => of_hooks(act),
        What::Docs(_) => plain("", "", JsonObject::new()),
    }
}

fn proposal(summary: &str, description: &str) -> About {
    let mcp::Entry { input, output, .. } = mcp::entry(mcp::Tool::GetProposal);
    About { summary: summary.into(), description: description.into(), input, output }
}

fn shown(page: Page) -> About {
    let any = |title: &str| object(json!({ "title": title, "type": "object", "additionalProperties": true }));
    match page {
        Page::Personas => {
            plain("Personas", "Who can review, as the settings say.", mcp::answer_schema::<Personas<'_>>())
        }
        Page::Config => {
            plain("Settings", "Operator: the settings in force. Arguments of commands are hidden.", any("Config"))
        }
        Page::Actors => plain("The actor tree", "Operator: the live actors.", any("Actors")),
        Page::OpenApi => plain("This description", "OpenAPI 3.1.", any("OpenApi")),
        Page::Logs => {
            let lines = json!({ "type": "integer", "minimum": 1, "maximum": 10_000, "description": "How many lines at the end. Default 200." });
            let id = json!({ "type": "string", "description": "Its id, the beginning of it, or its short name." });
            let input = json!({ "properties": { "reviewer_id": id, "lines": lines }, "required": ["reviewer_id"] });
            let description = "Operator: the end of what a reviewer of the pool has printed.";
            let about = plain("Output of a reviewer", description, mcp::answer_schema::<Log>());
            About { input: object(input), ..about }
        }
    }
}

fn of_hooks(act: OfHooks) -> About {
    let name = json!({ "type": "string", "description": "The webhook's name." });
    let which = json!({
        "properties": {
            "webhook": name,
            "seqs": {
                "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1, "maxItems": 1000,
                "description": "Places in the log, as the dead list shows them.",
            },
            "all": { "type": "boolean", "const": true, "description": "All there are. Either this or seqs." },
        },
        "required": ["webhook"],
    });
    let (about, input) = match act {
        OfHooks::List => {
            let description = "Operator: who is told of events by POST, how far each has been told, and what is wrong.";
            (plain("Webhooks", description, mcp::answer_schema::<Hooks>()), JsonObject::new())
        }
        OfHooks::Dead => {
            let limit =
                json!({ "type": "integer", "minimum": 1, "maximum": 200, "description": "Rows at most. Default 50." });
            let cursor = json!({ "type": "string", "description": "next_cursor of the page before." });
            let input =
                json!({ "properties": { "webhook": name, "limit": limit, "cursor": cursor }, "required": ["webhook"] });
            let description = "Operator: the events that a webhook could not be told, oldest first.";
            (plain("The dead list", description, mcp::answer_schema::<Dead>()), object(input))
        }
        OfHooks::Redeliver => {
            let description = "Operator: has dead deliveries tried once more, soon; one that fails stays dead.";
            (plain("Try again", description, mcp::answer_schema::<Done>()), object(which))
        }
        OfHooks::Drop => {
            let description = "Operator: forgets dead deliveries; the events stay in the log.";
            (plain("Forget", description, mcp::answer_schema::<Done>()), object(which))
        }
    };
    About { input, ..about }
}

fn plain(summary: &str, description: &str, output: JsonObject) -> About {
    About { summary: summary.into(), description: description.into(), input: JsonObject::new(), output }
}

fn describe(operation: &Operation, schemas: &mut Map<String, Value>) -> Value {
    let About { summary, description, mut input, output } = about(operation);
    let has_version = output.get("properties").is_some_and(|properties| properties.get("version").is_some());
    let has_tag = has_version && operation.is_of_a_review();
    let required = take_required(&mut input);
    let mut properties = take_properties(&mut input);
    properties.retain(|name, _| !operation.without.contains(&name.as_str()));
    let mut parameters: Vec<_> = operation
        .places()
        .map(|name| parameter("path", name, properties.remove(name).unwrap_or(json!({ "type": "string" })), true))
        .collect();
    let mut described = json!({ "operationId": operation.id, "summary": summary, "description": description });
    if operation.takes_body() {
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
    parameters.extend(headers(operation, has_tag));
    described["parameters"] = parameters.into();
    described["responses"] = responses(operation, named(output, schemas), has_tag);
    described["tags"] = json!([operation.path.split('/').nth(3).unwrap_or_default()]);
    if let Some(tool) = operation.tool() {
        described["x-tool"] = tool.name().into();
    }
    described
}

fn headers(operation: &Operation, has_tag: bool) -> impl Iterator<Item = Value> {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let of_a_review = operation.is_of_a_review() || operation.tool() == Some(mcp::Tool::UpdateIssue);
    let matching = (operation.changes() && of_a_review).then(|| {
        let mut tag = text("The ETag you know, or *: a review with another is not changed (412).");
        tag["pattern"] = "^(\"[0-9]{1,19}\"|\\*)$".into();
        parameter("header", "If-Match", tag, false)
    });
    let known = (!operation.changes() && has_tag)
        .then(|| parameter("header", "If-None-Match", text("The ETag you know: 304 if it is still that one."), false));
    let key = takes_key(operation)
        .then(|| parameter("header", "Idempotency-Key", text("The same as idempotency_key."), false));
    [matching, known, key].into_iter().flatten()
}

fn parameter(place: &str, name: &str, mut schema: Value, required: bool) -> Value {
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({ "name": name, "in": place, "required": required, "schema": schema });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

/// Puts an answer's schema among the named ones.
fn named(mut output: JsonObject, schemas: &mut Map<String, Value>) -> Value {
    let title = output.remove("title");
    let name = title.as_ref().and_then(Value::as_str).unwrap_or("Answer").to_owned();
    let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
    schemas.insert(name, output.into());
    reference
}

fn responses(operation: &Operation, answer: Value, has_tag: bool) -> Value {
    let text = json!({ "schema": { "type": "string" } });
    let content = match operation.what {
        What::Patch => json!({ "text/x-patch": text }),
        What::Diff => json!({ "application/json": { "schema": answer }, "text/x-diff": text }),
        What::Call(_) | What::Show(_) | What::Hooks(_) | What::Docs(_) => {
            json!({ "application/json": { "schema": answer } })
        }
    };
    let mut good = json!({ "description": "Done.", "content": content });
    if has_tag {
        good["headers"]["ETag"] = json!({ "description": "The review's version; weak where the answer is a text.", "schema": { "type": "string" } });
    }
    let (code, problem) =
        (if operation.creates() { "201" } else { "200" }, json!({ "$ref": "#/components/responses/Problem" }));
    let mut responses = json!({ code: good, "4XX": problem, "5XX": problem });
    if has_tag && !operation.changes() {
        responses["304"] = json!({ "description": "As you know it." });
    }
    responses
}

fn take_required(schema: &mut JsonObject) -> Vec<String> {
    let required = schema.remove("required").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    required.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn take_properties(schema: &mut JsonObject) -> JsonObject {
    object(schema.remove("properties").unwrap_or_default())
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
    }
}
