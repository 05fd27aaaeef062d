//! The REST API: the same reviews, rules and error codes as the MCP tools.

use crate::support::{
    broker::TestBroker,
    client::{proposal, proposal_with},
    rest_client::{RestClient, sent},
    reviews::column,
};
use futures::future::join_all;
use serde_json::{Value, json};

async fn create(rest: &RestClient, intent: &str) -> String {
    let made = rest.post("/reviews", proposal(intent)).await.is(201);
    made["review_id"].as_str().unwrap().to_owned()
}

/// A new review that `ada` has claimed.
async fn claimed(rest: &RestClient) -> String {
    let id = create(rest, "to be reviewed").await;
    rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": "ada" })).await.is(200);
    id
}

#[tokio::test]
async fn a_review_can_be_completed_over_rest_alone() {
    let broker = TestBroker::start().await;
    let (rest, repo) = (broker.rest(), broker.repo());
    let first = proposal_with("translate", json!({ "diff": repo.diff("zwei"), "description": "to German" }));
    let made = rest.post("/reviews", first).await;
    let at = made.header("location").expect("where it is now").to_owned();
    let id = made.is(201)["review_id"].clone();
    assert_eq!(at, format!("/api/v1/reviews/{}", id.as_str().unwrap()));
    assert_eq!(rest.get("/reviews?status=pending").await.is(200)["reviews"][0]["review_id"], id);

    let claim = rest.post(&format!("{at}/claim"), json!({ "reviewer_id": "ada" })).await.is(200);
    let issue = json!({ "severity": "high", "title": "not Spanish", "file": "greeting.txt", "line_start": 2 });
    let verdict = json!({
        "verdict": "changes_requested", "reason": "Spanish, please", "claim_generation": claim["claim_generation"],
        "issues": [issue], "counter_patch": repo.diff("dos"),
    });
    let taken = rest.post(&format!("{at}/verdict"), verdict).await.is(200);
    assert_eq!((&taken["status"], &taken["has_counter_patch"]), (&json!("changes_requested"), &json!(true)));
    let issues = rest.get(&format!("{at}/issues?status=open")).await.is(200);
    let issue = issues["issues"][0]["issue_id"].as_str().unwrap().to_owned();
    let answer = json!({ "status": "fixed", "role": "proposer" });
    rest.patch(&format!("{at}/issues/{issue}"), answer).await.is(200);

    rest.post(&format!("{at}/counter-patch/accept"), json!({})).await.is(200);
    let again = json!({ "intent": "translate to Spanish", "diff": repo.diff("Dos") });
    let revised = rest.post(&format!("{at}/resubmit"), again).await.is(200);
    assert_eq!((&revised["current_round"], &revised["revised"]), (&json!(2), &json!(true)));

    let claim = rest.post(&format!("{at}/claim"), json!({ "reviewer_id": "ada" })).await.is(200);
    let hello = json!({ "sender_role": "reviewer", "caller_id": "ada", "body": "why a capital?" });
    rest.post(&format!("{at}/messages"), hello).await.is(200);
    let because = json!({ "sender_role": "proposer", "body": "it is a name" });
    rest.post(&format!("{at}/messages"), because).await.is(200);
    let said = rest.get(&format!("{at}/messages")).await.is(200);
    assert_eq!(column(&said["messages"], "body"), ["why a capital?", "it is a name"]);
    let verdict = json!({
        "verdict": "approved", "claim_generation": claim["claim_generation"], "content_hash": claim["content_hash"],
    });
    assert_eq!(rest.post(&format!("{at}/verdict"), verdict).await.is(200)["status"], "approved");
    let status = rest.get(&format!("{at}/status")).await.is(200);
    assert_eq!(status["approved_hash"], claim["content_hash"]);
    rest.post(&format!("{at}/close"), json!({ "closer_role": "proposer" })).await.is(200);
    let whole = rest.get(&at).await.is(200);
    assert_eq!((&whole["status"], &whole["iterations"][0]["verdict"]), (&json!("closed"), &json!("approved")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_can_be_cancelled_and_a_claim_released() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let id = claimed(&rest).await;
    let back = json!({ "reviewer_id": "ada", "reason": "not my field" });
    assert_eq!(rest.post(&format!("/reviews/{id}/release"), back).await.is(200)["status"], "pending");
    rest.delete(&format!("/reviews/{id}")).await.refused(400, "invalid_params");
    rest.delete(&format!("/reviews/{id}?reason=")).await.refused(422, "invalid_argument");
    let cancelled = rest.delete(&format!("/reviews/{id}?reason=not+wanted%21")).await.is(200);
    assert_eq!((&cancelled["status"], &cancelled["cancel_reason"]), (&json!("cancelled"), &json!("not wanted!")));
    let no = rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": "ada" })).await;
    let no = no.refused(409, "wrong_status");
    assert_eq!((&no["current_status"], &no["retryable"]), (&json!("cancelled"), &json!(false)));
    let other = create(&rest, "another").await;
    let reason = json!({ "reason": "x".repeat(5000) });
    assert_eq!(rest.post(&format!("/reviews/{other}/cancel"), reason).await.is(200)["status"], "cancelled");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_log_names_who_cancelled_and_who_closed() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let id = create(&rest, "not wanted").await;
    rest.post(&format!("/reviews/{id}/cancel"), json!({ "reason": "no", "caller_id": "ann" })).await.is(200);
    rest.post(&format!("/reviews/{id}/close"), json!({ "closer_role": "proposer", "caller_id": "bob" })).await.is(200);
    let timeline = rest.get(&format!("/reviews/{id}/timeline")).await.is(200);
    let events = timeline["rounds"][0]["events"].as_array().unwrap();
    let actors: Vec<_> = events.iter().rev().take(2).map(|event| (&event["kind"], &event["actor"])).collect();
    assert_eq!(actors, [(&json!("closed"), &json!("bob")), (&json!("cancelled"), &json!("ann"))]);
    let nameless = json!({ "reason": "no", "caller_id": " " });
    rest.post(&format!("/reviews/{id}/cancel"), nameless).await.refused(422, "invalid_argument");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn refusals_are_problems_with_the_tools_codes() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let id = claimed(&rest).await;
    let at = |below: &str| format!("/reviews/{id}{below}");
    let verdict = |more: Value| {
        let mut body = json!({ "verdict": "approved", "reviewer_id": "ada" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    rest.get("/reviews/R-999").await.refused(404, "unknown_review");
    rest.get(&at("?round=7")).await.refused(404, "no_such_round");
    rest.get(&at("/diff?file=none")).await.refused(404, "unknown_file");
    rest.patch(&at("/issues/I-99"), json!({ "status": "fixed", "role": "operator", "caller_id": "boss" }))
        .await
        .refused(404, "unknown_issue");
    rest.post(&at("/claim"), json!({ "reviewer_id": "bob" })).await.refused(409, "already_claimed");
    rest.post(&at("/verdict"), verdict(json!({ "claim_generation": 7 }))).await.refused(409, "stale_claim");
    rest.post(&at("/verdict"), verdict(json!({ "content_hash": "old" }))).await.refused(409, "stale_content");
    rest.post(&at("/verdict"), verdict(json!({ "reviewer_id": "bob" }))).await.refused(403, "not_your_seat");
    rest.post(&at("/verdict"), verdict(json!({ "verdict": "maybe" }))).await.refused(422, "unknown_verdict");
    rest.post(&at("/verdict"), verdict(json!({ "verdict": "rejected" }))).await.refused(422, "reason_needed");
    rest.post(&at("/close"), json!({ "closer_role": "reviewer" })).await.refused(403, "not_the_proposer");
    rest.post(&at("/counter-patch/accept"), json!({})).await.refused(409, "no_pending_counter_patch");
    rest.post(&at("/counter-patch/reject"), json!({})).await.refused(409, "no_pending_counter_patch");
    let own = create(&rest, "my own").await;
    let claim = json!({ "reviewer_id": "gsd-executor" });
    rest.post(&format!("/reviews/{own}/claim"), claim).await.refused(403, "own_proposal");
    let long = json!({ "sender_role": "reviewer", "body": "x".repeat(1 << 20) });
    rest.post(&at("/messages"), long).await.refused(413, "too_long");
    rest.get("/reviews?status=odd").await.refused(422, "unknown_status");
    rest.get("/reviews?project=odd").await.refused(422, "unknown_project");
    rest.get("/reviews?cursor=odd").await.refused(422, "bad_cursor");
    rest.post("/reviewers", json!({})).await.refused(409, "pool_disabled");
    rest.delete("/reviewers/codex-r1").await.refused(404, "unknown_reviewer");
    rest.get("/reviewers/codex-r1/logs").await.refused(404, "no_log");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_malformed_request_names_its_field() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let id = create(&rest, "to be misread").await;
    let bad = async |answer: crate::support::rest_client::Answer, field: &str| {
        assert_eq!(answer.refused(400, "invalid_params")["field"], field);
    };
    bad(rest.post("/reviews", json!({})).await, "intent").await;
    bad(rest.post("/reviews", json!([])).await, "body").await;
    bad(sent(rest.request("POST", "/reviews").body("{")).await, "body").await;
    bad(rest.post("/reviews?intent=x", json!({})).await, "intent").await;
    bad(rest.post("/reviews", proposal_with("x", json!({ "review_id": id }))).await, "review_id").await;
    bad(rest.post(&format!("/reviews/{id}/resubmit"), proposal("x")).await, "agent_type").await;
    let twice = json!({ "review_id": id, "reviewer_id": "ada" });
    bad(rest.post(&format!("/reviews/{id}/claim"), twice).await, "review_id").await;
    bad(rest.get("/reviews?offset=10").await, "offset").await;
    bad(rest.get("/reviews?limit=many").await, "limit").await;
    bad(rest.get(&format!("/reviews/{id}?colour=red")).await, "colour").await;
    bad(rest.get("/config?x=1").await, "x").await;
    bad(rest.get("/reviewers/r1/logs?lines=0").await, "lines").await;
    bad(rest.get("/reviews/%ff").await, "path").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_is_found_by_number_and_by_prefix() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let id = create(&rest, "to be found").await;
    for name in [&id, "R-1", &id[..8]] {
        assert_eq!(rest.get(&format!("/reviews/{name}/status")).await.is(200)["review_id"], *id);
    }
    // The key decides the id; these two ids have a common prefix.
    for key in ["twin-309", "twin-453"] {
        rest.post("/reviews", proposal_with("alike", json!({ "idempotency_key": key }))).await.is(201);
    }
    let ids = column(&rest.get("/reviews?limit=2").await.is(200)["reviews"], "review_id");
    let prefix = &ids[0].as_str().unwrap()[..4];
    let no = rest.delete(&format!("/reviews/{prefix}?reason=which")).await.refused(409, "ambiguous_review");
    let mut candidates = no["candidates"].as_array().unwrap().clone();
    candidates.sort_by_key(|id| id != &ids[0]);
    assert_eq!(candidates, ids);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_idempotency_key_makes_a_repeat_safe() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let keyed = |key: &str, intent: &str| {
        sent(rest.request("POST", "/reviews").header("idempotency-key", key).body(proposal(intent).to_string()))
    };
    let first = keyed("once", "the same").await.is(201);
    for same in ["once", "\"once\""] {
        assert_eq!(keyed(same, "the same").await.is(201)["review_id"], first["review_id"]);
    }
    let body = proposal_with("the same", json!({ "idempotency_key": "once" }));
    assert_eq!(rest.post("/reviews", body.clone()).await.is(201)["review_id"], first["review_id"]);
    keyed("once", "another").await.refused(409, "idempotency_key_reused");
    let two = sent(rest.request("POST", "/reviews").header("idempotency-key", "twice").body(body.to_string())).await;
    assert_eq!(two.refused(400, "invalid_params")["field"], "idempotency_key");
    assert_eq!(rest.get("/reviews").await.is(200)["reviews"].as_array().unwrap().len(), 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn pages_follow_their_links() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    for number in 0..5 {
        create(&rest, &format!("number {number}")).await;
    }
    let (mut seen, mut next) = (Vec::new(), Some("/api/v1/reviews?limit=2&status=pending".to_owned()));
    while let Some(at) = next {
        let page = rest.get(&at).await;
        let body = page.is(200);
        next = page.header("link").map(|link| {
            let at = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            assert!(at.contains("limit=2") && at.contains("status=pending"), "{at}");
            at.to_owned()
        });
        assert_eq!(next.is_some(), body["next_cursor"].is_string(), "{body}");
        seen.extend(column(&body["reviews"], "number"));
    }
    assert_eq!(seen, ["R-1", "R-2", "R-3", "R-4", "R-5"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn mcp_and_rest_can_change_one_review_at_the_same_time() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let id = mcp.submit("wanted by all").await;
    let by_rest = (0..8).map(|n| {
        let (rest, id) = (rest.clone(), id.clone());
        async move {
            let claim = rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": format!("rest-{n}") })).await;
            if claim.status == 200 {
                Some(claim.json())
            } else {
                claim.refused(409, "already_claimed");
                None
            }
        }
    });
    let by_mcp = (0..8).map(|n| {
        let claim = mcp.try_call("claim_review", json!({ "review_id": id, "reviewer_id": format!("mcp-{n}") }));
        async move { claim.await.map_err(|no| assert_eq!(no["code"], "already_claimed")).ok() }
    });
    let (by_rest, by_mcp) = futures::join!(join_all(by_rest), join_all(by_mcp));
    let won: Vec<_> = by_rest.into_iter().chain(by_mcp).flatten().collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let holder = won[0]["claimed_by"].clone();
    // A change over one interface is visible over the other.
    let question = json!({ "sender_role": "reviewer", "caller_id": holder, "body": "why?" });
    rest.post(&format!("/reviews/{id}/messages"), question).await.is(200);
    mcp.call("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "because" })).await;
    let approved = json!({ "verdict": "approved", "reviewer_id": holder });
    rest.post(&format!("/reviews/{id}/verdict"), approved).await.is(200);
    assert_eq!(mcp.status(&id).await, rest.get(&format!("/reviews/{id}/status")).await.is(200));
    let of = |id: &str| json!({ "review_id": id });
    assert_eq!(mcp.call("get_proposal", of(&id)).await, rest.get(&format!("/reviews/{id}")).await.is(200));
    assert_eq!(mcp.call("get_discussion", of(&id)).await, rest.get(&format!("/reviews/{id}/messages")).await.is(200));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_long_poll_over_rest_sees_a_change_made_over_mcp() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let id = create(&rest, "to be watched").await;
    let waiting = tokio::spawn({
        let (rest, id) = (rest.clone(), id.clone());
        async move { rest.get(&format!("/reviews/{id}/status?wait=true&since=1&timeout_seconds=50")).await.is(200) }
    });
    broker.until_waiting(1).await;
    mcp.claim(&id, "ada").await;
    let seen = waiting.await.unwrap();
    assert_eq!((&seen["status"], &seen["timed_out"]), (&json!("claimed"), &json!(false)));
    // A client that disconnects ends its wait.
    let at = format!("/reviews/{id}/status?wait=true&since={}&timeout_seconds=50", seen["version"]);
    let leaving = tokio::spawn(sent(rest.request("GET", &at)));
    broker.until_waiting(1).await;
    leaving.abort();
    broker.until_waiting(0).await;
    broker.stop_and_check().await;
}
