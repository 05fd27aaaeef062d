//! What operators change about the whole pool: pause, limit, reviewers of one persona, and the end of all reviewers.
#![cfg(target_os = "linux")]

use crate::support::{
    broker::TestBroker,
    one_shot::write_persona_of_mode,
    pool::{ids, pool_of},
    tokens::create_token,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const IDLE: &str = "exec sleep 1000";

async fn as_ann(broker: &TestBroker, line: &[&str]) -> String {
    broker.command(&[&["reviewer"], line, &["--as", "ann"]].concat()).stdout().await
}

/// Kinds and actors of the events of the pool, oldest first.
async fn pool_events(broker: &TestBroker) -> Vec<(String, Option<String>)> {
    let log = broker.command(&["audit", "--json"]).json().await;
    let events = log["events"].as_array().unwrap().iter().rev();
    let of_pool = events.filter(|event| {
        let kind = event["kind"].as_str().unwrap();
        kind.starts_with("pool_") || kind == "reviewer_spawned"
    });
    of_pool.map(|event| (event["kind"].as_str().unwrap().into(), event["actor"].as_str().map(Into::into))).collect()
}

#[tokio::test]
async fn a_paused_pool_stays_paused_over_a_restart_and_starts_reviewers_when_resumed() {
    let mut broker = TestBroker::with_settings(&pool_of(IDLE, "cooldown = \"10ms\"\ncheck_every = \"50ms\"")).await;
    let out = as_ann(&broker, &["pause"]).await;
    assert!(out.starts_with("pool paused: 0 of 3 reviewers\n  paused by ann since "), "{out}");
    broker.client().submit("waits for the end of the pause").await;
    let pool = broker.until_pool("it waits", |pool| pool["waiting"][0]["pending"] == 1).await;
    assert_eq!((&pool["state"], &pool["paused"]["by"]), (&json!("paused"), &json!("ann")));
    broker.client().refused("pool_paused", "spawn_reviewer", json!({})).await;

    assert!(broker.terminate().await.success());
    let mut broker = broker.restarted().await;
    let pool = broker.until_pool("it has looked", |pool| pool["state"] != "starting").await;
    assert_eq!((&pool["state"], &pool["paused"]["by"]), (&json!("paused"), &json!("ann")));
    // Nothing changes, so nothing is logged.
    let rest = broker.rest_as_operator();
    assert_eq!(rest.patch("/reviewers", json!({ "paused": true })).await.is(200)["state"], "paused");
    assert_eq!(
        rest.patch("/reviewers", json!({ "paused": false, "caller_id": "bob" })).await.is(200)["state"],
        "ready"
    );
    let pool = broker.until_pool("a reviewer", |pool| !ids(pool, "reviewers").is_empty()).await;
    assert_eq!(pool.get("paused"), None);
    let who = |name: &str| Some(name.to_owned());
    let events = pool_events(&broker).await;
    let [paused, resumed, spawned] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(*paused, ("pool_paused".into(), who("ann")));
    assert_eq!(*resumed, ("pool_resumed".into(), who("bob")));
    assert_eq!(spawned.0, "reviewer_spawned", "none was started before");
    assert!(broker.terminate().await.success());
    let restarted = broker.restarted().await;
    let pool = restarted.until_pool("it has looked", |pool| pool["state"] != "starting").await;
    assert_ne!(pool["state"], "paused");
    restarted.stop_and_check().await;
}

#[tokio::test]
async fn running_reviewers_continue_while_the_pool_is_paused() {
    let broker = TestBroker::with_settings(&pool_of(IDLE, "")).await;
    let spawned = broker.client().call("spawn_reviewer", json!({})).await;
    as_ann(&broker, &["pause"]).await;
    let pool = broker.until_pool("it runs", |pool| pool["reviewers"][0]["state"] == "idle").await;
    assert_eq!((&pool["state"], &pool["reviewers"][0]["reviewer_id"]), (&json!("paused"), &spawned["reviewer_id"]));
    let list = as_list(&broker).await;
    assert!(list.starts_with("pool paused: 1 of 3 reviewers, 0 reviews wait\n  paused by ann since "), "{list}");
    broker.stop_and_check().await;
}

async fn as_list(broker: &TestBroker) -> String {
    broker.command(&["reviewer", "list"]).stdout().await
}

#[tokio::test]
async fn the_limit_holds_until_the_broker_ends() {
    let mut broker = TestBroker::with_settings(&pool_of(IDLE, "cooldown = \"10ms\"")).await;
    let rest = broker.rest_as_operator();
    for size in [0, 11] {
        let refused = rest.patch("/reviewers", json!({ "max_size": size })).await.refused(422, "invalid_argument");
        assert!(refused["detail"].as_str().unwrap().contains("allowed: 1 to 10"), "{refused}");
    }
    rest.patch("/reviewers", json!({})).await.refused(422, "invalid_argument");
    let out = as_ann(&broker, &["limit", "1"]).await;
    assert!(out.contains("pool.max_size is 3 (`countersign config set pool.max_size 1` lasts)"), "{out}");
    broker.client().call("spawn_reviewer", json!({})).await;
    let refused = broker.client().refused("pool_full", "spawn_reviewer", json!({})).await;
    assert_eq!(refused["limit"], 1);
    let pool = broker.pool().await;
    assert_eq!((&pool["max_size"], &pool["configured_max_size"]), (&json!(1), &json!(3)));
    // A person who is limited to one project may not change it for all.
    let token = create_token(broker.home(), "operator", "webmaster", &["--project", "web"]).await;
    let bound = broker.rest().with_token(&token);
    bound.patch("/reviewers", json!({ "max_size": 2 })).await.refused(403, "wrong_project");
    bound.delete("/reviewers").await.refused(403, "wrong_project");

    assert!(broker.terminate().await.success());
    let broker = broker.restarted().await;
    let pool = broker.until_pool("it has looked", |pool| pool["state"] != "starting").await;
    assert_eq!((&pool["max_size"], pool.get("configured_max_size")), (&json!(3), None));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn all_reviewers_are_stopped_at_once() {
    let broker = TestBroker::with_settings(&pool_of(IDLE, "cooldown = \"10ms\"")).await;
    assert_eq!(as_ann(&broker, &["stop", "--all"]).await, "no reviewer runs\n");
    let spawn = async || broker.client().try_call("spawn_reviewer", json!({})).await.ok();
    for _ in 0..2 {
        crate::support::wait_until::wait_until("it has rested", spawn).await;
    }
    let out = as_ann(&broker, &["stop", "--all", "--force"]).await;
    assert_eq!(out.lines().filter(|line| line.starts_with("ending command-r")).count(), 2, "{out}");
    let pool = broker.until_pool("they have ended", |pool| ids(pool, "reviewers").is_empty()).await;
    assert_eq!(ids(&pool, "ended").len(), 2);
    let log = broker.command(&["audit", "--kind", "reviewer_terminated", "--json"]).json().await;
    let by: Vec<&Value> = log["events"].as_array().unwrap().iter().map(|event| &event["by"]).collect();
    assert_eq!(by, ["ann", "ann"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_is_started_by_hand_only_for_a_persona_with_agents_of_its_own() {
    let home = TempDir::new().unwrap();
    let own = "runtime = \"command\"\ncommand = [\"sh\", \"-c\", \"exec sleep 1000\"]";
    write_persona_of_mode(home.path(), "security", "agent", own);
    write_persona_of_mode(home.path(), "tests", "one_shot", "");
    write_persona_of_mode(home.path(), "performance", "dedicated", "");
    let broker = TestBroker::in_home(home, &pool_of(IDLE, "cooldown = \"10ms\"")).await;
    let rest = broker.rest_as_operator();
    for (persona, why) in [
        ("general", "any agent of the pool takes the seats of general"),
        ("tests", "starts a reviewer for each free seat of tests"),
        ("performance", "belongs to one review"),
    ] {
        let refused = rest.post("/reviewers", json!({ "persona": persona })).await.refused(422, "not_spawnable");
        assert!(refused["detail"].as_str().unwrap().contains(why), "{refused}");
        assert_eq!(refused["allowed"], json!(["security"]));
    }
    rest.post("/reviewers", json!({ "persona": "unheard-of" })).await.refused(422, "unknown_persona");
    let spawned = as_ann(&broker, &["spawn", "--persona", "security", "--json"]).await;
    let spawned: Value = serde_json::from_str(&spawned).unwrap();
    assert_eq!((&spawned["persona"], &spawned["why"]), (&json!("security"), &json!("operator")));
    broker.stop_and_check().await;
}
