//! A slow git: only the call that needs its result waits.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    slow_git::SlowGit,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Far below any time limit, and enough for a response of a busy machine.
const AT_ONCE: Duration = Duration::from_secs(10);

async fn with_diff(broker: &TestBroker, client: &TestClient, word: &str) -> String {
    id(&client.call("create_review", proposal_with(word, json!({ "diff": broker.repo().diff(word) }))).await)
}

fn claim(client: &TestClient, review: &str, reviewer: &str) -> JoinHandle<Result<Value, Value>> {
    tokio::spawn(client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": reviewer })))
}

fn approve(review: &str, reviewer: &str) -> Value {
    json!({ "review_id": review, "reviewer_id": reviewer, "verdict": "approved" })
}

#[tokio::test]
async fn a_slow_git_check_delays_no_other_call() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&git.setting()).await;
    let client = broker.client();
    let slow = with_diff(&broker, &client, "slow").await;
    let other = with_diff(&broker, &client, "other").await;
    git.hold_next();
    let held = claim(&client, &slow, "ada");
    git.until_held().await;
    let began = Instant::now();

    // The review can be read meanwhile, and other claims are refused.
    let about = json!({ "review_id": slow });
    assert_eq!(client.status(&slow).await["status"], "pending");
    for tool in ["get_proposal", "get_discussion"] {
        client.call(tool, about.clone()).await;
    }
    let wait = json!({ "review_id": slow, "wait": true, "since": 1, "timeout_seconds": 50 });
    let waiting = tokio::spawn(client.call("get_review_status", wait));
    let second = json!({ "review_id": slow, "reviewer_id": "bob" });
    let error = client.refused("being_claimed", "claim_review", second).await;
    assert_eq!((&error["claimed_by"], &error["retryable"]), (&"ada".into(), &true.into()));
    client
        .refused("not_claimed", "add_message", json!({ "review_id": slow, "sender_role": "reviewer", "body": "?" }))
        .await;

    // All other reviews work, including git checks.
    client.claim(&other, "bob").await;
    client.call("submit_verdict", approve(&other, "bob")).await;
    client.call("close_review", json!({ "review_id": other, "closer_role": "proposer" })).await;
    let new = with_diff(&broker, &client, "new").await;
    client.claim(&new, "bob").await;
    let message = json!({ "review_id": new, "sender_role": "reviewer", "body": "hm" });
    client.call("add_message", message).await;
    let offer = json!({ "review_id": new, "reviewer_id": "bob", "verdict": "changes_requested", "reason": "so",
                        "counter_patch": broker.repo().diff("better") });
    client.call("submit_verdict", offer).await;
    client.call("accept_counter_patch", json!({ "review_id": new })).await;
    client.call("cancel_review", json!({ "review_id": new, "reason": "enough" })).await;
    let list = client.call("list_reviews", json!({ "status": "pending" })).await;
    assert_eq!(list["reviews"].as_array().unwrap().len(), 1);
    println!("everything else took {:?} while git was held", began.elapsed());
    assert!(began.elapsed() < AT_ONCE && !held.is_finished());

    git.let_go();
    let claimed = held.await.unwrap().unwrap();
    assert_eq!((&claimed["claim_generation"], &claimed["claimed_by"]), (&1.into(), &"ada".into()));
    assert_eq!(waiting.await.unwrap()["status"], "claimed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_git_timeout_fails_the_claim_and_changes_nothing() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&(git.setting() + "time_limit = \"1s\"")).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    let before = client.status(&review).await;
    git.hold_next();
    let error = client.refused("check_failed", "claim_review", json!({ "review_id": review, "reviewer_id": "ada" }));
    assert_eq!(error.await["retryable"], true);
    assert_eq!(client.status(&review).await, before);
    assert_eq!(client.claim(&review, "bob").await, 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_git_timeout_fails_the_proposal_and_saves_nothing() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&(git.setting() + "time_limit = \"1s\"")).await;
    let client = broker.client();
    let arguments = proposal_with("slow", json!({ "diff": broker.repo().diff("slow"), "idempotency_key": "one" }));
    git.hold_next();
    client.refused("check_failed", "create_review", arguments.clone()).await;
    assert_eq!(client.call("list_reviews", json!({})).await["reviews"], json!([]));
    assert_eq!(client.call("create_review", arguments).await["applies"], true);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_client_that_disconnects_during_the_check_frees_the_seat() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&git.setting()).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    git.hold_next();
    let held = claim(&client, &review, "ada");
    git.until_held().await;
    held.abort();
    broker.until("the call of ada has ended", |tree| tree["calls"]["in_flight"] == 0).await;
    // Git is still held, or killed; no call waits for it any more.
    let began = Instant::now();
    let claimed = loop {
        match claim(&client, &review, "bob").await.unwrap() {
            Ok(claimed) => break claimed,
            Err(error) => assert_eq!(error["code"], "being_claimed", "{error}"),
        }
        assert!(began.elapsed() < AT_ONCE, "the seat is kept for a claimant that left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!((&claimed["claimed_by"], &claimed["claim_generation"]), (&"bob".into(), &1.into()));
    git.let_go();
    assert_eq!(client.status(&review).await["version"], 2);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_stays_loaded_during_its_git_check() {
    let git = SlowGit::new();
    let settings = format!("[reviews]\nmax_live = 2\nidle_after = \"100ms\"\n{}", git.setting());
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    git.hold_next();
    let held = claim(&client, &review, "ada");
    git.until_held().await;
    for n in 0..10 {
        client.submit(&format!("crowding out {n}")).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    client.refused("being_claimed", "claim_review", json!({ "review_id": review, "reviewer_id": "bob" })).await;
    git.let_go();
    assert_eq!(held.await.unwrap().unwrap()["claim_generation"], 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_late_git_result_is_judged_by_the_current_review() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&git.setting()).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    git.hold_next();
    let held = claim(&client, &review, "ada");
    git.until_held().await;
    client.call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    git.let_go();
    let error = held.await.unwrap().unwrap_err();
    assert_eq!((&error["code"], &error["status"]), (&"wrong_status".into(), &"closed".into()), "{error}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn calls_beyond_the_limit_in_flight_are_refused_as_retryable() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&format!("[limits]\ncalls_in_flight = 1\n{}", git.setting())).await;
    let client = broker.client();
    let (slow, other) = (with_diff(&broker, &client, "slow").await, client.submit("other").await);
    git.hold_next();
    let held = claim(&client, &slow, "ada");
    git.until_held().await;
    let error = client.refused("busy", "claim_review", json!({ "review_id": other, "reviewer_id": "bob" })).await;
    assert_eq!(error["retryable"], true);
    client.refused("busy", "create_review", proposal_with("one more", json!({}))).await;
    // Reading needs no git.
    assert_eq!(client.status(&other).await["version"], 1);
    git.let_go();
    held.await.unwrap().unwrap();
    client.claim(&other, "bob").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_broker_that_is_terminated_while_git_hangs_answers_its_callers_first() {
    let git = SlowGit::new();
    let mut broker = TestBroker::with_settings(&git.setting()).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    git.hold_next();
    let claiming = claim(&client, &review, "ada");
    git.until_held().await;
    git.hold_next();
    let new = proposal_with("new", json!({ "diff": broker.repo().diff("new") }));
    let proposing = tokio::spawn(client.try_call("create_review", new));
    git.until_held().await;
    let began = Instant::now();
    assert!(broker.terminate().await.success());
    println!("ended after {:?}", began.elapsed());
    for call in [claiming, proposing] {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!((&error["code"], &error["retryable"]), (&"shutting_down".into(), &true.into()), "{error}");
    }
    let broker = broker.restarted().await;
    assert_eq!(client.status(&review).await["version"], 1);
    client.claim(&review, "ada").await;
    broker.stop_and_check().await;
}
