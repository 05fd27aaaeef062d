//! Restarts and unloading: claims, leases and waiting clients survive, and reviews are loaded on demand.

use crate::support::{
    broker::{TIMEOUT, TestBroker, reviews_in},
    client::{TestClient, id},
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

async fn send_back(client: &TestClient, review: &str, reviewer: &str) {
    client.claim(review, reviewer).await;
    let verdict =
        json!({ "review_id": review, "reviewer_id": reviewer, "verdict": "changes_requested", "reason": "no" });
    client.call("submit_verdict", verdict).await;
}

/// Waits until the queue has all of `reviews`. The queue loads no review.
async fn until_pending(client: &TestClient, reviews: &[String]) {
    let wanted: HashSet<_> = reviews.iter().cloned().collect();
    let (mut since, patience) = (0, Instant::now() + TIMEOUT);
    loop {
        let wait = json!({ "status": "pending", "wait": true, "since": since, "limit": 200, "timeout_seconds": 5,
                           "caller_id": "reader" });
        let answer = client.call("list_reviews", wait).await;
        since = answer["seq"].as_u64().unwrap();
        let pending: HashSet<_> = answer["reviews"].as_array().unwrap().iter().map(id).collect();
        if wanted.is_subset(&pending) {
            return;
        }
        assert!(Instant::now() < patience, "still waiting for {:?}", wanted.difference(&pending));
    }
}

async fn until_unloaded(broker: &TestBroker) {
    broker.until("no review is loaded", |tree| reviews_in(tree).is_empty()).await;
}

#[tokio::test]
async fn a_claim_survives_a_restart_and_a_client_goes_on() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("interrupted").await;
    let generation = client.claim(&review, "ada").await;
    let mut before = client.status(&review).await;

    let broker = broker.kill_and_restart().await;

    let mut after = client.status(&review).await;
    let [was, is] = [&mut before, &mut after].map(|status| {
        let ends = status["seats"][0].as_object_mut().unwrap().remove("lease_ends_at").unwrap();
        ends.as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    });
    assert!(is.duration_since(was).abs().as_secs_f64() < 1.0, "the clocks were read again: {was}, {is}");
    assert_eq!(after, before);
    let other = json!({ "review_id": review, "reviewer_id": "bob" });
    assert_eq!(client.refused("already_claimed", "claim_review", other).await["claimed_by"], "ada");
    assert_eq!(client.claim(&review, "ada").await, generation);
    let verdict = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    assert_eq!(client.call("submit_verdict", verdict).await["status"], "approved");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lease_continues_after_a_restart_without_any_call() {
    const LEASE: Duration = Duration::from_secs(3);
    let broker = TestBroker::with_settings("[claims]\nlease = \"3s\"").await;
    let client = broker.client();
    let (mut claimed, mut reserved) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for n in 0..5 {
        let review = client.submit(&format!("claimed {n}")).await;
        client.claim(&review, "ada").await;
        claimed.push(review);
        let review = client.submit(&format!("reserved {n}")).await;
        send_back(&client, &review, "ada").await;
        let question = json!({ "review_id": review, "sender_role": "proposer", "body": "why?" });
        client.call("add_message", question).await;
        reserved.push(review);
    }
    let last = Instant::now();

    let broker = broker.kill_and_restart().await;

    until_pending(&client, &[claimed.clone(), reserved.clone()].concat()).await;
    let (since_first, since_last) = (began.elapsed(), last.elapsed());
    println!("a lease of 3 s ended {:?} after it would have", since_last.saturating_sub(LEASE));
    assert!(since_first >= LEASE, "{since_first:?}");
    for review in claimed {
        let status = client.status(&review).await;
        assert_eq!((&status["status"], &status["claim_generation"]), (&"pending".into(), &2.into()));
    }
    for review in reserved {
        assert_eq!(client.status(&review).await["seats"][0]["reserved_for"], Value::Null);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lease_that_expired_while_the_broker_was_down_ends_at_startup() {
    let mut broker = TestBroker::with_settings("[claims]\nlease = \"1s\"").await;
    let client = broker.client();
    let review = client.submit("left alone").await;
    let generation = client.claim(&review, "ada").await;
    broker.kill().await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let broker = broker.restarted().await;
    until_pending(&client, std::slice::from_ref(&review)).await;
    let late = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    let error = client.refused("stale_claim", "submit_verdict", late).await;
    assert_eq!((&error["given"], &error["current"]), (&1.into(), &2.into()));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_message_of_the_reviewer_renews_the_lease_also_after_a_restart() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"6s\"").await;
    let client = broker.client();
    let review = client.submit("slowly read").await;
    client.claim(&review, "ada").await;
    let broker = broker.kill_and_restart().await;
    tokio::time::sleep(Duration::from_millis(1000)).await;
    let message = json!({ "review_id": review, "sender_role": "reviewer", "body": "still reading" });
    client.call("add_message", message).await;
    let said = Instant::now();
    until_pending(&client, std::slice::from_ref(&review)).await;
    assert!(said.elapsed() > Duration::from_secs(5), "{:?}", said.elapsed());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_disconnected_waiter_resumes_without_missing_a_change() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("watched").await;
    let wait = json!({ "review_id": review, "wait": true, "since": 1, "timeout_seconds": 50 });
    let cut_off = tokio::spawn(client.try_call("get_review_status", wait.clone()));
    let queue = client.call("list_reviews", json!({ "status": "pending" })).await["version"].clone();
    let wait_queue = json!({ "status": "pending", "wait": true, "since": queue, "timeout_seconds": 50 });
    broker.until_waiting(1).await;

    let broker = broker.kill_and_restart().await;

    assert!(cut_off.await.unwrap().unwrap_err().get("transport").is_some());
    // One change before the next wait, and one after.
    client.claim(&review, "ada").await;
    assert_eq!(client.call("get_review_status", wait.clone()).await["status"], "claimed");
    let waiting = tokio::spawn(client.call("list_reviews", wait_queue));
    broker.until_waiting(1).await;
    let new = client.submit("new").await;
    assert_eq!(id(&waiting.await.unwrap()["reviews"][0]), new);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_closed_review_leaves_memory_at_once_and_can_still_be_read() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("done").await;
    assert_eq!(broker.live_reviews().await.len(), 1);
    client.call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    until_unloaded(&broker).await;
    assert_eq!(client.status(&review).await["status"], "closed");
    client.refused("wrong_status", "claim_review", json!({ "review_id": review, "reviewer_id": "ada" })).await;
    until_unloaded(&broker).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_idle_review_leaves_memory_and_is_loaded_again_on_demand() {
    let broker = TestBroker::with_settings("[reviews]\nidle_after = \"100ms\"").await;
    let client = broker.client();
    let review = client.submit("idle").await;
    until_unloaded(&broker).await;
    // Reading does not load a review, a change does.
    let before = client.status(&review).await;
    assert_eq!(broker.live_reviews().await.len(), 0);
    assert_eq!(before["version"], 1);
    client.claim(&review, "ada").await;
    assert_eq!(client.status(&review).await["version"], 2);
    // A waiting call keeps it loaded.
    let wait = json!({ "review_id": review, "wait": true, "since": 2, "timeout_seconds": 50 });
    until_unloaded(&broker).await;
    let waiting = tokio::spawn(client.call("get_review_status", wait));
    broker.until_waiting(1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(broker.live_reviews().await.len(), 1);
    client.call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    assert_eq!(waiting.await.unwrap()["status"], "cancelled");
    until_unloaded(&broker).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lease_expires_on_time_while_its_review_is_unloaded() {
    let mut broker = TestBroker::with_settings("[claims]\nlease = \"1h\"").await;
    let client = broker.client();
    let patient = client.submit("for an hour").await;
    client.claim(&patient, "ada").await;
    let settings = "[claims]\nlease = \"2s\"\n[reviews]\nidle_after = \"100ms\"";
    broker.kill().await;
    let broker = broker.restarted_with(settings).await;
    // The next deadline is an hour away until this review is unloaded, too.
    let hasty = client.submit("for two seconds").await;
    let claimed = Instant::now();
    client.claim(&hasty, "ada").await;
    until_unloaded(&broker).await;
    until_pending(&client, std::slice::from_ref(&hasty)).await;
    println!("a lease of 2 s ended after {:?}", claimed.elapsed());
    assert!(claimed.elapsed() >= Duration::from_secs(2));
    assert_eq!(client.status(&patient).await["status"], "claimed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_number_of_loaded_reviews_is_limited_and_leases_are_kept() {
    let settings = "[claims]\nlease = \"6s\"\n[reviews]\nmax_live = 5\n[log]\nfilter = \"warn\"";
    let broker = TestBroker::with_settings(settings).await;
    let client = broker.client();
    let mut reviews = Vec::new();
    for n in 0..40 {
        let review = client.submit(&format!("review {n}")).await;
        client.claim(&review, "ada").await;
        reviews.push(review);
        assert!(broker.live_reviews().await.len() <= 5);
    }
    for review in &reviews {
        let message = json!({ "review_id": review, "sender_role": "reviewer", "body": "reading" });
        client.call("add_message", message).await;
        assert!(broker.live_reviews().await.len() <= 5);
    }
    until_pending(&client, &reviews).await;
    for review in &reviews {
        assert_eq!(client.status(review).await["claim_generation"], 2);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn if_no_review_can_be_unloaded_calls_are_refused_as_retryable() {
    let broker = TestBroker::with_settings("[reviews]\nmax_live = 2").await;
    let client = broker.client();
    let reviews = [client.submit("one").await, client.submit("two").await, client.submit("three").await];
    let wait = |review: &str| {
        let wait = json!({ "review_id": review, "wait": true, "since": 1, "timeout_seconds": 50 });
        tokio::spawn(client.call("get_review_status", wait))
    };
    let waits = [wait(&reviews[0]), wait(&reviews[1])];
    broker.until_waiting(2).await;
    let claim = json!({ "review_id": reviews[2], "reviewer_id": "ada" });
    let error = client.refused("busy", "claim_review", claim.clone()).await;
    assert_eq!(error["retryable"], true);
    let one_more = json!({ "review_id": reviews[2], "wait": true, "since": 1 });
    client.refused("busy", "get_review_status", one_more).await;
    assert_eq!(client.status(&reviews[2]).await["status"], "pending");
    // The loaded reviews continue.
    client.claim(&reviews[0], "ada").await;
    for wait in waits {
        wait.abort();
    }
    broker.until_waiting(0).await;
    client.call("claim_review", claim).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn loading_and_unloading_under_load_loses_nothing() {
    let settings = "[reviews]\nmax_live = 2\nidle_after = \"100ms\"\n[log]\nfilter = \"warn\"";
    let broker = TestBroker::with_settings(settings).await;
    let client = broker.client();
    let reviews = join_all((0..8).map(|n| {
        let client = client.clone();
        async move {
            let review = loop {
                match client.try_call("create_review", crate::support::client::proposal(&format!("{n}"))).await {
                    Ok(created) => break id(&created),
                    Err(error) => assert_eq!(error["code"], "busy", "{error}"),
                }
            };
            let claim = json!({ "review_id": review, "reviewer_id": "ada" });
            while let Err(error) = client.try_call("claim_review", claim.clone()).await {
                assert_eq!(error["code"], "busy", "{error}");
            }
            review
        }
    }))
    .await;
    let comment = |review: &str, n: usize| {
        let reason = format!("comment {n}");
        json!({ "review_id": review, "reviewer_id": "ada", "verdict": "comment", "reason": reason })
    };
    let busy: usize = join_all(reviews.iter().map(|review| {
        let client = client.clone();
        async move {
            let mut busy = 0;
            for n in 0..40 {
                while let Err(error) = client.try_call("submit_verdict", comment(review, n)).await {
                    assert_eq!(error["code"], "busy", "{error}");
                    busy += 1;
                }
            }
            busy
        }
    }))
    .await
    .into_iter()
    .sum();
    println!("{busy} calls were refused as retryable");
    for review in &reviews {
        assert_eq!(client.status(review).await["version"], 2 + 40);
    }
    broker.stop_and_check().await;
}
