//! `/metrics` and the log line of each call.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    pool::pool_of,
    rest_client::sent,
    subscriber::{Subscriber, Transport},
    tokens::create_token,
    wait_until::wait_until,
};
use serde_json::json;
use std::collections::HashMap;

/// All samples by name and labels. Also checks the format.
async fn scrape(broker: &TestBroker) -> HashMap<String, f64> {
    let answer = reqwest::get(broker.url("/metrics")).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    let text = answer.text().await.unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let (mut samples, mut families) = (HashMap::new(), Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap().to_owned();
            assert!(!families.contains(&name), "{name} twice");
            families.push(name);
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let bare = name.split('{').next().unwrap();
            assert!(bare.starts_with("countersign_"), "{line}");
            assert!(
                families.last().is_some_and(|family| bare.starts_with(family.as_str())),
                "{line} after {families:?}"
            );
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} twice");
        }
    }
    samples
}

#[tokio::test]
async fn the_metrics_match_a_known_sequence_of_calls() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let before = scrape(&broker).await;
    assert_eq!(before["countersign_commits_total"], 0.0);
    let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
    let with_diff = id(&client.call("create_review", proposal_with("with a diff", json!({ "diff": diff }))).await);
    client.submit("second").await;
    client.submit("third").await;
    client.claim(&with_diff, "ada").await;
    client.refused("unknown_review", "claim_review", json!({ "review_id": "R-99", "reviewer_id": "ada" })).await;
    client.try_call("claim_review", json!({ "review_id": 7 })).await.unwrap_err();
    client.try_call("no_such_tool", json!({})).await.unwrap_err();
    let (_stream, _) = Subscriber::open(&broker, Transport::Ws, "", None).await;
    let depth = |samples: &HashMap<String, f64>| -> f64 {
        samples.iter().filter(|(name, _)| name.starts_with("countersign_queue_depth{")).map(|(_, n)| n).sum()
    };
    // The queue is cached between scrapes.
    let after = wait_until("the queue", async || Some(scrape(&broker).await).filter(|all| depth(all) == 2.0)).await;
    let calls = |tool: &str, outcome: &str| {
        after.get(&format!("countersign_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}}")).copied().unwrap_or(0.0)
    };
    assert_eq!(calls("create_review", "ok"), 3.0);
    assert_eq!(calls("claim_review", "ok"), 1.0);
    assert_eq!(calls("claim_review", "refused"), 1.0);
    assert_eq!(calls("claim_review", "malformed"), 1.0);
    assert_eq!(calls("unknown", "malformed"), 1.0);
    assert_eq!(after["countersign_call_seconds_count{tool=\"claim_review\"}"], 3.0);
    assert_eq!(after["countersign_call_seconds_bucket{le=\"+Inf\",tool=\"create_review\"}"], 3.0);
    assert_eq!(after["countersign_changes_total"], 4.0);
    let commits = after["countersign_commits_total"];
    assert!((1.0..=4.0).contains(&commits), "{commits}");
    assert_eq!(after["countersign_commit_sync_seconds_count"], commits);
    assert!(after["countersign_commit_sync_seconds_sum"] > 0.0);
    // At the submission, and at the claim, which starts no check.
    assert_eq!(after["countersign_git_check_seconds_count"], 2.0);
    assert_eq!(after["countersign_git_answers_total{by=\"memory\"}"], 1.0);
    assert_eq!(after["countersign_git_answers_total{by=\"git\"}"], 0.0, "no git process was needed");
    assert!(after["countersign_git_answers_total{by=\"engine\"}"] >= 3.0, "the base, the check and the patch id");
    assert_eq!(after["countersign_git_engine_differences_total"], 0.0);
    assert!(after.keys().any(|name| name.contains("priority=\"normal\"") && name.contains("project=\"")), "{after:?}");
    assert_eq!(after["countersign_actors{kind=\"review\"}"], 3.0);
    assert_eq!(after["countersign_actors{kind=\"supervisor\"}"], 1.0);
    for kind in ["gateway", "pool", "review"] {
        assert_eq!(after[&format!("countersign_actor_restarts_total{{kind=\"{kind}\"}}")], 0.0);
    }
    assert!(after.contains_key("countersign_mailbox_depth{kind=\"gateway\"}"));
    assert_eq!(after["countersign_reviewers{state=\"busy\"}"], 0.0);
    assert_eq!((after["countersign_reviewer_spawns_total"], after["countersign_reviewer_crashes_total"]), (0.0, 0.0));
    assert_eq!((after["countersign_event_streams"], after["countersign_event_drops_total"]), (1.0, 0.0));
    assert_eq!(after[&format!("countersign_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))], 1.0);
    assert!(after["countersign_uptime_seconds"] > 0.0);
    let words = ["ada", "R-99", "no_such_tool"];
    assert!(!after.keys().any(|name| words.iter().any(|word| name.contains(word))), "no label is a caller's choice");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_start_and_every_crash_of_a_reviewer_is_counted() {
    // The first fails, the second keeps running.
    let script = "[ -e $HOME/second ] && exec sleep 1000; touch $HOME/second; exit 3";
    let broker = TestBroker::with_settings(&pool_of(script, "cooldown = \"10ms\"\ncheck_every = \"50ms\"")).await;
    broker.client().submit("needs a reviewer").await;
    let stays = |pool: &serde_json::Value| pool["reviewers"][0]["state"] == "idle" && pool["ended"][0].is_object();
    broker.until_pool("a reviewer that stays", stays).await;
    // The counters follow the log, a moment after the state.
    let counted = |all: &HashMap<String, f64>| {
        (all["countersign_reviewer_spawns_total"], all["countersign_reviewer_crashes_total"]) == (2.0, 1.0)
    };
    let samples = wait_until("both counted", async || Some(scrape(&broker).await).filter(&counted)).await;
    assert_eq!(samples["countersign_reviewers{state=\"idle\"}"], 1.0);
    assert_eq!(samples["countersign_actors{kind=\"reviewer\"}"], 1.0);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_call_whose_caller_leaves_is_counted_and_logged() {
    let broker = TestBroker::start().await;
    let review = broker.client().submit("waited for").await;
    let rest = broker.rest();
    let path = format!("/reviews/{review}/status?wait=true&timeout_seconds=50");
    let waiting = tokio::spawn(sent(rest.request("GET", &path)));
    broker.until_waiting(1).await;
    waiting.abort();
    let left = "countersign_calls_total{tool=\"get_review_status\",outcome=\"left\"}";
    wait_until("it to be counted", async || scrape(&broker).await.get(left).filter(|calls| **calls == 1.0).copied())
        .await;
    broker.until_logged(|line| line.contains("get_review_status") && line.contains("client_left")).await;
    rest.get("/personas").await.is(200);
    assert_eq!(scrape(&broker).await["countersign_calls_total{tool=\"list_personas\",outcome=\"ok\"}"], 1.0);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_refusal_over_mcp_has_its_trace_id() {
    let broker = TestBroker::start().await;
    for (name, arguments, code) in [
        ("claim_review", json!({ "review_id": "R-9", "reviewer_id": "ada" }), "unknown_review"),
        ("claim_review", json!({ "review_id": 7 }), "invalid_params"),
        ("no_such_tool", json!({}), "unknown_tool"),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = reqwest::Client::new().post(broker.mcp_url()).json(&call);
        let answer = request.header("accept", "application/json, text/event-stream").send().await.unwrap();
        let trace = answer.headers()["x-trace-id"].to_str().unwrap().to_owned();
        let body: serde_json::Value = answer.json().await.unwrap();
        let said = body.pointer("/result/structuredContent").or_else(|| body.pointer("/error/data")).unwrap();
        assert_eq!((&said["code"], &said["trace_id"]), (&json!(code), &json!(trace)), "{body}");
        broker.until_logged(|line| line.contains(&trace)).await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn waiting_calls_are_counted() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("waited for").await;
    let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 50 });
    let waiting = tokio::spawn(client.call("get_review_status", wait));
    broker.until_waiting(1).await;
    assert_eq!(scrape(&broker).await["countersign_calls_waiting"], 1.0);
    client.claim(&review, "ada").await;
    waiting.await.unwrap();
    let gone = async || (scrape(&broker).await["countersign_calls_waiting"] == 0.0).then_some(());
    wait_until("no call waits", gone).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_response_has_a_trace_id_that_is_in_the_log() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    let secret = create_token(broker.home(), "operator", "boss", &[]).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_reviews", "arguments": {} } });
    let request = || {
        let request = reqwest::Client::new().post(broker.mcp_url()).json(&call);
        request.header("accept", "application/json, text/event-stream")
    };
    let answer = request().bearer_auth(&secret).header("traceparent", &parent).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-trace-id"].to_str().unwrap()), (200, trace));
    broker.until_logged(|line| line.contains("list_reviews") && line.contains(trace)).await;

    let refused = request().header("traceparent", "nonsense").send().await.unwrap();
    let own = refused.headers()["x-trace-id"].to_str().unwrap().to_owned();
    assert!(own.len() == 32 && own != trace, "{own}");
    let body: serde_json::Value = refused.json().await.unwrap();
    assert_eq!((&body["code"], &body["trace_id"]), (&json!("token_needed"), &json!(own)));
    broker.until_logged(|line| line.contains("token_needed") && line.contains(&own)).await;
    broker.stop_and_check().await;
}
