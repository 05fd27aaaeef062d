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

/// How many questions to git were answered, and by what.
struct GitAnswers {
    engine: u64,
    git: u64,
    memory: u64,
}

async fn git_answers(broker: &TestBroker) -> GitAnswers {
    let page = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
    let count = |by: &str| {
        let line =
            page.lines().find_map(|line| line.strip_prefix(&format!("countersign_git_answers_total{{by=\"{by}\"}} ")));
        line.unwrap().parse().unwrap()
    };
    GitAnswers { engine: count("engine"), git: count("git"), memory: count("memory") }
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
    // Without the outcome of the submission, the claim needs a check. Another one reads the base before.
    let broker = broker.kill_and_restart().await;
    client.claim(&other, "bob").await;
    git.hold_next();
    let held = claim(&client, &slow, "ada");
    git.until_held().await;
    let began = Instant::now();

    // The review can be read meanwhile, and other claims wait for the same check.
    let about = json!({ "review_id": slow });
    assert_eq!(client.status(&slow).await["status"], "pending");
    for tool in ["get_proposal", "get_discussion"] {
        client.call(tool, about.clone()).await;
    }
    let wait = json!({ "review_id": slow, "wait": true, "since": 1, "timeout_seconds": 50 });
    let waiting = tokio::spawn(client.call("get_review_status", wait));
    let second = claim(&client, &slow, "bob");
    client
        .refused("not_claimed", "add_message", json!({ "review_id": slow, "sender_role": "reviewer", "body": "?" }))
        .await;

    // All other reviews work, including git checks.
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
    assert!(began.elapsed() < AT_ONCE && !held.is_finished() && !second.is_finished());

    git.let_go();
    let answers = [held.await.unwrap(), second.await.unwrap()];
    let claimed = answers.iter().flatten().next().unwrap();
    let refused = answers.iter().find_map(|answer| answer.as_ref().err()).unwrap();
    assert_eq!(claimed["claim_generation"], 1);
    assert_eq!((&refused["code"], &refused["claimed_by"]), (&"already_claimed".into(), &claimed["claimed_by"]));
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
    let broker = broker.kill_and_restart().await;
    git.hold_next();
    let held = claim(&client, &review, "ada");
    git.until_held().await;
    held.abort();
    broker.until("the call of ada has ended", |tree| tree["calls"]["in_flight"] == 0).await;
    // Git is still held, or killed; no call waits for it any more.
    let began = Instant::now();
    assert_eq!(client.claim(&review, "bob").await, 1, "the seat is not kept for a claimant that left");
    assert!(began.elapsed() < AT_ONCE);
    git.let_go();
    assert_eq!(client.status(&review).await["version"], 2);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_shared_check_goes_on_if_the_caller_that_started_it_disconnects() {
    let git = SlowGit::new();
    let broker = TestBroker::with_settings(&git.setting()).await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "slow").await;
    let broker = broker.kill_and_restart().await;
    git.hold_next();
    let first = claim(&client, &review, "ada");
    git.until_held().await;
    let second = claim(&client, &review, "bob");
    broker.until("both calls wait", |tree| tree["calls"]["in_flight"] == 2).await;
    first.abort();
    broker.until("the call of ada has ended", |tree| tree["calls"]["in_flight"] == 1).await;
    git.let_go();
    assert_eq!(second.await.unwrap().unwrap()["claimed_by"], "bob");
    broker.stop_and_check().await;
}

/// The submission has checked the diff against this base, and HEAD has not moved.
#[tokio::test]
async fn a_claim_of_an_unchanged_review_starts_no_git() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = with_diff(&broker, &client, "fast").await;
    let before = git_answers(&broker).await;
    client.claim(&review, "ada").await;
    let after = git_answers(&broker).await;
    assert_eq!(after.git, before.git, "no git process");
    assert_eq!(after.memory, before.memory + 1);
    assert_eq!(after.engine, before.engine + 3, "HEAD, AGENTS.md and CLAUDE.md");
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
    let is_loaded =
        async || broker.live_reviews().await.iter().any(|live| live["id"].as_str().unwrap().contains(&review));
    for n in 0..10 {
        client.submit(&format!("crowding out {n}")).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(is_loaded().await);
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
