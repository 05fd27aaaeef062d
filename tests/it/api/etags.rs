//! ETag, If-Match and If-None-Match: a change made for an outdated version is refused.

use crate::support::{
    broker::TestBroker,
    client::proposal_with,
    rest_client::{Answer, RestClient, sent},
};
use futures::future::join_all;
use serde_json::{Value, json};

async fn if_match(rest: &RestClient, method: &str, path: &str, tag: &str, body: Value) -> Answer {
    sent(rest.request(method, path).header("if-match", tag).body(body.to_string())).await
}

#[tokio::test]
async fn the_etag_of_a_review_is_its_version() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let id = mcp.submit("to be tagged").await;
    for path in [format!("/reviews/{id}"), format!("/reviews/{id}/status"), format!("/reviews/{id}/diff")] {
        let read = rest.get(&path).await;
        assert_eq!(read.header("etag"), Some("\"1\""), "{path}");
        assert_eq!(read.is(200)["version"], 1);
        let known = sent(rest.request("GET", &path).header("if-none-match", "\"0\", W/\"1\"")).await;
        assert_eq!((known.status, known.text.as_str(), known.header("etag")), (304, "", Some("\"1\"")), "{path}");
        let other = sent(rest.request("GET", &path).header("if-none-match", "\"7\"")).await;
        other.is(200);
    }
    let claimed = rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": "ada" })).await;
    assert_eq!(claimed.header("etag"), Some("\"2\""), "a change tells the new one");
    assert_eq!(rest.get("/reviews").await.header("etag"), None);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_one_of_two_changes_with_the_same_if_match_succeeds() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let id = mcp.submit("raced for").await;
    mcp.claim(&id, "ada").await;
    let at = format!("/reviews/{id}/verdict");
    for version in 2..6_u64 {
        let tag = format!("\"{version}\"");
        let racing = (0..12).map(|n| {
            let body = json!({ "verdict": "comment", "reviewer_id": "ada", "reason": format!("{version}-{n}") });
            if_match(&rest, "POST", &at, &tag, body)
        });
        let answers = join_all(racing).await;
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!(made[0].json()["version"], version + 1);
        for answer in refused {
            let no = answer.refused(412, "version_mismatch");
            assert_eq!((&no["given"], &no["current"]), (&json!(version), &json!(version + 1)));
        }
    }
    assert_eq!(mcp.status(&id).await["version"], 6);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_change_of_a_review_accepts_if_match() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let proposal = proposal_with("bound", json!({ "diff": broker.repo().diff("zwei") }));
    let id = mcp.call("create_review", proposal).await["review_id"].as_str().unwrap().to_owned();
    let at = |below: &str| format!("/reviews/{id}{below}");
    // The claim waits for git, and If-Match is compared again afterwards.
    let claim = json!({ "reviewer_id": "ada" });
    if_match(&rest, "POST", &at("/claim"), "\"7\"", claim.clone()).await.refused(412, "version_mismatch");
    if_match(&rest, "POST", &at("/claim"), "\"1\"", claim).await.is(200);
    let issue = json!({ "severity": "low", "title": "a nit" });
    let patch = json!({
        "verdict": "changes_requested", "reviewer_id": "ada", "reason": "so", "counter_patch": broker.repo().diff("dos"),
        "issues": [issue],
    });
    if_match(&rest, "POST", &at("/verdict"), "\"2\"", patch).await.is(200);
    let issues = rest.get(&at("/issues")).await.is(200);
    let issue = format!("/issues/{}", issues["issues"][0]["issue_id"].as_str().unwrap());
    let changes = [
        ("PATCH", at(&issue), json!({ "status": "fixed", "role": "operator", "caller_id": "boss" })),
        (
            "PATCH",
            issue.clone(),
            json!({ "review_id": id, "status": "fixed", "role": "operator", "caller_id": "boss" }),
        ),
        ("POST", at("/messages"), json!({ "sender_role": "proposer", "body": "why?" })),
        ("POST", at("/counter-patch/accept"), json!({})),
        ("POST", at("/counter-patch/reject"), json!({})),
        ("POST", at("/resubmit"), json!({ "intent": "again" })),
        ("POST", at("/release"), json!({ "reviewer_id": "ada" })),
        ("POST", at("/cancel"), json!({ "reason": "enough" })),
        ("DELETE", at("?reason=enough"), json!({})),
        ("POST", at("/close"), json!({ "closer_role": "proposer" })),
    ];
    let before = mcp.status(&id).await;
    for (method, path, body) in &changes {
        if_match(&rest, method, path, "\"1\"", body.clone()).await.refused(412, "version_mismatch");
        for odd in ["3", "W/\"3\"", "\"1\", \"2\"", "\"x\""] {
            if_match(&rest, method, path, odd, body.clone()).await.refused(422, "invalid_argument");
        }
    }
    assert_eq!(mcp.status(&id).await, before, "nothing of them was done");
    if_match(&rest, "POST", &at("/counter-patch/accept"), "\"3\"", json!({})).await.is(200);
    if_match(&rest, "DELETE", &at("?reason=enough"), "*", json!({})).await.is(200);
    broker.stop_and_check().await;
}
