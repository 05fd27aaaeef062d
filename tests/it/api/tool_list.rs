//! The list of MCP tools with their schemas. A change of the snapshot is a change of the public interface.

use crate::support::{
    broker::TestBroker,
    client::TestClient,
    json_schema::violations,
    tool_calls::{all_tools, arguments_for, operation, tools},
};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[tokio::test]
async fn the_tools_of_the_endpoint_for_all() {
    insta::assert_snapshot!(catalogue("/mcp").await);
}

#[tokio::test]
async fn the_tools_of_the_proposer() {
    insta::assert_snapshot!(catalogue("/mcp/proposer").await);
}

#[tokio::test]
async fn the_tools_of_the_reviewer() {
    insta::assert_snapshot!(catalogue("/mcp/reviewer").await);
}

#[tokio::test]
async fn the_tools_of_the_operator() {
    insta::assert_snapshot!(catalogue("/mcp/operator").await);
}

/// Clients send name, description and arguments of every tool with every request to a model. The models' own tokenizers
/// are not public; 3.6 bytes per token is less than they need for such text.
#[tokio::test]
async fn what_a_model_gets_of_the_tools_of_a_role_is_under_5000_tokens() {
    let broker = TestBroker::start().await;
    for (path, limit) in [("/mcp/proposer", 5_000), ("/mcp/reviewer", 5_000), ("/mcp/operator", 6_000), ("/mcp", 7_000)]
    {
        let tools = all_tools(&TestClient::new(broker.url(path))).await;
        let (mut sent, mut listed) = (0, 0);
        for tool in &tools {
            let seen =
                json!({ "name": tool["name"], "description": tool["description"], "input": tool["inputSchema"] });
            sent += seen.to_string().len();
            listed += tool.to_string().len();
            assert_eq!(
                tool.get("outputSchema"),
                None,
                "no client shows it to its model, and it is larger than the rest"
            );
        }
        let tokens = sent * 10 / 36;
        println!("{path}: {} tools, {listed} bytes listed, {sent} bytes for the model, {tokens} tokens", tools.len());
        assert!(tokens < limit, "{path}: {tokens} tokens");
    }
    broker.stop_and_check().await;
}

/// Each tool with hints, arguments and result fields.
async fn catalogue(path: &str) -> String {
    let broker = TestBroker::start().await;
    let mut text = String::new();
    for tool in all_tools(&TestClient::new(broker.url(path))).await {
        let hints = tool["annotations"].as_object().unwrap();
        let hints: Vec<_> = hints.iter().filter(|(_, on)| **on == true).map(|(hint, _)| hint.as_str()).collect();
        let (name, title) = (tool["name"].as_str().unwrap(), tool["title"].as_str().unwrap());
        writeln!(text, "{name}: {title} [{}]", hints.join(" ")).unwrap();
        fields(&mut text, &tool["inputSchema"], "  ");
        let answer = operation(&tool).response_schema();
        let fields: Vec<_> = answer["properties"].as_object().unwrap().keys().cloned().collect();
        writeln!(text, "  -> {}\n", fields.join(" ")).unwrap();
    }
    text
}

fn fields(text: &mut String, schema: &Value, indent: &str) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"].as_array().is_some_and(|required| required.contains(&Value::from(&**name)));
        write!(text, "{indent}{name}{}: {}", if required { "" } else { "?" }, field["type"].as_str().unwrap()).unwrap();
        if let Some(words) = field["enum"].as_array() {
            write!(text, " {}", words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join("|")).unwrap();
        }
        if let Some(minimum) = field.get("minimum") {
            write!(text, " from {minimum}").unwrap();
        }
        text.push('\n');
        fields(text, field, &format!("{indent}  "));
    }
}

#[tokio::test]
async fn every_tool_has_hints_and_descriptions() {
    let broker = TestBroker::start().await;
    for path in ["/mcp", "/mcp/proposer", "/mcp/reviewer", "/mcp/operator"] {
        for tool in all_tools(&TestClient::new(broker.url(path))).await {
            let name = tool["name"].as_str().unwrap();
            let reads = name.starts_with("get_") || name.starts_with("list_");
            let hints = &tool["annotations"];
            assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&reads.into(), &false.into()), "{name}");
            // Without a key each proposal creates another review.
            let repeatable = name != "create_review" && name != "spawn_reviewer";
            assert_eq!(hints["openWorldHint"], false, "{name}");
            assert_eq!(hints["idempotentHint"], repeatable, "{name}");
            assert!(tool["description"].as_str().unwrap().len() > 80, "{name}");
            for (field, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{name}: {field} is not described");
            }
        }
    }
}

#[tokio::test]
async fn every_answer_matches_the_schema_of_its_operation() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        let arguments = arguments_for(name, &broker).await;
        assert_eq!(violations(&tool["inputSchema"], &arguments), [] as [String; 0], "{name}: the scene's own call");
        let answer = client.call(name, arguments).await;
        let schema = Value::Object(operation(&tool).response_schema());
        assert_eq!(violations(&schema, &answer), [] as [String; 0], "{name}");
        let promised = schema["properties"].as_object().unwrap();
        for field in answer.as_object().unwrap().keys() {
            assert!(promised.contains_key(field), "{name} returns {field}, which is not in its schema");
        }
    }
    broker.stop_and_check().await;
}
