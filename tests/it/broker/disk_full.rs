//! A full disk: calls report that nothing was saved, stored data stays readable, and acknowledged changes are kept.

use crate::support::{
    broker::{TestBroker, reviews_in},
    client::{TestClient, id, proposal_with},
};
use serde_json::{Value, json};
use std::time::Duration;

/// No file may grow beyond 2 or 4 MiB (shells count in blocks of 512 or 1024 bytes); writes fail then
/// as they do on a full disk.
const SMALL_DISK: &str = "trap '' XFSZ; ulimit -f 4096";

fn large(n: usize) -> Value {
    let description = format!("{n} ").repeat(60_000);
    proposal_with(&format!("large {n}"), json!({ "description": description, "idempotency_key": format!("{n}") }))
}

/// Proposes until the disk is full: the acknowledged proposals, and the first that failed.
async fn fill(client: &TestClient) -> (Vec<Value>, usize) {
    let mut acknowledged = Vec::new();
    for n in 0..200 {
        match client.try_call("create_review", large(n)).await {
            Ok(answer) => acknowledged.push(answer),
            Err(error) => {
                assert_eq!((&error["code"], &error["retryable"]), (&"not_saved".into(), &true.into()), "{error}");
                return (acknowledged, n);
            }
        }
    }
    panic!("the disk is never full");
}

#[tokio::test]
async fn on_a_full_disk_no_acknowledged_change_is_lost() {
    let broker = TestBroker::with_prelude(SMALL_DISK, "").await;
    let client = broker.client();
    let claimed = client.submit("claimed before").await;
    client.claim(&claimed, "ada").await;
    let (acknowledged, refused) = fill(&client).await;
    println!("{} proposals of 120 kB until the disk was full", acknowledged.len());

    // A change of an existing review fails, and its actor restarts from the snapshot.
    let body = "why? ".repeat(30_000);
    let message = json!({ "review_id": claimed, "sender_role": "reviewer", "body": body });
    client.refused("not_saved", "add_message", message.clone()).await;
    let tree = broker
        .until("the failed review was started again", |tree| {
            reviews_in(tree).iter().any(|review| review["restarts"] == 1 && review["state"] == "claimed")
        })
        .await;
    let failed = reviews_in(&tree).into_iter().find(|review| review["restarts"] == 1).unwrap();
    assert!(failed["last_error"].as_str().unwrap().starts_with("not saved: "), "{failed}");
    let metrics = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("countersign_actor_restarts_total{kind=\"review\"} 1\n"), "{metrics}");
    let status = client.status(&claimed).await;
    assert_eq!((&status["status"], &status["version"]), (&"claimed".into(), &2.into()));
    let discussion = client.call("get_discussion", json!({ "review_id": claimed })).await;
    assert_eq!(discussion["messages"], json!([]));

    // Reads work and show only acknowledged changes.
    let mut listed = Vec::new();
    let mut page = json!({ "status": "pending" });
    loop {
        let answer = client.call("list_reviews", page.clone()).await;
        listed.extend(answer["reviews"].as_array().unwrap().iter().map(id));
        match answer.get("next_cursor") {
            Some(cursor) => page["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(listed, acknowledged.iter().map(id).collect::<Vec<_>>());
    for answer in &acknowledged {
        let proposal = client.call("get_proposal", json!({ "review_id": id(answer) })).await;
        assert_eq!(proposal["content_hash"], answer["content_hash"]);
    }
    let tree = broker.actors().await;
    assert_eq!(reviews_in(&tree).len(), acknowledged.len() + 1, "a proposal that was not saved is not kept: {tree}");
    let mut broker = broker;
    assert!(broker.terminate().await.success(), "{}", broker.log());

    let broker = broker.restarted_freely().await;
    for answer in &acknowledged {
        let status = client.status(&id(answer)).await;
        assert_eq!((&status["version"], &status["content_hash"]), (&1.into(), &answer["content_hash"]));
    }
    // A failed call can be repeated.
    client.call("add_message", message).await;
    let again = client.call("create_review", large(refused)).await;
    assert_eq!(again["version"], 1);
    assert_eq!(client.status(&claimed).await["version"], 3);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lease_that_expires_on_a_full_disk_ends_once_there_is_space() {
    let mut broker = TestBroker::with_prelude(SMALL_DISK, "[claims]\nlease = \"5s\"").await;
    let client = broker.client();
    // Many claims, so that their ends do not fit on the disk.
    let mut claimed = Vec::new();
    for n in 0..3 {
        let review = client.submit(&format!("claimed {n}")).await;
        client.claim(&review, "ada").await;
        claimed.push(review);
    }
    fill(&client).await;
    // Small changes may still fit, so continue until one fails.
    for n in 0..2000 {
        if client.try_call("create_review", proposal_with(&format!("small {n}"), json!({}))).await.is_err() {
            break;
        }
    }
    let restarts = |tree: &Value| reviews_in(tree).iter().map(|review| review["restarts"].as_u64().unwrap()).sum();
    let first: u64 = restarts(&broker.until("a lease cannot be ended", |tree| restarts(tree) > 0).await);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let later: u64 = restarts(&broker.actors().await);
    println!("{first} failures at first, {later} after 3 s");
    assert!(later <= first + 3 * 4, "it tries again and again: {first}, then {later}");
    broker.kill().await;
    let broker = broker.restarted_freely().await;
    for review in &claimed {
        let wait = json!({ "review_id": review, "wait": true, "since": 2, "timeout_seconds": 50 });
        let status = client.call("get_review_status", wait).await;
        assert_eq!((&status["status"], &status["claim_generation"]), (&"pending".into(), &2.into()));
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_written_does_not_stop_the_broker() {
    let broker = TestBroker::with_prelude("exec 2>/dev/full", "").await;
    let client = broker.client();
    let review = client.submit("unheard of").await;
    client.claim(&review, "ada").await;
    client.refused("already_claimed", "claim_review", json!({ "review_id": review, "reviewer_id": "bob" })).await;
    broker.stop_and_check().await;
}
