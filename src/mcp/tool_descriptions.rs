//! Builds the list of MCP tools with their descriptions, schemas and hints from the table of operations.

use super::Endpoint;
use api::{Effect, OperationId, description_placeholders::Placeholders};
use domain::review::Role;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn tools(endpoint: Endpoint, placeholders: &Placeholders) -> Vec<Tool> {
    let tools = OperationId::ALL.iter().filter(|operation| operation.is_tool());
    let offered = tools.filter(|operation| operation.role().is_offered_to(endpoint.role()));
    offered.map(|operation| describe(*operation, endpoint, placeholders)).collect()
}

fn describe(operation: OperationId, endpoint: Endpoint, placeholders: &Placeholders) -> Tool {
    let mut input = operation.request_schema().clone();
    placeholders.fill_schema(&mut input);
    for field in ["closer_role", "sender_role"] {
        fix_role(&mut input, field, endpoint.role());
    }
    let (title, effect) = (operation.title(), operation.effect());
    let hints = ToolAnnotations::with_title(title)
        .destructive(false)
        .open_world(false)
        .idempotent(effect != Effect::Create)
        .read_only(effect == Effect::Read);
    Tool::new(operation.name(), placeholders.fill(operation.description()), Arc::new(input))
        .with_title(title)
        .with_raw_output_schema(Arc::new(or_refusal(operation.response_schema())))
        .with_annotations(hints)
        .with_meta(meta())
}

/// Claude Code hides tools behind a search and truncates long results without these settings.
fn meta() -> MetaObject {
    let meta = [("anthropic/alwaysLoad", json!(true)), ("anthropic/maxResultSizeChars", json!(200_000))];
    MetaObject(meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// An endpoint without a role requires the argument; an endpoint with one allows only its own role.
fn fix_role(input: &mut JsonObject, field: &str, own: Option<Role>) {
    let Some(property) = input.get_mut("properties").and_then(|all| all.get_mut(field)) else { return };
    match own {
        None => {
            if let Some(Value::Array(required)) = input.get_mut("required") {
                required.push(field.into());
            }
        }
        Some(role) => {
            *property = json!({
                "type": "string", "enum": [role],
                "description": format!("Optional: this endpoint is for the {role}."),
            });
        }
    }
}

/// A schema that an error body fits as well, because some clients check structured content against it even then. It
/// requires no fields.
fn or_refusal(mut schema: JsonObject) -> JsonObject {
    schema.remove("title");
    schema.remove("required");
    schema.remove("additionalProperties");
    let text = |description: &str| json!({ "type": "string", "description": description });
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("error".into(), text("Only in an error: what is wrong and what is allowed."));
        properties.insert("code".into(), text("Only in an error: a stable code for programs."));
        properties.insert(
            "retryable".into(),
            json!({ "type": "boolean", "description": "Only in an error: whether the same call may succeed later." }),
        );
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::tools;
    use crate::mcp::Endpoint;
    use api::description_placeholders::Placeholders;
    use rmcp::model::Tool;
    use serde_json::Value;

    fn all(endpoint: Endpoint) -> Vec<Tool> {
        tools(endpoint, &Placeholders::with_names())
    }

    fn names(endpoint: Endpoint) -> Vec<String> {
        all(endpoint).iter().map(|tool| tool.name.to_string()).collect()
    }

    #[test]
    fn an_endpoint_with_a_role_offers_that_roles_tools() {
        let offers = |endpoint, name: &str| names(endpoint).iter().any(|tool| tool == name);
        assert_eq!(names(Endpoint::Any).len(), 24);
        assert!(!offers(Endpoint::Reviewer, "spawn_reviewer"));
        assert!(!offers(Endpoint::Proposer, "claim_review"));
        assert!(!offers(Endpoint::Reviewer, "create_review"));
        for endpoint in Endpoint::ALL {
            assert!(offers(*endpoint, "get_review_status"));
        }
    }

    #[test]
    fn schemas_are_plain_and_responses_require_no_fields() {
        for tool in Endpoint::ALL.iter().flat_map(|endpoint| all(*endpoint)) {
            let input = Value::Object((*tool.input_schema).clone());
            let output = Value::Object((**tool.output_schema.as_ref().expect("typed")).clone());
            for schema in [&input, &output] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                let text = schema.to_string();
                assert!(!text.contains("$ref") && !text.contains("\"null\"") && !text.contains("$schema"), "{text}");
            }
            assert!(output.get("required").is_none());
            assert!(output["properties"]["code"].is_object());
            assert_eq!(input["additionalProperties"], false);
        }
    }

    #[test]
    fn no_placeholder_is_left_in_a_text() {
        for tool in all(Endpoint::Any) {
            let text = serde_json::to_string(&tool).expect("JSON");
            for placeholder in ["{wait", "{page", "{claim"] {
                assert!(!text.contains(placeholder), "{}: {placeholder}", tool.name);
            }
        }
    }

    #[test]
    fn the_role_is_required_only_by_the_endpoint_without_one() {
        let required = |endpoint, name: &str| {
            let tools = all(endpoint);
            let tool = tools.iter().find(|tool| tool.name == name).expect("offered");
            tool.input_schema["required"].to_string()
        };
        assert!(required(Endpoint::Any, "add_message").contains("sender_role"));
        assert!(!required(Endpoint::Reviewer, "add_message").contains("sender_role"));
        assert!(!required(Endpoint::Proposer, "close_review").contains("closer_role"));
    }
}
