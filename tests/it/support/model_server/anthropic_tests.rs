use serde_json::{Value, json};

use super::{ModelServer, Script};

async fn post(model: &ModelServer, path: &str, request: Value) -> String {
    let sent = reqwest::Client::new().post(format!("{}/v1/{path}", model.anthropic_url())).json(&request);
    sent.send().await.unwrap().error_for_status().unwrap().text().await.unwrap()
}

async fn reply(script: &Script, request: Value) -> Value {
    let model = ModelServer::start(script.clone()).await;
    let message: Value = serde_json::from_str(&post(&model, "messages", request).await).unwrap();
    message["content"][0].clone()
}

#[tokio::test]
async fn deferred_tools_are_loaded_before_they_are_called() {
    let script = Script::new().call("claim_review", json!({ "review_id": 1 })).call("close_review", json!({}));
    let tools = json!([{ "name": "ToolSearch" }]);
    let listed =
        json!({ "role": "user", "content": "Deferred: mcp__broker__claim_review, mcp__broker__close_review." });

    let search = reply(&script, json!({ "tools": tools, "messages": [listed] })).await;
    let searched = json!({ "role": "assistant", "content": [search] });
    let call = reply(&script, json!({ "tools": tools, "messages": [listed, searched] })).await;

    assert_eq!(search["name"], "ToolSearch");
    assert_eq!(search["input"]["query"], "select:mcp__broker__claim_review,mcp__broker__close_review");
    assert_eq!((&call["name"], &call["input"]), (&json!("mcp__broker__claim_review"), &json!({ "review_id": 1 })));
}

#[tokio::test]
async fn results_advance_the_script() {
    let script = Script::new().call("claim", json!({})).save("id").finish("${id}");
    let tools = json!([{ "name": "mcp__broker__claim" }]);

    let call = reply(&script, json!({ "tools": tools, "messages": [] })).await;
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": [{ "type": "text", "text": "{\"id\":7}" }] });
    let end = reply(&script, json!({ "tools": tools, "messages": [{ "role": "user", "content": [result] }] })).await;

    assert_eq!(end["text"], "SCRIPT-OK 7");
}

#[tokio::test]
async fn side_requests_get_a_harmless_answer() {
    let model = ModelServer::start(Script::new().call("claim", json!({}))).await;

    let title = post(&model, "messages", json!({ "messages": [], "stream": true })).await;
    let tokens = post(&model, "messages/count_tokens", json!({ "messages": [] })).await;

    assert!(title.starts_with("event: message_start\n") && title.contains("text_delta"), "{title}");
    assert_eq!(tokens, r#"{"input_tokens":3}"#);
    assert!(model.replies().is_empty());
}
