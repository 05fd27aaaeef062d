//! Every refusal with its error code. Nothing is saved.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    reviews::{last_event, review_in, verdict, with},
};
use serde_json::{Value, json};

/// A refused call: its code, and what of its details a program needs.
struct Case {
    code: &'static str,
    tool: &'static str,
    arguments: Value,
    details: Value,
}

fn case(code: &'static str, tool: &'static str, arguments: Value, details: Value) -> Case {
    Case { code, tool, arguments, details }
}

#[tokio::test]
async fn every_refusal_has_its_code_and_saves_nothing() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mine = proposal_with("mine", json!({ "proposer_id": "claude-1", "idempotency_key": "k" }));
    let owned = id(&client.call("create_review", mine.clone()).await);
    let pending = review_in(&client, "pending").await;
    let claimed = review_in(&client, "claimed").await;
    let returned = review_in(&client, "changes_requested").await;
    let approved = review_in(&client, "approved").await;
    let spoken = review_in(&client, "claimed").await;
    client.call("add_message", say(&spoken, "reviewer", "first")).await;
    let reserved = review_in(&client, "changes_requested").await;
    client.call("add_message", say(&reserved, "proposer", "why?")).await;
    let diff = broker.repo().diff("zwei");

    let claim = |id: &str, by: &str| json!({ "review_id": id, "reviewer_id": by });
    let cases = [
        case("wrong_status", "claim_review", claim(&approved, "bob"), json!({ "status": "approved" })),
        case("already_claimed", "claim_review", claim(&claimed, "bob"), json!({ "claimed_by": "ada" })),
        case("reserved", "claim_review", claim(&reserved, "bob"), json!({ "reserved_for": "ada" })),
        case("own_proposal", "claim_review", claim(&owned, "claude-1"), json!({})),
        case("own_proposal", "claim_review", claim(&pending, "gsd-executor"), json!({})),
        case(
            "invalid_argument",
            "claim_review",
            claim(&pending, "broker-validator"),
            json!({ "field": "reviewer_id" }),
        ),
        case(
            "no_such_seat",
            "claim_review",
            with(claim(&pending, "bob"), json!({ "persona": "security" })),
            json!({ "possible_seats": "general" }),
        ),
        case("no_such_seat", "add_message", with(say(&claimed, "reviewer", "x"), json!({ "persona": "x" })), json!({})),
        case("not_claimed", "submit_verdict", verdict(&pending, "ada", "approved"), json!({})),
        case("not_your_seat", "submit_verdict", verdict(&claimed, "bob", "approved"), json!({ "claimed_by": "ada" })),
        case("own_proposal", "submit_verdict", verdict(&claimed, "gsd-executor", "approved"), json!({})),
        case("no_fence", "submit_verdict", json!({ "review_id": claimed, "verdict": "approved" }), json!({})),
        case(
            "stale_claim",
            "submit_verdict",
            with(verdict(&claimed, "ada", "approved"), json!({ "claim_generation": 7 })),
            json!({ "given": 7, "current": 1 }),
        ),
        case(
            "not_your_seat",
            "submit_verdict",
            with(verdict(&claimed, "bob", "approved"), json!({ "claim_generation": 1 })),
            json!({ "claimed_by": "ada" }),
        ),
        case(
            "stale_content",
            "submit_verdict",
            with(verdict(&claimed, "ada", "approved"), json!({ "content_hash": "0".repeat(64) })),
            json!({ "given": "0".repeat(64) }),
        ),
        case("reason_needed", "submit_verdict", bare_verdict(&claimed, "changes_requested"), json!({})),
        case("reason_needed", "submit_verdict", bare_verdict(&claimed, "comment"), json!({})),
        case("reason_needed", "submit_verdict", bare_verdict(&claimed, "rejected"), json!({})),
        case(
            "counter_patch_not_allowed",
            "submit_verdict",
            with(verdict(&claimed, "ada", "approved"), json!({ "counter_patch": diff })),
            json!({}),
        ),
        case(
            "counter_patch_fails",
            "submit_verdict",
            with(verdict(&claimed, "ada", "comment"), json!({ "counter_patch": "no diff" })),
            json!({}),
        ),
        case("no_pending_counter_patch", "accept_counter_patch", json!({ "review_id": returned }), json!({})),
        case("no_pending_counter_patch", "reject_counter_patch", json!({ "review_id": returned }), json!({})),
        case("not_claimed", "add_message", say(&pending, "reviewer", "hello"), json!({})),
        case("out_of_turn", "add_message", say(&spoken, "reviewer", "again"), json!({ "last_role": "reviewer" })),
        case(
            "not_your_seat",
            "add_message",
            with(say(&claimed, "reviewer", "x"), json!({ "caller_id": "bob" })),
            json!({ "claimed_by": "ada" }),
        ),
        case(
            "not_the_proposer",
            "close_review",
            json!({ "review_id": approved, "closer_role": "reviewer" }),
            json!({}),
        ),
        case("wrong_status", "close_review", json!({ "review_id": pending, "closer_role": "proposer" }), json!({})),
        case("idempotency_key_reused", "create_review", with(mine, json!({ "intent": "other" })), json!({})),
        case(
            "unknown_project",
            "create_review",
            proposal_with("x", json!({ "project": "nope" })),
            json!({ "allowed": ["project"] }),
        ),
        case(
            "bad_base",
            "create_review",
            proposal_with("x", json!({ "diff": diff, "base": "nope" })),
            json!({ "field": "base" }),
        ),
        case("unknown_review", "get_review_status", json!({ "review_id": "R-99" }), json!({ "field": "review_id" })),
        case("no_such_round", "get_proposal", json!({ "review_id": pending, "round": 2 }), json!({ "last": 1 })),
        case("unknown_file", "get_proposal", json!({ "review_id": pending, "file": "a" }), json!({ "allowed": [] })),
        case(
            "bad_cursor",
            "get_proposal",
            json!({ "review_id": pending, "cursor": "1" }),
            json!({ "field": "cursor" }),
        ),
        case("wait_needs_pending", "list_reviews", json!({ "wait": true }), json!({ "field": "wait" })),
    ];
    let before = last_event(&client).await;
    for Case { code, tool, arguments, details } in cases {
        let call = json!({ "name": tool, "arguments": arguments });
        let result = client.request("tools/call", call).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        let said = &result["structuredContent"];
        assert_eq!((&result["isError"], &said["code"]), (&json!(true), &json!(code)), "{tool}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, said, "the text says all of it, too");
        assert!(said["error"].as_str().is_some_and(|error| error.len() > 10), "{said}");
        assert_eq!(said["retryable"], false, "{said}");
        for (detail, value) in details.as_object().unwrap() {
            assert_eq!(&said[detail], value, "{said}");
        }
    }
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wrong_status_names_the_possible_commands() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let expected = [
        ("pending", "revise, claim, add a seat, add a message, cancel"),
        ("claimed", "revise, add a seat, give a verdict, add a message, cancel"),
        ("changes_requested", "revise, add a seat, give a verdict, add a message, cancel"),
        ("approved", "revise, add a seat, give a verdict, add a message, cancel, close"),
        ("rejected", "revise, close"),
        ("cancelled", "revise, close"),
        ("closed", "nothing, it is final"),
    ];
    for (status, possible) in expected {
        let id = review_in(&client, status).await;
        // Every command is tried in every status.
        let (tool, asked, arguments) = match status {
            "changes_requested" | "pending" | "claimed" => {
                ("close_review", "close", json!({ "review_id": id, "closer_role": "proposer" }))
            }
            _ => ("claim_review", "claim", json!({ "review_id": id, "reviewer_id": "bob" })),
        };
        let refused = client.refused("wrong_status", tool, arguments).await;
        assert_eq!((&refused["status"], &refused["possible"]), (&json!(status), &json!(possible)));
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains(status) && error.contains(&format!("cannot {asked}")), "{error}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_verdict_after_the_end_of_its_claim_is_stale() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = client.submit("fenced").await;
    let old = client.claim(&id, "ada").await;
    client.call("submit_verdict", verdict(&id, "ada", "changes_requested")).await;
    client.call("create_review", json!({ "review_id": id, "intent": "another content" })).await;
    let new = client.claim(&id, "bob").await;
    let stale = json!({ "review_id": id, "verdict": "approved", "claim_generation": old });
    let refused = client.refused("stale_claim", "submit_verdict", stale.clone()).await;
    assert_eq!((&refused["given"], &refused["current"]), (&json!(old), &json!(new)));
    let as_bob = with(stale, json!({ "reviewer_id": "bob" }));
    client.refused("stale_claim", "submit_verdict", as_bob).await;
    assert_eq!(client.status(&id).await["status"], "claimed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_beyond_the_limit_is_refused_as_retryable() {
    let broker = TestBroker::with_settings("[limits]\nwaiters = 1\n").await;
    let client = broker.client();
    let wait = || Box::pin(client.try_call("list_reviews", json!({ "status": "pending", "wait": true })));
    let (first, waiting) = futures::future::select(wait(), wait()).await.factor_first();
    let busy = first.expect_err("there is room for one, so the other is answered at once");
    assert_eq!((&busy["code"], &busy["retryable"]), (&json!("busy"), &json!(true)));
    let id = client.submit("woken").await;
    assert_eq!(waiting.await.unwrap()["reviews"][0]["review_id"], id);
    broker.stop_and_check().await;
}

fn say(id: &str, role: &str, body: &str) -> Value {
    json!({ "review_id": id, "sender_role": role, "body": body })
}

fn bare_verdict(id: &str, verdict: &str) -> Value {
    json!({ "review_id": id, "reviewer_id": "ada", "verdict": verdict })
}
