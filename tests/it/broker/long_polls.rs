//! Long polls for a review or for the queue: no change is missed, and a wait ends with its client.

use crate::support::{
    broker::{TIMEOUT, TestBroker},
    client::{TestClient, id, proposal, proposal_with},
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use testkit::Repo;
use tokio::task::JoinHandle;

/// Far below any wait, and enough for a response of a busy machine.
const AT_ONCE: Duration = Duration::from_secs(10);

fn wait_for(client: &TestClient, review: &str, since: u64) -> JoinHandle<(Value, Instant)> {
    let wait = json!({ "review_id": review, "wait": true, "since": since, "timeout_seconds": 50 });
    let call = client.call("get_review_status", wait);
    tokio::spawn(async move { (call.await, Instant::now()) })
}

fn wait_for_queue(client: &TestClient, more: Value) -> JoinHandle<(Value, Instant)> {
    let mut wait = json!({ "status": "pending", "wait": true, "timeout_seconds": 50 });
    wait.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = client.call("list_reviews", wait);
    tokio::spawn(async move { (call.await, Instant::now()) })
}

async fn answered(wait: JoinHandle<(Value, Instant)>) -> Value {
    let (answer, _) = tokio::time::timeout(TIMEOUT, wait).await.expect("the wait is answered").unwrap();
    assert_eq!(answer["timed_out"], false, "{answer}");
    answer
}

fn listed(answer: &Value) -> Vec<String> {
    answer["reviews"].as_array().unwrap().iter().map(id).collect()
}

async fn queue_version(client: &TestClient) -> u64 {
    client.call("list_reviews", json!({ "status": "pending", "limit": 1 })).await["seq"].as_u64().unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

async fn send_back(client: &TestClient, review: &str, reviewer: &str) {
    client.claim(review, reviewer).await;
    let verdict =
        json!({ "review_id": review, "reviewer_id": reviewer, "verdict": "changes_requested", "reason": "no" });
    client.call("submit_verdict", verdict).await;
}

#[tokio::test]
async fn a_wait_ends_right_after_a_change() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("watched").await;
    client.claim(&review, "ada").await;
    let (mut of_review, mut of_queue, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let mut version = 2;
    for turn in 0..20 {
        let began = Instant::now();
        client.status(&review).await;
        plain.push(began.elapsed());

        let waiting = wait_for(&client, &review, version);
        let queue = wait_for_queue(&client, json!({ "since": queue_version(&client).await }));
        broker.until_waiting(2).await;
        let role = if turn % 2 == 0 { "proposer" } else { "reviewer" };
        let message = json!({ "review_id": review, "sender_role": role, "body": format!("{turn}") });
        let changed = Instant::now();
        client.call("add_message", message).await;
        let (answer, woken) = waiting.await.unwrap();
        of_review.push(woken.saturating_duration_since(changed));
        version += 1;
        assert_eq!((&answer["version"], &answer["timed_out"]), (&version.into(), &false.into()));

        let changed = Instant::now();
        let new = client.submit(&format!("new {turn}")).await;
        let (answer, woken) = queue.await.unwrap();
        of_queue.push(woken.saturating_duration_since(changed));
        assert_eq!(listed(&answer).last(), Some(&new));
    }
    let worst = |times: &[Duration]| times.iter().max().copied().unwrap();
    println!("woken after the change was asked for, median and worst of 20:");
    println!("  review {:?} {:?}", median(of_review.clone()), worst(&of_review));
    println!("  queue  {:?} {:?}", median(of_queue.clone()), worst(&of_queue));
    println!("  a plain call takes {:?} {:?}", median(plain.clone()), worst(&plain));
    // 50 ms on a machine with nothing else to do.
    let promised = Duration::from_millis(50) + 20 * median(plain);
    assert!(median(of_review) < promised && median(of_queue) < promised);
}

#[tokio::test]
async fn a_wait_that_starts_after_a_change_returns_at_once() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let began = Instant::now();

    let review = client.submit("already changed").await;
    client.claim(&review, "ada").await;
    assert_eq!(answered(wait_for(&client, &review, 1)).await["version"], 2);

    // Without `since` a wait with something to do returns at once.
    let verdict = json!({ "review_id": review, "reviewer_id": "ada", "verdict": "approved" });
    client.call("submit_verdict", verdict).await;
    let wait = json!({ "review_id": review, "wait": true });
    let answer = client.call("get_review_status", wait.clone()).await;
    assert_eq!((&answer["status"], &answer["timed_out"]), (&"approved".into(), &false.into()));

    // A closed review never changes, whatever `since` says.
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    assert_eq!(client.call("get_review_status", wait).await["status"], "closed");
    for since in [4, 5, 1000] {
        assert_eq!(answered(wait_for(&client, &review, since)).await["status"], "closed");
    }

    let unknown = json!({ "review_id": "R-999", "wait": true });
    client.refused("unknown_review", "get_review_status", unknown).await;
    let unknown = json!({ "review_id": "00000000-0000-4000-8000-000000000000", "wait": true, "since": 7 });
    client.refused("unknown_review", "get_review_status", unknown).await;

    let pending = client.submit("in the queue").await;
    let version = queue_version(&client).await;
    assert_eq!(listed(&answered(wait_for_queue(&client, json!({}))).await), std::slice::from_ref(&pending));
    assert_eq!(listed(&answered(wait_for_queue(&client, json!({ "since": version - 1 }))).await), [pending]);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_without_changes_ends_with_the_current_state() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("nothing happens").await;
    let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 1 });
    let began = Instant::now();
    let answer = client.call("get_review_status", wait).await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((&answer["timed_out"], &answer["status"]), (&true.into(), &"pending".into()));

    let version = queue_version(&client).await;
    let wait = json!({ "status": "pending", "wait": true, "since": version, "timeout_seconds": 1 });
    let answer = client.call("list_reviews", wait).await;
    assert_eq!((&answer["timed_out"], &answer["version"]), (&true.into(), &version.into()));
    assert_eq!(listed(&answer), [review]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_for_the_queue_ends_when_a_review_can_be_claimed() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"3s\"").await;
    let client = broker.client();
    let next = |since: u64| wait_for_queue(&client, json!({ "since": since, "caller_id": "bob" }));
    let version = |answer: &Value| answer["seq"].as_u64().unwrap();

    let waiting = next(queue_version(&client).await);
    let review = client.submit("new").await;
    let answer = answered(waiting).await;
    assert_eq!(listed(&answer), std::slice::from_ref(&review));

    // Changes requested and revised.
    let waiting = next(version(&answer));
    send_back(&client, &review, "ada").await;
    client.call("create_review", json!({ "review_id": review, "intent": "revised" })).await;
    let answer = answered(waiting).await;
    assert_eq!(answer["reviews"][0]["current_round"], 2, "{answer}");

    // Claimed without activity.
    client.claim(&review, "ada").await;
    let answer = answered(next(version(&answer))).await;
    assert_eq!(listed(&answer), std::slice::from_ref(&review));

    // Reserved for another: nothing for bob until the reservation ends.
    send_back(&client, &review, "ada").await;
    let question = json!({ "review_id": review, "sender_role": "proposer", "body": "why?" });
    client.call("add_message", question).await;
    let asked_back = wait_for_queue(&client, json!({ "since": version(&answer), "caller_id": "ada" }));
    let waiting = next(version(&answer));
    assert_eq!(listed(&answered(asked_back).await), std::slice::from_ref(&review));
    client.refused("reserved", "claim_review", json!({ "review_id": review, "reviewer_id": "bob" })).await;
    let answer = answered(waiting).await;
    assert_eq!(listed(&answer), std::slice::from_ref(&review));
    client.claim(&review, "bob").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_for_the_queue_ignores_reviews_that_cannot_be_claimed() {
    let elsewhere = Repo::new();
    let settings = format!("[projects.elsewhere]\npath = {:?}", elsewhere.path());
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let reserved = client.submit("for ada").await;
    send_back(&client, &reserved, "ada").await;
    let wait = json!({ "since": queue_version(&client).await, "caller_id": "bob", "project": "project" });
    let waiting = wait_for_queue(&client, wait);
    broker.until_waiting(1).await;

    let question = json!({ "review_id": reserved, "sender_role": "proposer", "body": "why?" });
    client.call("add_message", question).await;
    client.call("create_review", proposal_with("bob's own", json!({ "proposer_id": "bob" }))).await;
    client.call("create_review", proposal_with("not here", json!({ "project": "elsewhere" }))).await;
    // Enough calls for a woken waiter to respond.
    for _ in 0..20 {
        broker.until_waiting(1).await;
    }
    assert!(!waiting.is_finished());
    let wanted = client.submit("for anybody").await;
    assert_eq!(listed(&answered(waiting).await), [wanted]);
    broker.stop_and_check().await;
}

