use serde_json::{Value, json};

use super::{ModelServer, Script};

async fn reply(script: &Script, request: Value) -> Value {
    let model = ModelServer::start(script.clone()).await;
    let sent = reqwest::Client::new().post(format!("{}/responses", model.openai_url())).json(&request);
    let events = sent.send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
    assert!(events.trim_end().rsplit("\n\n").next().unwrap().starts_with("event: response.completed\n"), "{events}");
    model.replies().remove(0)
}

#[tokio::test]
async fn a_tool_in_a_namespace_is_called_there() {
    let script = Script::new().call("claim_review", json!({ "review_id": 1 }));
    let tools = json!([
        { "type": "function", "name": "exec_command" },
        { "type": "namespace", "name": "mcp__broker", "tools": [{ "type": "function", "name": "claim_review" }] },
    ]);

    let call = reply(&script, json!({ "tools": tools, "input": [] })).await;

    assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__broker"), &json!("claim_review")));
    assert_eq!(call["arguments"], r#"{"review_id":1}"#);
}

#[tokio::test]
async fn hidden_tools_are_searched_for_once() {
    let script = Script::new().call("claim_review", json!({}));
    let tools = json!([{ "type": "tool_search" }]);
    let found_nothing = json!([{ "type": "tool_search_output", "tools": [] }]);

    let search = reply(&script, json!({ "tools": tools, "input": [] })).await;
    let given_up = reply(&script, json!({ "tools": tools, "input": found_nothing })).await;

    assert_eq!(search["arguments"]["query"], "claim_review claim review");
    assert_eq!(given_up["content"][0]["text"], "SCRIPT-FAILED claim_review is not offered, only tool_search");
}

#[tokio::test]
async fn a_running_program_is_polled_and_counts_once() {
    let script = Script::new().call("get_proposal", json!({})).save("intent").finish("${intent}");
    let tools = json!([{ "type": "custom", "name": "exec" }, { "type": "function", "name": "wait" }]);
    let running =
        json!({ "type": "custom_tool_call_output", "output": "Script running with cell ID 7\nWall time 30 s" });
    let done = json!({ "type": "function_call_output", "output": [{ "type": "input_text", "text": "{\"intent\":\"rename\"}" }] });

    let program = reply(&script, json!({ "tools": tools, "input": [] })).await;
    let wait = reply(&script, json!({ "tools": tools, "input": [running] })).await;
    let end = reply(&script, json!({ "tools": tools, "input": [running, done] })).await;

    assert_eq!((&program["type"], &program["name"]), (&json!("custom_tool_call"), &json!("exec")));
    assert_eq!(wait["name"], "wait");
    assert!(wait["arguments"].as_str().unwrap().contains(r#""cell_id":"7""#), "{wait}");
    assert_eq!(end["content"][0]["text"], "SCRIPT-OK rename");
}
