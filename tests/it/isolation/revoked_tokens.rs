//! A revoked token ends at once whatever its holder has open.

use crate::support::{
    broker::TestBroker,
    subscriber::{Subscriber, TRANSPORTS},
    tokens::{create_token, token_stdout},
};
use serde_json::json;
use std::time::{Duration, Instant};

/// Well before the heartbeat of a stream and the end of a long wait.
const AT_ONCE: Duration = Duration::from_secs(8);

#[tokio::test]
async fn streams_and_waiting_calls_end_with_their_token() {
    let broker = TestBroker::start().await;
    let secret = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let other = create_token(broker.home(), "reviewer", "bob", &[]).await;
    let mut streams = Vec::new();
    for transport in TRANSPORTS {
        streams.push(Subscriber::open(&broker, transport, "", Some(&secret)).await.0);
    }
    let (mut kept, _) = Subscriber::open(&broker, TRANSPORTS[0], "", Some(&other)).await;
    let wait = |token: &str| {
        let wait = json!({ "status": "pending", "wait": true, "timeout_seconds": 50 });
        let call = broker.client().with_token(token).try_call("list_reviews", wait);
        tokio::spawn(call)
    };
    let (over_mcp, kept_waiting) = (wait(&secret), wait(&other));
    let url = broker.url("/api/v1/reviews?status=pending&wait=true&timeout_seconds=50");
    let over_rest = tokio::spawn(reqwest::Client::new().get(url).bearer_auth(&secret).send());
    broker.until_waiting(3).await;

    let revoked = Instant::now();
    token_stdout(broker.home(), &["revoke", "ada"]).await;
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap()["reason"], "token_revoked");
    }
    let answer = over_rest.await.unwrap().unwrap();
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("unknown_token"));
    let refused = over_mcp.await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("revoked"), "{refused}");
    assert!(revoked.elapsed() < AT_ONCE, "after {:?}", revoked.elapsed());

    // Others notice nothing.
    broker.until_waiting(1).await;
    assert!(kept.is_silent(Duration::from_millis(50)).await);
    kept_waiting.abort();
    broker.stop_and_check().await;
}
