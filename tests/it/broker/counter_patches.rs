//! Counter-patches: a reviewer's diff, and the proposer's decision about it.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{self, last_event, review_in, with},
};
use serde_json::{Value, json};
use testkit::Repo;

/// A claimed review of a diff to `zwei`, and `ada`'s better diff to `dos`.
async fn claimed(broker: &TestBroker) -> (TestClient, String, String) {
    let (client, repo) = (broker.client(), broker.repo());
    let proposal = proposal_with("translate", json!({ "diff": repo.diff("zwei"), "description": "to German" }));
    let id = id(&client.call("create_review", proposal).await);
    client.claim(&id, "ada").await;
    (client, id, repo.diff("dos"))
}

fn offer(id: &str, verdict: &str, patch: &str) -> Value {
    with(reviews::verdict(id, "ada", verdict), json!({ "counter_patch": patch }))
}

async fn read(client: &TestClient, id: &str) -> Value {
    client.call("get_proposal", json!({ "review_id": id })).await
}

#[tokio::test]
async fn an_accepted_counter_patch_becomes_the_active_diff() {
    let broker = TestBroker::start().await;
    let (client, id, _) = claimed(&broker).await;
    let repo = broker.repo();
    repo.write("greeting.txt", "one\ndos\nthree\n");
    repo.write("added.txt", "beside\n");
    repo.git(&["add", "--all"]);
    let (patch, tree) = (repo.git(&["diff", "--cached"]) + "\n", repo.git(&["write-tree"]));
    let before = client.status(&id).await;

    let offered = client.call("submit_verdict", offer(&id, "changes_requested", &patch)).await;
    assert_eq!((&offered["status"], &offered["has_counter_patch"]), (&json!("changes_requested"), &json!(true)));
    let shown = read(&client, &id).await;
    assert_eq!((&shown["counter_patch"], &shown["counter_patch_status"]), (&json!(patch), &json!("pending")));
    assert_eq!(shown["counter_patch_by"], "ada");
    assert_eq!(shown["content_hash"], before["content_hash"], "offering changes nothing of the proposal");

    let accepted = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&accepted["has_counter_patch"], &accepted["current_round"]), (&json!(false), &json!(1)));
    assert_ne!(accepted["content_hash"], before["content_hash"]);
    assert_ne!(accepted["patch_id"], before["patch_id"]);
    assert_eq!((&accepted["tree_id"], &accepted["base_commit"]), (&json!(tree), &before["base_commit"]));
    let shown = read(&client, &id).await;
    assert_eq!((&shown["diff"], &shown["counter_patch_status"]), (&json!(patch), &json!("accepted")));
    assert_eq!(reviews::column(&shown["affected_files"], "path"), ["added.txt", "greeting.txt"]);
    assert_eq!((&shown["description"], &shown["intent"]), (&json!("to German"), &json!("translate")));
    let again = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(again["version"], accepted["version"], "a repeat is answered as done");
    assert_eq!((&again["status"], &again["seats"][0]["reserved_for"]), (&json!("pending"), &json!("ada")));

    let revised = client.call("create_review", json!({ "review_id": id, "intent": "as you said" })).await;
    assert_eq!((&revised["current_round"], &revised["tree_id"]), (&json!(2), &json!(tree)));
    assert_eq!(read(&client, &id).await["diff"], patch, "a revision without a diff keeps what was accepted");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_submitted_diff_stays_readable_after_an_accepted_counter_patch() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let first = read(&client, &id).await;
    let submitted = |round: u32| json!({ "review_id": id, "round": round, "content": "submitted" });
    // Until then the submitted diff is active.
    let same = client.call("get_proposal", submitted(1)).await;
    assert_eq!((&same, &same["submitted_content_hash"]), (&first, &Value::Null));
    let better = broker.repo().diff("deux");
    client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    client.call("accept_counter_patch", json!({ "review_id": id })).await;
    client.call("submit_verdict", offer(&id, "changes_requested", &better)).await;
    client.call("accept_counter_patch", json!({ "review_id": id })).await;

    for round in 1..=2 {
        let active = client.call("get_proposal", json!({ "review_id": id, "round": 1, "content": "active" })).await;
        assert_eq!((&active["diff"], &active["submitted_content_hash"]), (&json!(better), &first["content_hash"]));
        let old = client.call("get_proposal", submitted(1)).await;
        for field in ["diff", "content_hash", "affected_files", "intent", "base_commit"] {
            assert_eq!(old[field], first[field], "{field}");
        }
        assert_eq!(old["submitted_content_hash"], first["content_hash"]);
        assert_eq!((&old["tree_id"], &old["applies"]), (&Value::Null, &Value::Null), "git's word is on the active one");
        let file = reviews::with(submitted(1), json!({ "file": "greeting.txt" }));
        assert_eq!(client.call("get_proposal", file).await["diff"], first["diff"]);
        if round == 1 {
            client.call("create_review", json!({ "review_id": id, "intent": "as you said" })).await;
        }
    }
    let revised = client.call("get_proposal", submitted(2)).await;
    assert_eq!((&revised["diff"], &revised["submitted_content_hash"]), (&json!(better), &Value::Null));

    // Its hash is not the hash that a verdict must name.
    client.claim(&id, "ada").await;
    let approve = with(reviews::verdict(&id, "ada", "approved"), json!({ "content_hash": first["content_hash"] }));
    client.refused("stale_content", "submit_verdict", approve).await;
    let unknown = json!({ "review_id": id, "content": "first" });
    let refused = client.refused("unknown_content", "get_proposal", unknown).await;
    assert_eq!(refused["allowed"], json!(["active", "submitted"]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_rejected_counter_patch_changes_nothing() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let before = read(&client, &id).await;
    client.call("submit_verdict", offer(&id, "changes_requested", &patch)).await;
    let rejected = client.call("reject_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&rejected["status"], &rejected["has_counter_patch"]), (&json!("changes_requested"), &json!(false)));
    let after = read(&client, &id).await;
    for field in ["diff", "content_hash", "patch_id", "tree_id", "affected_files"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!((&after["counter_patch"], &after["counter_patch_status"]), (&json!(patch), &json!("rejected")));
    let again = client.call("reject_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(again["version"], rejected["version"], "a repeat is answered as done");
    client.refused("no_pending_counter_patch", "accept_counter_patch", json!({ "review_id": id })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_that_does_not_apply_is_refused_with_the_whole_verdict() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let before = last_event(&client).await;
    let broken = patch.replace("-two", "-twelve");
    let refused =
        client.refused("counter_patch_fails", "submit_verdict", offer(&id, "changes_requested", &broken)).await;
    let words = refused["validation_error"].as_str().unwrap();
    assert!(words.contains("patch does not apply"), "git's own words: {words}");
    assert_eq!(client.status(&id).await["status"], "claimed");
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_comes_with_a_request_for_changes_or_a_comment_only() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let before = last_event(&client).await;
    for verdict in ["approved", "rejected"] {
        client.refused("counter_patch_not_allowed", "submit_verdict", offer(&id, verdict, &patch)).await;
    }
    assert_eq!(last_event(&client).await, before);
    let commented = client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    assert_eq!((&commented["status"], &commented["has_counter_patch"]), (&json!("claimed"), &json!(true)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_approval_of_replaced_content_is_refused() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let old_hash = client.status(&id).await["content_hash"].clone();
    client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&accepted["status"], &accepted["claimed_by"]), (&json!("claimed"), &json!("ada")));
    let approve = |hash: &Value| with(reviews::verdict(&id, "ada", "approved"), json!({ "content_hash": hash }));
    let stale = client.refused("stale_content", "submit_verdict", approve(&old_hash)).await;
    assert_eq!((&stale["given"], &stale["current"]), (&old_hash, &accepted["content_hash"]));
    let approved = client.call("submit_verdict", approve(&accepted["content_hash"])).await;
    assert_eq!(approved["approved_hash"], accepted["content_hash"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_cannot_replace_decided_content() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    let approved = client.call("submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
    let refused = client.refused("wrong_status", "accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(refused["status"], "approved");
    client.call("close_review", json!({ "review_id": id, "closer_role": "proposer" })).await;
    for tool in ["accept_counter_patch", "reject_counter_patch"] {
        client.refused("wrong_status", tool, json!({ "review_id": id })).await;
    }
    let shown = read(&client, &id).await;
    assert_eq!(
        (&shown["content_hash"], &shown["counter_patch_status"]),
        (&approved["approved_hash"], &json!("dropped"))
    );
    for status in ["rejected", "cancelled"] {
        let other = review_in(&client, status).await;
        client.refused("wrong_status", "accept_counter_patch", json!({ "review_id": other })).await;
        client.refused("wrong_status", "reject_counter_patch", json!({ "review_id": other })).await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_can_be_declined_after_the_approval() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
    let declined = client.call("reject_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&declined["status"], &declined["has_counter_patch"]), (&json!("approved"), &json!(false)));
    assert_eq!(declined["approved_hash"], declined["content_hash"]);
    broker.stop_and_check().await;
}

/// Only where the operator trusts the project is a diff tried on its working tree, which moves.
#[tokio::test]
async fn a_counter_patch_that_no_longer_applies_changes_nothing_when_accepted() {
    let trusted = Repo::new();
    trusted.write("greeting.txt", "uno\ndos\ntres\n");
    let broker =
        TestBroker::with_settings(&format!("[projects.trusted]\npath = {:?}\ntrusted = true\n", trusted.path())).await;
    let client = broker.client();
    let to = |word: &str| {
        let (old, new) = ("--- a/greeting.txt\n+++ b/greeting.txt\n", format!("-dos\n+{word}\n"));
        format!("{old}@@ -1,3 +1,3 @@\n uno\n{new} tres\n")
    };
    let proposal = proposal_with("for the tree", json!({ "diff": to("deux"), "project": "trusted" }));
    let created = client.call("create_review", proposal).await;
    assert_eq!((&created["applies"], &created["applies_to"]), (&json!(true), &json!("worktree")));
    let id = id(&created);
    client.claim(&id, "ada").await;
    client.call("submit_verdict", offer(&id, "changes_requested", &to("zwei"))).await;

    trusted.write("greeting.txt", "something else\n");
    let before = client.status(&id).await;
    let refused = client.refused("counter_patch_fails", "accept_counter_patch", json!({ "review_id": id })).await;
    assert!(refused["validation_error"].as_str().unwrap().contains("patch does not apply"), "{refused}");
    assert_eq!(client.status(&id).await, before);
    assert_eq!(read(&client, &id).await["counter_patch_status"], "pending");

    trusted.write("greeting.txt", "uno\ndos\ntres\n");
    client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(read(&client, &id).await["diff"], to("zwei"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_supersedes_a_pending_counter_patch() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    client.call("submit_verdict", offer(&id, "changes_requested", &patch)).await;
    let revision = json!({ "review_id": id, "intent": "my own way", "diff": broker.repo().diff("deux") });
    client.call("create_review", revision).await;
    client.refused("no_pending_counter_patch", "accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(client.status(&id).await["has_counter_patch"], false);
    let old = client.call("get_proposal", json!({ "review_id": id, "round": 1 })).await;
    assert_eq!((&old["counter_patch"], &old["counter_patch_status"]), (&json!(patch), &json!("dropped")));
    assert_eq!(read(&client, &id).await["counter_patch"], Value::Null);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_second_counter_patch_replaces_the_first() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    let better = broker.repo().diff("deux");
    client.call("submit_verdict", offer(&id, "comment", &patch)).await;
    client.call("submit_verdict", offer(&id, "changes_requested", &better)).await;
    let shown = read(&client, &id).await;
    assert_eq!((&shown["counter_patch"], &shown["counter_patch_status"]), (&json!(better), &json!("pending")));
    client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(read(&client, &id).await["diff"], better);
    client.refused("no_pending_counter_patch", "reject_counter_patch", json!({ "review_id": id })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_message_does_not_withdraw_a_counter_patch() {
    let broker = TestBroker::start().await;
    let (client, id, patch) = claimed(&broker).await;
    client.call("submit_verdict", offer(&id, "changes_requested", &patch)).await;
    let ask = json!({ "review_id": id, "sender_role": "proposer", "body": "Spanish?" });
    assert_eq!(client.call("add_message", ask).await["status"], "pending");
    let accepted = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(accepted["status"], "pending");
    assert_eq!(read(&client, &id).await["diff"], patch);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_plan_can_get_a_counter_patch() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let patch = broker.repo().diff("zwei");
    client.call("submit_verdict", offer(&id, "changes_requested", &patch)).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&accepted["has_diff"], &accepted["applies"]), (&json!(true), &json!(true)));
    assert_eq!(accepted["base_commit"], broker.repo().git(&["rev-parse", "HEAD"]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_to_an_unchecked_diff_is_not_checked_either() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let broken = |word: &str| broker.repo().diff(word).replace("-two", "-twelve");
    let unchecked = json!({ "diff": broken("zwei"), "skip_diff_validation": true });
    let id = id(&client.call("create_review", proposal_with("unchecked", unchecked)).await);
    client.claim(&id, "ada").await;
    client.call("submit_verdict", offer(&id, "changes_requested", &broken("dos"))).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!((&accepted["diff_validation_skipped"], &accepted["applies"]), (&json!(true), &Value::Null));
    assert_eq!(read(&client, &id).await["diff"], broken("dos"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_policy_refuses_a_counter_patch_when_it_is_offered() {
    let broker = TestBroker::with_settings("[git]\nrefuse = [\"agent_config\"]\n").await;
    let (client, id, _) = claimed(&broker).await;
    broker.repo().write(".mcp.json", "{}\n");
    broker.repo().git(&["add", "--all"]);
    let patch = broker.repo().git(&["diff", "--cached"]) + "\n";
    let before = last_event(&client).await;
    let refused = client.refused("flagged_diff", "submit_verdict", offer(&id, "comment", &patch)).await;
    assert!(refused["refused_flags"].to_string().contains(".mcp.json"), "{refused}");
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}
