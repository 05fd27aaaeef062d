//! Which responses are compressed.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
};
use flate2::read::GzDecoder;
use reqwest::{Client, Response, header::HeaderMap};
use serde_json::json;
use std::io::Read as _;

async fn get(broker: &TestBroker, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = Client::new().get(broker.url(path));
    let answer = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer
}

/// The headers, the bytes as sent, and the text that they mean.
async fn read(answer: Response) -> (HeaderMap, usize, String) {
    let (headers, bytes) = (answer.headers().clone(), answer.bytes().await.unwrap());
    let mut text = String::new();
    match headers.get("content-encoding") {
        Some(encoding) => {
            assert_eq!(encoding, "gzip");
            GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        }
        None => text = String::from_utf8(bytes.to_vec()).unwrap(),
    }
    (headers, bytes.len(), text)
}

const GZIP: (&str, &str) = ("accept-encoding", "gzip, deflate, br, zstd");

#[tokio::test]
async fn a_large_text_is_compressed_for_a_client_that_accepts_it() {
    let broker = TestBroker::start().await;
    // More than what is sent in one piece.
    let added = (0..20_000).fold(String::new(), |text, line| text + &format!("+line {line}\n"));
    let diff = format!("--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,20000 @@\n{added}");
    let review = id(&broker.client().call("create_review", proposal_with("long", json!({ "diff": diff }))).await);
    let diff_path = format!("/api/v1/reviews/{review}/diff");
    for (path, accept) in [
        ("/api/v1/openapi.json", "application/json"),
        ("/metrics", "*/*"),
        (diff_path.as_str(), "text/x-diff"),
        (diff_path.as_str(), "application/json"),
    ] {
        let accept = ("accept", accept);
        let (headers, size, text) = read(get(&broker, path, &[GZIP, accept]).await).await;
        assert_eq!(headers["content-encoding"], "gzip", "{path}");
        let vary: Vec<_> = headers.get_all("vary").iter().map(|value| value.to_str().unwrap()).collect();
        assert!(vary.contains(&"accept-encoding"), "{path}: {vary:?}");
        let (plain, plain_size, plain_text) = read(get(&broker, path, &[accept]).await).await;
        assert!(!plain.contains_key("content-encoding"), "{path}");
        assert_eq!(plain.get("etag"), headers.get("etag"), "{path}");
        assert!(size * 3 < plain_size * 2, "{path}: {size} of {plain_size}");
        if path != "/metrics" {
            assert!(text == plain_text, "{path}");
        }
        let refused = ("accept-encoding", "gzip;q=0, identity");
        assert!(!get(&broker, path, &[refused, accept]).await.headers().contains_key("content-encoding"), "{path}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn small_responses_events_and_tool_calls_are_not_compressed() {
    let broker = TestBroker::start().await;
    for number in 0..20 {
        broker.client().submit(&format!("number {number}")).await;
    }
    for path in ["/healthz", "/api/v1/reviews?limit=1", "/api/v1/events?since=0&follow=false"] {
        let (headers, ..) = read(get(&broker, path, &[GZIP]).await).await;
        assert!(!headers.contains_key("content-encoding"), "{path}: {headers:?}");
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let request = Client::new().post(broker.mcp_url()).header(GZIP.0, GZIP.1).json(&call);
    let answer = request.header("accept", "application/json, text/event-stream").send().await.unwrap();
    let (headers, size, text) = read(answer).await;
    assert!(!headers.contains_key("content-encoding") && size > 1024 && text.contains("claim_review"), "{headers:?}");
    broker.stop_and_check().await;
}
