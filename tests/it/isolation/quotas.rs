//! A caller that sends too much is refused until time has passed; others are not affected.

use crate::support::{broker::TestBroker, tokens::create_token};
use serde_json::{Value, json};

/// Sends a request of this size.
async fn send(broker: &TestBroker, bytes: usize, token: Option<&str>) -> (u16, Option<String>, Value) {
    let body = json!({ "intent": "fill the disk", "description": "x".repeat(bytes) });
    let mut request = reqwest::Client::new().post(broker.url("/api/v1/reviews")).json(&body);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    let retry = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    (answer.status().as_u16(), retry, answer.json().await.unwrap())
}

#[tokio::test]
async fn a_caller_that_fills_the_disk_is_stopped() {
    let settings = "[limits]\ncaller_bytes = 1048576\ntext_chars = 10000000\n";
    let broker = TestBroker::with_settings(settings).await;
    let (ada, bob) = (
        create_token(broker.home(), "operator", "ada", &[]).await,
        create_token(broker.home(), "operator", "bob", &[]).await,
    );
    for caller in [Some(ada.as_str()), None] {
        for _ in 0..2 {
            let (status, _, answer) = send(&broker, 400_000, caller).await;
            assert_ne!(status, 429, "{answer}");
        }
        let (status, retry, refused) = send(&broker, 400_000, caller).await;
        assert_eq!((status, &refused["code"], &refused["retryable"]), (429, &json!("quota_exceeded"), &json!(true)));
        let seconds: u64 = retry.unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{refused}");
        assert!(refused["error"].as_str().unwrap().contains("limits.caller_bytes"), "{refused}");
        // Small requests go on.
        let (status, _, answer) = send(&broker, 10, caller).await;
        assert_ne!(status, 429, "{answer}");
    }
    assert_ne!(send(&broker, 400_000, Some(&bob)).await.0, 429, "another caller");
    broker.stop_and_check().await;
}