/// Waits, again and again, and reads every page each time; ends when `wanted` reviews were seen.
async fn watch_queue(client: TestClient, projects: Option<Vec<&'static str>>, wanted: usize) -> usize {
    let (mut seen, mut since, mut waits) = (HashSet::new(), 0, 0);
    while seen.len() < wanted {
        let mut wait =
            json!({ "status": "pending", "wait": true, "since": since, "limit": 100, "timeout_seconds": 50 });
        if let Some(projects) = &projects {
            wait["projects"] = json!(projects);
        }
        let mut answer = client.call("list_reviews", wait.clone()).await;
        assert_eq!(answer["timed_out"], false, "missed {} of {wanted}", wanted - seen.len());
        waits += 1;
        since = answer["seq"].as_u64().unwrap();
        seen.extend(listed(&answer));
        for key in ["wait", "since", "timeout_seconds"] {
            wait.as_object_mut().unwrap().remove(key);
        }
        while let Some(cursor) = answer["next_cursor"].as_str() {
            wait["cursor"] = cursor.into();
            answer = client.call("list_reviews", wait.clone()).await;
            seen.extend(listed(&answer));
        }
    }
    waits
}

#[tokio::test]
async fn a_waiter_with_since_sees_every_one_of_five_hundred_proposals() {
    let elsewhere = Repo::new();
    let settings = format!("[projects.elsewhere]\npath = {:?}\n[log]\nfilter = \"warn\"", elsewhere.path());
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let watchers = [
        tokio::spawn(watch_queue(client.clone(), None, 500)),
        tokio::spawn(watch_queue(client.clone(), Some(vec!["project", "elsewhere"]), 500)),
        tokio::spawn(watch_queue(client.clone(), Some(vec!["elsewhere"]), 250)),
    ];
    let propose = |project: &'static str| {
        let client = client.clone();
        async move {
            for n in 0..125 {
                let arguments = proposal_with(&format!("{project} {n}"), json!({ "project": project }));
                client.call("create_review", arguments).await;
            }
        }
    };
    join_all(["project", "elsewhere", "project", "elsewhere"].map(propose)).await;
    let waits = tokio::time::timeout(TIMEOUT, join_all(watchers)).await.expect("nothing is missed");
    println!("seen in {:?} waits", waits.into_iter().map(Result::unwrap).collect::<Vec<_>>());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_waiter_with_since_misses_no_change_of_a_review() {
    let broker = TestBroker::with_settings("[log]\nfilter = \"warn\"").await;
    let client = broker.client();
    let review = client.submit("much discussed").await;
    client.claim(&review, "ada").await;
    let (watcher, watched) = (client.clone(), review.clone());
    let watcher = tokio::spawn(async move {
        let mut version = 2;
        while version < 202 {
            let (answer, _) = wait_for(&watcher, &watched, version).await.unwrap();
            assert_eq!(answer["timed_out"], false);
            let next = answer["version"].as_u64().unwrap();
            assert!(next > version);
            version = next;
        }
    });
    for turn in 0..200 {
        let role = if turn % 2 == 0 { "proposer" } else { "reviewer" };
        let message = json!({ "review_id": review, "sender_role": role, "body": format!("{turn}") });
        client.call("add_message", message).await;
    }
    tokio::time::timeout(TIMEOUT, watcher).await.expect("the last change is seen").unwrap();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn five_hundred_waiters_for_a_review_and_five_hundred_for_the_queue_are_all_woken() {
    let broker = TestBroker::with_settings("[server]\nmax_connections = 1200\n[log]\nfilter = \"warn\"").await;
    let client = broker.client();
    let review = client.submit("watched by many").await;
    client.claim(&review, "ada").await;
    let since = queue_version(&client).await;
    let of_review: Vec<_> = (0..500).map(|_| wait_for(&client, &review, 2)).collect();
    let of_queue: Vec<_> = (0..500).map(|_| wait_for_queue(&client, json!({ "since": since }))).collect();
    broker.until_waiting(1000).await;
    let released = json!({ "review_id": review, "reviewer_id": "ada", "verdict": "changes_requested", "reason": "no" });
    client.call("submit_verdict", released).await;
    let (changed, mut last) = (Instant::now(), Duration::ZERO);
    for waiting in of_review {
        let (answer, woken) = tokio::time::timeout(TIMEOUT, waiting).await.expect("woken").unwrap();
        assert_eq!((&answer["status"], &answer["timed_out"]), (&"changes_requested".into(), &false.into()));
        last = last.max(woken.saturating_duration_since(changed));
    }
    println!("500 waiters for a review: the last was answered after {last:?}");
    client.submit("new").await;
    let (changed, mut last) = (Instant::now(), Duration::ZERO);
    for waiting in of_queue {
        let (answer, woken) = tokio::time::timeout(TIMEOUT, waiting).await.expect("woken").unwrap();
        assert_eq!(answer["timed_out"], false);
        last = last.max(woken.saturating_duration_since(changed));
    }
    println!("500 waiters for the queue: the last was answered after {last:?}");
    assert_eq!(broker.actors().await["calls"]["waiting"], 0);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_is_dropped_when_its_client_disconnects() {
    let broker = TestBroker::with_settings("[limits]\nwaiters = 4").await;
    let client = broker.client();
    let review = client.submit("left alone").await;
    let since = queue_version(&client).await;
    for _ in 0..3 {
        let waits = [
            wait_for(&client, &review, 1),
            wait_for(&client, &review, 1),
            wait_for_queue(&client, json!({ "since": since })),
            wait_for_queue(&client, json!({ "since": since })),
        ];
        broker.until_waiting(4).await;
        let one_more = json!({ "review_id": review, "wait": true, "since": 1 });
        let error = client.refused("busy", "get_review_status", one_more).await;
        assert_eq!(error["retryable"], true);
        client.refused("busy", "list_reviews", json!({ "status": "pending", "wait": true, "since": since })).await;
        // Calls that need not wait are still answered.
        assert_eq!(client.status(&review).await["status"], "pending");
        for wait in &waits {
            wait.abort();
        }
        broker.until_waiting(0).await;
    }
    let wait = json!({ "review_id": review, "wait": true, "since": 1, "timeout_seconds": 1 });
    assert_eq!(client.call("get_review_status", wait).await["timed_out"], true);
    broker.stop_and_check().await;
}

/// Without sessions a notification cannot refer to a call of another connection: it is accepted and ignored.
#[tokio::test]
async fn a_cancel_notification_ends_only_its_own_wait() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("watched").await;
    let waiting = wait_for(&client, &review, 1);
    broker.until_waiting(1).await;
    for id in 0..40 {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        let request = reqwest::Client::new().post(broker.mcp_url()).json(&note);
        let answer = request.header("accept", "application/json, text/event-stream").send().await.unwrap();
        assert_eq!(answer.status(), 202);
    }
    assert!(!waiting.is_finished());
    client.claim(&review, "ada").await;
    assert_eq!(answered(waiting).await["status"], "claimed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_terminated_broker_answers_every_waiting_call_first() {
    let mut broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("waited for until the end").await;
    let since = queue_version(&client).await;
    let waits: Vec<_> = (0..25)
        .flat_map(|_| [wait_for(&client, &review, 1), wait_for_queue(&client, json!({ "since": since }))])
        .collect();
    broker.until_waiting(50).await;
    let began = Instant::now();
    assert!(broker.terminate().await.success());
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    for waiting in waits {
        let (answer, _) = waiting.await.unwrap();
        assert_eq!(answer["timed_out"], true);
    }
    let broker = broker.restarted().await;
    assert_eq!(client.status(&review).await["status"], "pending");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_calls_of_one_review_are_limited() {
    let broker = TestBroker::with_settings("[limits]\ncalls_per_review = 1").await;
    let client = broker.client();
    let (noisy, quiet) = (client.submit("noisy").await, client.submit("quiet").await);
    client.claim(&noisy, "ada").await;
    let comment = |n: usize| {
        let body = json!({ "review_id": noisy, "reviewer_id": "ada", "verdict": "comment", "reason": format!("{n}") });
        client.try_call("submit_verdict", body)
    };
    let (mut taken, mut refused) = (0, 0);
    for turn in 0..20 {
        for answer in join_all((0..50).map(|n| comment(turn * 50 + n))).await {
            match answer {
                Ok(_) => taken += 1,
                Err(error) => {
                    assert_eq!((&error["code"], &error["retryable"]), (&"busy".into(), &true.into()), "{error}");
                    refused += 1;
                }
            }
        }
        client.call("get_proposal", json!({ "review_id": noisy })).await;
        if refused > 0 {
            break;
        }
    }
    println!("{taken} accepted, {refused} refused as retryable");
    assert!(refused > 0 && taken > 0);
    assert_eq!(client.status(&noisy).await["version"], 2 + taken);
    client.claim(&quiet, "ada").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_proposal_does_not_end_a_wait_of_its_proposer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let waiting = wait_for_queue(&client, json!({ "caller_id": "gsd-executor" }));
    broker.until_waiting(1).await;
    client.call("create_review", proposal("my own")).await;
    let other = client.call("create_review", proposal_with("another's", json!({ "agent_type": "other" }))).await;
    assert_eq!(listed(&answered(waiting).await), [id(&other)]);
    broker.stop_and_check().await;
}

/// Rows that are too long for one response are listed again with a smaller page.
#[tokio::test]
async fn a_wait_does_not_list_the_callers_own_proposals() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let long = "x".repeat(200);
    for n in 0..60 {
        let whose = if n % 2 == 0 { "ada" } else { "bob" };
        let more = json!({ "plan": long, "task": long, "agent_role": long, "proposer_id": whose });
        client.call("create_review", proposal_with(&format!("{whose}'s {}", "y".repeat(150)), more)).await;
    }
    let wait = json!({ "status": "pending", "wait": true, "limit": 60, "caller_id": "ada" });
    let page = client.call("list_reviews", wait).await;
    let rows = page["reviews"].as_array().unwrap();
    assert!((1..30).contains(&rows.len()) && page["next_cursor"].is_string(), "cut to fit: {}", rows.len());
    assert!(rows.iter().all(|row| row["intent"].as_str().unwrap().starts_with("bob's")), "{page}");
    broker.stop_and_check().await;
}
