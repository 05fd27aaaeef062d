//! Reviewers that fail: the pool stops starting them and reports why.
#![cfg(unix)]

use crate::support::{
    broker::{TestBroker, countersign},
    pool::{ids, pool_of, pool_running},
    reviews::verdict,
    tokens::create_token,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Records that it ran, prints an error and exits.
const FAILING: &str = "echo ran >> $HOME/runs; echo 'no key for the model' >&2; echo 'log in first' >&2; exit 3";

const WORDS: [&str; 2] = ["no key for the model", "log in first"];

fn runs(broker: &TestBroker) -> usize {
    fs::read_to_string(broker.home().join("runs")).unwrap_or_default().lines().count()
}

/// The error lines of the broker's log.
fn errors(broker: &TestBroker) -> Vec<String> {
    broker.log().lines().filter(|line| line.contains("ERROR")).map(str::to_owned).collect()
}

async fn until(broker: &TestBroker, state: &str) -> Value {
    broker.until_pool(state, |pool| pool["state"] == state).await
}

/// A person claims the review and approves it.
async fn is_reviewed_by_hand(broker: &TestBroker, review: &str) {
    let client = broker.client();
    client.claim(review, "ada").await;
    let approved = client.call("submit_verdict", verdict(review, "ada", "approved")).await;
    assert_eq!(approved["status"], "approved");
}

/// The output of `countersign reviewer`.
async fn reviewer_stdout(broker: &TestBroker, arguments: &[&str]) -> String {
    let mut command = countersign(broker.home());
    command.arg("reviewer").args(arguments).arg("--data-dir").arg(broker.data_dir());
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn reviewers_that_fail_at_once_end_in_a_crash_loop() {
    let broker = TestBroker::with_settings(&pool_of(FAILING, "cooldown = \"10ms\"\ncheck_every = \"50ms\"")).await;
    let client = broker.client();
    let mut reviews = Vec::new();
    for n in 0..3 {
        reviews.push(client.submit(&format!("waits in vain, {n}")).await);
    }

    let pool = until(&broker, "crash_loop").await;
    assert_eq!((runs(&broker), ids(&pool, "ended").len(), ids(&pool, "reviewers").len()), (5, 5, 0));
    assert_eq!(pool["last_words"], json!(WORDS));
    for row in pool["ended"].as_array().unwrap() {
        assert_eq!((&row["exit"], &row["last_words"]), (&"exit code 3".into(), &json!(WORDS)));
    }
    let message = pool["message"].as_str().unwrap();
    assert!(message.starts_with("5 reviewers failed in a row in project"), "{message}");

    // A token of another project does not see the messages.
    let bound =
        broker.client().with_token(&create_token(broker.home(), "operator", "webmaster", &["--project", "web"]).await);
    let seen = bound.call("list_reviewers", json!({})).await;
    assert_eq!((seen.get("message"), seen.get("last_words"), ids(&seen, "ended").len()), (None, None, 0));

    let list = reviewer_stdout(&broker, &["list"]).await;
    assert!(list.starts_with("pool crash_loop: 0 of 3 reviewers, 3 reviews wait\n"), "{list}");
    assert!(WORDS.iter().all(|words| list.contains(&format!("  | {words}\n"))), "{list}");
    let ended = &pool["ended"][0]["reviewer_id"];
    let log = reviewer_stdout(&broker, &["logs", ended.as_str().unwrap()]).await;
    assert!(WORDS.iter().all(|words| log.contains(&format!(" err {words}\n"))), "{log}");

    // Neither a check of the queue nor a new review starts a reviewer.
    reviews.push(client.submit("one more").await);
    is_reviewed_by_hand(&broker, &reviews[0]).await;
    let pool = broker.pool().await;
    assert_eq!((&pool["state"], &pool["waiting"][0]["pending"]), (&"crash_loop".into(), &3.into()));
    assert_eq!(runs(&broker), 5);
    let errors = errors(&broker);
    assert!(errors.len() == 1 && errors[0].contains("crash loop") && errors[0].contains(WORDS[0]), "{errors:?}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_operator_clears_a_crash_loop_after_the_cooldown() {
    let script = format!("[ -e $HOME/fixed ] && exec sleep 1000; {FAILING}");
    let settings = "cooldown = \"2s\"\nmax_failures = 2";
    let broker = TestBroker::with_settings(&pool_of(&script, settings)).await;
    let client = broker.client();
    client.submit("waits for a reviewer").await;
    until(&broker, "crash_loop").await;
    assert_eq!(runs(&broker), 2);

    let refused = client.refused("cooling_down", "spawn_reviewer", json!({})).await;
    assert!(refused["retry_after_ms"].as_u64().is_some_and(|ms| ms <= 2000), "{refused}");
    assert_eq!(broker.pool().await["state"], "crash_loop", "a refusal clears nothing");
    let spawn = async || client.try_call("spawn_reviewer", json!({})).await.ok();
    let tried = wait_until("it has rested", spawn).await;
    assert_eq!(tried["why"], "operator");
    // Nothing is fixed, so the pool gives up again.
    until(&broker, "crash_loop").await;
    assert_eq!(runs(&broker), 4);

    fs::write(broker.home().join("fixed"), "").unwrap();
    wait_until("it has rested", spawn).await;
    let healthy = |pool: &Value| pool["state"] == "ready" && pool["reviewers"][0]["state"] == "idle";
    broker.until_pool("a reviewer that stays", healthy).await;
    assert_eq!(runs(&broker), 4);
    assert_eq!(errors(&broker).len(), 2, "one for each loop");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_missing_program_is_named_and_used_once_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("my-reviewer");
    let program_name = program.to_str().unwrap();
    let broker = TestBroker::with_settings(&pool_running(&[program_name], "check_every = \"50ms\"")).await;
    let client = broker.client();
    let review = client.submit("waits for a program").await;

    let pool = until(&broker, "unavailable").await;
    assert_eq!(pool["message"], format!("{program_name} is not executable (from pool.command)"));
    assert!(reviewer_stdout(&broker, &["list"]).await.contains(program_name));
    let refused = client.refused("pool_unavailable", "spawn_reviewer", json!({})).await;
    assert!(refused["error"].as_str().unwrap().contains(program_name), "{refused}");
    is_reviewed_by_hand(&broker, &review).await;

    // Found by the next check, without a call.
    client.submit("waits for the same").await;
    fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let pool = broker.until_pool("a reviewer", |pool| pool["reviewers"][0]["state"] == "idle").await;
    assert_eq!((&pool["state"], pool.get("message")), (&"ready".into(), None));
    let errors = errors(&broker);
    assert!(errors.len() == 1 && errors[0].contains(program_name), "however often it was looked for: {errors:?}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_program_outside_of_path_is_reported_with_path() {
    let broker = TestBroker::with_settings(&pool_running(&["no-such-reviewer"], "")).await;
    broker.client().submit("waits for a program").await;
    let message = until(&broker, "unavailable").await["message"].as_str().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    assert!(message.contains("\"no-such-reviewer\"") && message.contains(&path), "{message}");
    broker.stop_and_check().await;
}
