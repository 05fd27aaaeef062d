//! What the audit log says about reviewers and operators: who did it, which process, why it ended, and what it has done.
#![cfg(target_os = "linux")]

use crate::support::{
    broker::TestBroker,
    pool::pool_of,
    scripted_reviewer::{ReviewerScript, pool},
    wait_until::wait_until,
};
use serde_json::{Value, json};

/// The last event of a kind.
async fn last(broker: &TestBroker, kind: &str) -> Value {
    let find = async || {
        let log = broker.command(&["audit", "--kind", kind, "--json"]).json().await;
        log["events"].get(0).cloned()
    };
    wait_until(kind, find).await
}

#[tokio::test]
async fn an_operator_is_recorded_by_the_name_of_its_token() {
    let broker = TestBroker::with_settings(&pool_of("exec sleep 1000", "stop_grace = \"5s\"")).await;
    let token = broker.command(&["token", "create", "--role", "operator", "--name", "boss"]).stdout().await;
    let as_boss = |line: &[&str]| broker.command(line).var("COUNTERSIGN_TOKEN", token.trim());
    let spawned = as_boss(&["reviewer", "spawn", "--json"]).json().await;
    let event = last(&broker, "reviewer_spawned").await;
    let running = broker.until_pool("it runs", |pool| pool["reviewers"][0]["pid"].as_u64() > Some(0)).await;
    assert_eq!((&event["by"], &event["pid"]), (&json!("boss"), &running["reviewers"][0]["pid"]));
    assert!(event["detail"].as_str().unwrap().ends_with(": operator, by boss"), "{event}");
    assert!(event["pid"].as_u64().is_some_and(|pid| pid > 1), "{event}");

    as_boss(&["reviewer", "stop", spawned["reviewer_id"].as_str().unwrap()]).stdout().await;
    let event = last(&broker, "reviewer_terminated").await;
    let id = spawned["reviewer_id"].as_str().unwrap();
    assert_eq!(event["detail"], format!("reviewer {id} ended: stopped: operator, by boss"));
    assert_eq!(event["verdicts"], json!({ "approved": 0, "changes_requested": 0, "rejected": 0, "comments": 0 }));
    assert_eq!(last(&broker, "reviewer_draining").await["by"], "boss");
    let text = broker.command(&["audit", "--kind", "reviewer_spawned"]).stdout().await;
    assert!(text.contains(&format!("(pid {})", event["pid"])), "{text}");

    let review = broker.client().submit("no longer wanted").await;
    as_boss(&["cancel", &review, "-m", "so"]).stdout().await;
    assert_eq!(last(&broker, "cancelled").await["actor"], "boss");
}

#[tokio::test]
async fn the_end_of_a_reviewer_says_why_and_what_it_did() {
    let settings = pool(ReviewerScript::Approves, "idle_after = \"300ms\"\nmax_size = 1");
    let broker = TestBroker::with_settings(&settings).await;
    broker.client().submit("count in German").await;
    // On a busy machine one may be idle before it begins.
    let ended = wait_until("the reviewer has ended", async || {
        let log = broker.command(&["audit", "--kind", "reviewer_terminated", "--json"]).json().await;
        log["events"].as_array().unwrap().iter().find(|event| event["verdicts"]["approved"] == 1).cloned()
    })
    .await;
    let detail = ended["detail"].as_str().unwrap();
    assert!(detail.contains(" ended: stopped: idle; 1 approved"), "{detail}");
    let claimed = last(&broker, "claimed").await;
    let generation = claimed["claim_generation"].as_u64().unwrap();
    let text = broker.command(&["audit", "--kind", "claimed"]).stdout().await;
    assert!(text.contains(&format!("(claim {generation})")), "{text}");
    let pool = broker.pool().await;
    assert_eq!(pool["ended"][0]["exit"], "stopped: idle");
}
