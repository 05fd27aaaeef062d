//! Builds the list of MCP tools with their descriptions, schemas and hints from the table of operations.

use super::Endpoint;
use api::{Effect, OperationId, RequiredRole, description_placeholders::Placeholders};
use domain::review::Role;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn tools(endpoint: Endpoint, placeholders: &Placeholders) -> Vec<Tool> {
    let tools = OperationId::ALL.iter().filter(|operation| operation.is_tool());
    let offered = tools.filter(|operation| is_listed(**operation, endpoint));
    offered.map(|operation| describe(*operation, endpoint, placeholders)).collect()
}

/// Every tool takes room in the context of each agent that sees it, so an agent sees none of an operator's.
fn is_listed(operation: OperationId, endpoint: Endpoint) -> bool {
    match (operation.role(), endpoint) {
        (RequiredRole::Any | RequiredRole::Public, _) => true,
        (RequiredRole::Operator | RequiredRole::AllProjectsOperator, endpoint) => endpoint == Endpoint::Operator,
        (RequiredRole::Proposer | RequiredRole::Reviewer, Endpoint::Operator) => {
            FOR_PERSONS_IN_A_REVIEW.contains(&operation)
        }
        (role, _) => role.is_offered_to(endpoint.role()),
    }
}

/// Tools of a role that an operator uses as well.
const FOR_PERSONS_IN_A_REVIEW: &[OperationId] =
    &[OperationId::AddSeat, OperationId::TakeOver, OperationId::CancelReview];

/// Arguments that an agent's endpoint accepts and does not list: they serve operators, pages and the command line.
const NOT_FOR_AGENTS: &[(OperationId, &[&str])] = &[
    (OperationId::ListReviews, &["statuses", "participant", "q", "projects", "details", "role", "branch", "open"]),
    (
        OperationId::ListIssues,
        &[
            "statuses",
            "severities",
            "type",
            "blocks",
            "open_reviews",
            "without_file",
            "project",
            "reviewer",
            "q",
            "order",
        ],
    ),
    (OperationId::CreateReview, &["personas", "skip_diff_validation"]),
    (OperationId::AddMessage, &["metadata"]),
    (OperationId::CloseReview, &["closer_role"]),
    (OperationId::GetProposal, &["content_hash"]),
    (OperationId::GetReviewStatus, &["role"]),
];

/// Arguments that no endpoint lists: they serve replays and the page. The audit log lists the filters of the log.
const NOT_FOR_MODELS: &[(OperationId, &[&str])] = &[
    (OperationId::GetActivityFeed, &["review_id", "actor", "kind", "since", "until"]),
    (OperationId::GetProposal, &["at"]),
    (OperationId::GetReviewStatus, &["at"]),
    (OperationId::GetDiscussion, &["at"]),
    (OperationId::ListIssues, &["at"]),
    (OperationId::GetReviewTimeline, &["at"]),
];

fn describe(operation: OperationId, endpoint: Endpoint, placeholders: &Placeholders) -> Tool {
    let mut input = operation.request_schema().clone();
    placeholders.fill_schema(&mut input);
    leave_out(&mut input, operation, NOT_FOR_MODELS);
    if endpoint != Endpoint::Operator {
        leave_out(&mut input, operation, NOT_FOR_AGENTS);
        for limit in ["ungrounded_blocks", "max_minutes", "max_cost_usd"] {
            remove_at(&mut input, &["properties", "policy", "properties"], limit);
        }
    }
    for field in ["sender_role", "role"] {
        if endpoint.role().is_some() || field == "sender_role" {
            fix_role(&mut input, field, endpoint.role());
        }
    }
    if matches!(operation, OperationId::ClaimReview | OperationId::TakeOver) {
        require(&mut input, "reviewer_id");
    }
    if operation == OperationId::SubmitVerdict {
        // Their fields are those of issues, which stand before them.
        remove_at(&mut input, &["properties", "suggestions"], "items");
    }
    drop_rules_of_inner_objects(&mut input);
    let effect = operation.effect();
    let hints = ToolAnnotations::new()
        .destructive(false)
        .open_world(false)
        .idempotent(effect != Effect::Create)
        .read_only(effect == Effect::Read);
    Tool::new(operation.name(), placeholders.fill(operation.description()), Arc::new(input))
        .with_title(operation.title())
        .with_annotations(hints)
        .with_meta(meta())
}

