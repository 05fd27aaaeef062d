//! MCP resources and prompts, through a real client library.

use crate::support::{broker::TestBroker, client::proposal_with, reviews::review_in, rmcp_client::Library};
use rmcp::{
    ServiceError,
    model::{ErrorCode, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams, ResourceContents},
};
use serde_json::{Value, json};

const REVISIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

#[tokio::test]
async fn the_queue_and_every_review_are_resources() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = client.submit("first").await;
    review_in(&client, "approved").await;
    for revision in &REVISIONS {
        let library = Library::connect(broker.mcp_url(), revision).await;
        let resources = library.0.list_all_resources().await.unwrap();
        let uris: Vec<_> = resources.iter().map(|resource| resource.uri.as_str()).collect();
        assert_eq!((uris[0], uris.len()), ("review://queue", 3));
        assert!(uris.contains(&format!("review://{id}").as_str()));
        let templates = library.0.list_all_resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "review://{id}");

        let queue = read(&library, "review://queue").await;
        assert_eq!((&queue["reviews"][0]["review_id"], &queue["reviews"][1]), (&json!(id), &Value::Null));
        for name in [&id, "R-1", &id[..8]] {
            let review = read(&library, &format!("review://{name}")).await;
            assert_eq!((&review["intent"], &review["review_id"]), (&json!("first"), &json!(id)));
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unknown_resource_is_not_found() {
    let broker = TestBroker::start().await;
    for revision in &REVISIONS {
        let library = Library::connect(broker.mcp_url(), revision).await;
        for uri in ["review://R-1", "review://", "file:///etc/passwd", "review://../queue"] {
            let error = library.0.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap_err();
            let ServiceError::McpError(error) = error else { panic!("{error}") };
            let expected =
                if revision.has_initialize() { ErrorCode::RESOURCE_NOT_FOUND } else { ErrorCode::INVALID_PARAMS };
            assert_eq!(error.code, expected, "{uri}: {error:?}");
        }
    }
}

#[tokio::test]
async fn resources_are_paginated() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for n in 0..55 {
        client.call("create_review", proposal_with(&format!("{n}"), json!({}))).await;
    }
    let library = Library::connect(broker.mcp_url(), &ProtocolVersion::V_2025_11_25).await;
    let first = library.0.list_resources(None).await.unwrap();
    assert!(first.next_cursor.is_some());
    assert_eq!(library.0.list_all_resources().await.unwrap().len(), 56);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn prompts_contain_their_arguments() {
    let broker = TestBroker::start().await;
    for revision in &REVISIONS {
        let library = Library::connect(broker.mcp_url(), revision).await;
        let names: Vec<_> = library.0.list_all_prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
        assert_eq!(names, ["propose", "review"]);
        let propose = prompt(&library, "propose", json!({ "intent": "rename the key" })).await;
        assert!(propose.contains("rename the key") && propose.contains("create_review"), "{propose}");
        let review = prompt(&library, "review", json!({ "review_id": "R-7", "reviewer_id": "ada" })).await;
        assert!(review.contains("R-7") && review.contains("ada") && review.contains("claim_review"), "{review}");
        let next = prompt(&library, "review", json!({})).await;
        assert!(next.contains("next pending review"), "{next}");
        assert!(next.contains("Stop after this review") && !next.contains("5. Go back"), "{next}");
        let unknown = library.0.get_prompt(GetPromptRequestParams::new("merge")).await.unwrap_err();
        assert!(unknown.to_string().contains("propose, review"), "{unknown}");
    }
}

async fn read(library: &Library, uri: &str) -> Value {
    let result = library.0.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    let ResourceContents::TextResourceContents { text, .. } = &result.contents[0] else { panic!("{result:?}") };
    serde_json::from_str(text).unwrap()
}

async fn prompt(library: &Library, name: &str, arguments: Value) -> String {
    let arguments = serde_json::from_value(arguments).unwrap();
    let request = GetPromptRequestParams::new(name).with_arguments(arguments);
    let result = library.0.get_prompt(request).await.unwrap();
    serde_json::to_string(&result.messages).unwrap()
}
