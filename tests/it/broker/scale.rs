//! A large database costs no more per call than a small one. `cargo xtask bench scale` measures it; this test only
//! detects
//! gross regressions.

use crate::support::{
    broker::TestBroker,
    database::{Stored, fill, index},
};
use serde_json::json;
use std::time::{Duration, Instant};

const FEW: usize = 200;
const MANY: usize = 20_000;

#[tokio::test]
async fn a_page_of_many_reviews_takes_as_long_as_one_of_few() {
    for stored in [Stored::Pending, Stored::Begun, Stored::Cancelled] {
        let (few, many) = (broker_with(FEW, stored).await, broker_with(MANY, stored).await);
        let status = if stored == Stored::Cancelled { "cancelled" } else { "pending" };
        for arguments in [
            json!({ "status": status }),
            json!({ "status": status, "caller_id": "bob" }),
            json!({ "status": status, "caller_id": "bob", "cursor": cursor(&many, status).await }),
            json!({}),
            json!({ "status": "claimed" }),
            json!({ "status": status, "category": "handoff" }),
            json!({ "proposer": "mallory" }),
            json!({ "proposer": "mallory", "status": "cancelled" }),
            json!({ "persona": "performance", "status": "cancelled" }),
            json!({ "branch": "no-such-branch" }),
            json!({ "q": "stored", "details": true }),
            json!({ "my_turn": true, "caller_id": "mallory", "role": "proposer", "status": "cancelled" }),
        ] {
            let (small, large) = (page_time(&few, &arguments).await, page_time(&many, &arguments).await);
            // A hundred times as many rows; a full scan would take far longer than this.
            let bound = small * 10 + Duration::from_millis(10);
            assert!(large < bound, "{arguments} of {stored:?}: {large:?} with {MANY} reviews, {small:?} with {FEW}");
        }
    }
}

/// These read every review, but only a few bytes of each.
#[tokio::test]
async fn a_search_and_counts_of_many_reviews_are_quick() {
    let many = broker_with(MANY, Stored::Cancelled).await;
    let rest = many.rest();
    for path in [
        "/reviews?q=not-found",
        "/reviews?q=not-found&proposer=mallory",
        "/reviews/counts",
        "/reviews/counts?project=project",
        "/reviews/counts?proposer=mallory",
        "/reviews/counts?persona=general",
        "/reviews/counts?q=not-found&caller_id=mallory",
    ] {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            rest.get(path).await.is(200);
            best = best.min(began.elapsed());
        }
        println!("{path}: {best:?} with {MANY} reviews");
        assert!(best < Duration::from_millis(100), "{path}: {best:?} with {MANY} reviews");
    }
}

#[tokio::test]
async fn a_page_of_a_long_past_takes_as_long_as_one_of_a_short() {
    // A page cannot scan them all: there are three times as many events as it reads.
    let (few, many) = (broker_with(FEW, Stored::Lived).await, broker_with(3_000, Stored::Lived).await);
    for (tool, arguments) in [
        ("get_audit_log", json!({})),
        ("get_audit_log", json!({ "order": "oldest" })),
        ("get_audit_log", json!({ "review_id": "R-100" })),
        ("get_audit_log", json!({ "kind": "closed" })),
        ("get_audit_log", json!({ "actor": "reviewer-7", "cursor": "1500" })),
        ("get_audit_log", json!({ "since": "2023-11-15", "order": "oldest" })),
        ("get_activity_feed", json!({})),
        ("get_review_timeline", json!({ "review_id": "R-100" })),
        ("get_review_stats", json!({ "until": "2023-11-14T23:00:00Z" })),
    ] {
        let (small, large) = (time_of(&few, tool, &arguments).await, time_of(&many, tool, &arguments).await);
        let bound = small * 10 + Duration::from_millis(10);
        assert!(large < bound, "{tool} {arguments}: {large:?} with many, {small:?} with few");
    }
}

#[tokio::test]
async fn a_stored_review_is_not_awake_until_it_is_touched() {
    let broker = broker_with(FEW, Stored::Pending).await;
    assert!(broker.live_reviews().await.is_empty());
    broker.client().claim("R-7", "ada").await;
    assert_eq!(broker.live_reviews().await.len(), 1);
}

async fn broker_with(reviews: usize, stored: Stored) -> TestBroker {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), reviews, stored).await;
    index(home.path()).await;
    TestBroker::in_home(home, "").await
}

/// The best of several runs, so that a busy machine does not matter.
async fn page_time(broker: &TestBroker, arguments: &serde_json::Value) -> Duration {
    time_of(broker, "list_reviews", arguments).await
}

async fn time_of(broker: &TestBroker, tool: &str, arguments: &serde_json::Value) -> Duration {
    let client = broker.client();
    let mut best = Duration::MAX;
    for _ in 0..15 {
        let began = Instant::now();
        client.call(tool, arguments.clone()).await;
        best = best.min(began.elapsed());
    }
    best
}

/// Somewhere in the middle of the list.
async fn cursor(broker: &TestBroker, status: &str) -> String {
    let page =
        broker.client().call("list_reviews", json!({ "status": status, "caller_id": "bob", "limit": 100 })).await;
    page["next_cursor"].as_str().unwrap().to_owned()
}