/// Claude Code hides tools behind a search and truncates long results without these settings.
fn meta() -> MetaObject {
    let meta = [("anthropic/alwaysLoad", json!(true)), ("anthropic/maxResultSizeChars", json!(200_000))];
    MetaObject(meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn leave_out(input: &mut JsonObject, operation: OperationId, arguments: &[(OperationId, &[&str])]) {
    let names = arguments.iter().filter(|(of, _)| *of == operation).flat_map(|(_, names)| *names);
    for name in names {
        remove_at(input, &["properties"], name);
    }
}

fn remove_at(input: &mut JsonObject, path: &[&str], key: &str) {
    let mut object = Some(input);
    for part in path {
        object = object.and_then(|object| object.get_mut(*part)).and_then(Value::as_object_mut);
    }
    if let Some(object) = object {
        object.remove(key);
    }
}

/// An endpoint without a role requires the argument; an endpoint with one allows only its own role.
fn fix_role(input: &mut JsonObject, field: &str, own: Option<Role>) {
    let Some(property) = input.get_mut("properties").and_then(|all| all.get_mut(field)) else { return };
    match own {
        None => require(input, field),
        Some(role) => *property = json!({ "type": "string", "enum": [role], "description": "Optional." }),
    }
}

fn require(input: &mut JsonObject, field: &str) {
    if let Value::Array(required) = input.entry("required").or_insert_with(|| json!([])) {
        required.push(field.into());
    }
}

/// Removes `additionalProperties` below the arguments. The broker names an unknown field there as well.
fn drop_rules_of_inner_objects(input: &mut JsonObject) {
    fn drop_in(schema: &mut Value) {
        match schema {
            Value::Object(object) => {
                object.remove("additionalProperties");
                object.values_mut().for_each(drop_in);
            }
            Value::Array(items) => items.iter_mut().for_each(drop_in),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if let Some(properties) = input.get_mut("properties") {
        drop_in(properties);
    }
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
        assert_eq!(names(Endpoint::Any).len(), 18);
        assert!(!offers(Endpoint::Any, "spawn_reviewer") && offers(Endpoint::Operator, "spawn_reviewer"));
        assert!(!offers(Endpoint::Reviewer, "spawn_reviewer"));
        assert!(!offers(Endpoint::Proposer, "claim_review"));
        assert!(!offers(Endpoint::Reviewer, "create_review"));
        for endpoint in Endpoint::ALL {
            assert!(offers(*endpoint, "get_review_status"));
        }
    }

    #[test]
    fn schemas_are_plain_and_forbid_unknown_arguments() {
        for tool in Endpoint::ALL.iter().flat_map(|endpoint| all(*endpoint)) {
            let input = Value::Object((*tool.input_schema).clone());
            assert_eq!(input["type"], "object", "{}", tool.name);
            let text = input.to_string();
            assert!(!text.contains("$ref") && !text.contains("\"null\"") && !text.contains("$schema"), "{text}");
            assert_eq!(input["additionalProperties"], false);
            assert!(tool.output_schema.is_none());
        }
    }

    #[test]
    fn no_placeholder_is_left_in_a_text() {
        for tool in Endpoint::ALL.iter().flat_map(|endpoint| all(*endpoint)) {
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
        assert!(!required(Endpoint::Any, "close_review").contains("closer_role"));
        assert!(required(Endpoint::Reviewer, "claim_review").contains("reviewer_id"));
    }
}
