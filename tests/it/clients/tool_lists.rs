//! What the real Claude Code and Codex send to their model about the broker's tools, with every request.

use crate::support::{
    agent_clients::{Client, ClientRun, are_skipped},
    broker::TestBroker,
    model_server::{ModelServer, Script},
};
use serde_json::{Value, json};

/// The size of the parts of a request that describe the broker's tools.
fn described(request: &str) -> usize {
    let request: Value = serde_json::from_str(request).unwrap();
    let tools = request["tools"].as_array().into_iter().flatten().map(Value::to_string);
    tools
        .filter(|tool| tool.contains("mcp__countersign") || tool.contains("claim_generation"))
        .map(|tool| tool.len())
        .sum()
}

/// The tokenizer of Claude is not public; 3.6 bytes per token is less than models need for such text. That of Codex's
/// models is: `o200k_base` takes 4.4 bytes of these lists per token.
async fn is_small(client: Client, millibytes_per_token: usize) {
    if are_skipped(&format!("what {client:?} sends of the tools")) {
        return;
    }
    let broker = TestBroker::start().await;
    for path in ["/mcp/proposer", "/mcp/reviewer"] {
        let script = Script::new().call("list_reviews", json!({})).expect("seq", 0).finish("listed");
        let model = ModelServer::start(script).await;
        ClientRun::new(client, &model, &broker.url(path)).start().finish().await.assert_ok();
        let bytes = model.requests().iter().map(|request| described(request)).max().unwrap_or(0);
        let tokens = bytes * 1_000 / millibytes_per_token;
        println!("{client:?} {path}: {bytes} bytes, {tokens} tokens");
        assert!((1_000..5_000).contains(&tokens), "{client:?} {path}: {bytes} bytes, {tokens} tokens");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn claude_code_sends_under_5000_tokens_of_tools_per_role() {
    is_small(Client::Claude, 3_600).await;
}

#[tokio::test]
async fn codex_sends_under_5000_tokens_of_tools_per_role() {
    is_small(Client::Codex, 4_400).await;
}
