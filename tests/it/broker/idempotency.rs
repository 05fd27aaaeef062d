//! Idempotency: a call repeated after a lost response returns the first result and changes nothing.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal, proposal_with},
    reviews::{column, last_event, review_in, verdict, with},
};
use serde_json::{Value, json};
use testkit::Repo;

/// Makes the call twice: both answers are equal, and the second saves nothing.
async fn twice(client: &TestClient, tool: &str, arguments: Value) -> Value {
    let first = client.call(tool, arguments.clone()).await;
    let saved = last_event(client).await;
    assert_eq!(client.call(tool, arguments).await, first, "{tool}");
    assert_eq!(last_event(client).await, saved, "{tool}");
    first
}

fn keyed(intent: &str, key: &str) -> Value {
    proposal_with(intent, json!({ "idempotency_key": key }))
}

#[tokio::test]
async fn a_proposal_with_a_key_is_made_once() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let first = twice(&client, "create_review", keyed("once", "k-1")).await;
    assert_eq!((&first["number"], &first["revised"]), (&json!("R-1"), &json!(false)));
    let other = client.call("create_review", keyed("once", "k-2")).await;
    assert_ne!(other["review_id"], first["review_id"]);
    let (one, two) = (client.submit("no key").await, client.submit("no key").await);
    assert_ne!(one, two, "without a key a repeat is a second proposal");
    let list = client.call("list_reviews", json!({})).await;
    assert_eq!(list["reviews"].as_array().unwrap().len(), 4);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_id_that_a_client_gives_its_call_is_a_key() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let create = |meta: Value, arguments: Value| {
        let call = json!({ "name": "create_review", "arguments": arguments, "_meta": meta });
        let answer = client.request("tools/call", call);
        async move { id(&answer.await.unwrap()["structuredContent"]) }
    };
    let codex = |thread: &str, call: &str| json!({ "threadId": thread, "callId": call });
    let claude = |call: &str| json!({ "claudecode/toolUseId": call });
    let work = || proposal("by a client");
    let mut made = Vec::new();
    for meta in [codex("t-1", "c-1"), codex("t-1", "c-2"), codex("t-2", "c-1"), claude("toolu_1"), claude("toolu_2")] {
        let first = create(meta.clone(), work()).await;
        assert_eq!(create(meta.clone(), work()).await, first, "{meta}");
        assert!(!made.contains(&first), "{meta}");
        made.push(first);
    }
    let long = codex(&"t".repeat(100), &"c".repeat(100));
    assert_eq!(create(long.clone(), work()).await, create(long, work()).await);
    // An incomplete id is ignored, and an explicit key takes precedence.
    assert_ne!(create(json!({ "threadId": "t-1" }), work()).await, create(json!({ "threadId": "t-1" }), work()).await);
    let own = create(claude("toolu_3"), keyed("by a client", "own")).await;
    assert_eq!(create(claude("toolu_4"), keyed("by a client", "own")).await, own);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn equal_proposals_at_the_same_moment_make_one_review() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let arguments = proposal_with("at once", json!({ "idempotency_key": "race", "diff": diff }));
    let calls = (0..12).map(|_| client.call("create_review", arguments.clone()));
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
    let list = client.call("list_reviews", json!({})).await;
    assert_eq!(list["reviews"].as_array().unwrap().len(), 1);
    assert_eq!(list["seq"], 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_key_cannot_be_reused_for_another_proposal() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let first = proposal_with("first", json!({ "idempotency_key": "k", "description": "long ago" }));
    let id = id(&client.call("create_review", first.clone()).await);
    let others = || {
        [
            with(first.clone(), json!({ "intent": "second" })),
            with(first.clone(), json!({ "description": "another" })),
            with(first.clone(), json!({ "category": "handoff" })),
            with(first.clone(), json!({ "agent_type": "another" })),
            with(first.clone(), json!({ "diff": broker.repo().diff("zwei") })),
        ]
    };
    for other in others() {
        let refused = client.refused("idempotency_key_reused", "create_review", other).await;
        assert!(refused["error"].as_str().unwrap().contains("R-1"), "{refused}");
    }
    // The review changes, and the key still refers to its first proposal.
    client.claim(&id, "ada").await;
    client.call("submit_verdict", verdict(&id, "ada", "changes_requested")).await;
    let revision = json!({ "review_id": id, "intent": "better", "description": "today" });
    client.call("create_review", revision).await;
    let again = client.call("create_review", first.clone()).await;
    assert_eq!((&again["review_id"], &again["current_round"]), (&json!(id), &json!(2)));
    for other in others() {
        client.refused("idempotency_key_reused", "create_review", other).await;
    }
    assert_eq!(client.call("list_reviews", json!({})).await["reviews"].as_array().unwrap().len(), 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_repeat_is_recognized_after_the_repository_changed() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let diff = repo.diff("zwei");
    let first = proposal_with("moving", json!({ "idempotency_key": "m-1", "diff": diff }));
    let created = client.call("create_review", first.clone()).await;
    let id = id(&created);
    repo.write("other.txt", "meanwhile\n");
    repo.commit("meanwhile");
    assert_eq!(client.call("create_review", first).await, created);

    client.claim(&id, "ada").await;
    client.call("submit_verdict", verdict(&id, "ada", "changes_requested")).await;
    let revision = json!({ "review_id": id, "intent": "again", "diff": repo.diff("dos"), "idempotency_key": "m-2" });
    let revised = client.call("create_review", revision.clone()).await;
    repo.write("other.txt", "and once more\n");
    repo.commit("and once more");
    assert_eq!(client.call("create_review", revision).await, revised);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_with_a_key_is_one_round() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "changes_requested").await;
    let revision = json!({ "review_id": id, "intent": "better", "idempotency_key": "r-2" });
    let revised = twice(&client, "create_review", revision.clone()).await;
    assert_eq!(revised["current_round"], 2);
    client.claim(&id, "ada").await;
    let late = client.call("create_review", revision.clone()).await;
    assert_eq!((&late["current_round"], &late["status"]), (&json!(2), &json!("claimed")));
    let other = with(revision, json!({ "intent": "something else" }));
    client.refused("idempotency_key_reused", "create_review", other).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_same_key_in_two_projects_makes_two_reviews() {
    let other = Repo::new();
    let broker = TestBroker::with_settings(&format!("[projects.other]\npath = {:?}\n", other.path())).await;
    let client = broker.client();
    let here = client.call("create_review", keyed("here", "shared")).await;
    let there = with(keyed("there", "shared"), json!({ "project": "other" }));
    let there = client.call("create_review", there).await;
    assert_ne!(here["review_id"], there["review_id"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_key_can_be_as_long_as_a_name() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    twice(&client, "create_review", keyed("long", &"k".repeat(200))).await;
    let refused = client.refused("too_long", "create_review", keyed("longer", &"k".repeat(201))).await;
    assert_eq!((&refused["actual"], &refused["limit"]), (&json!(201), &json!(200)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_step_of_a_review_can_be_repeated() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = client.submit("step by step").await;
    let claim = json!({ "review_id": id, "reviewer_id": "ada" });
    let claimed = twice(&client, "claim_review", claim.clone()).await;
    assert_eq!(claimed["claim_generation"], 1);
    let hello = json!({ "review_id": id, "sender_role": "reviewer", "body": "hello", "metadata": { "a": 1 } });
    let said = twice(&client, "add_message", hello).await;
    twice(&client, "submit_verdict", verdict(&id, "ada", "comment")).await;
    twice(&client, "submit_verdict", verdict(&id, "ada", "changes_requested")).await;
    // This one puts the review back into the queue, where messages are otherwise refused.
    let ask = json!({ "review_id": id, "sender_role": "proposer", "body": "why?" });
    let asked = twice(&client, "add_message", ask).await;
    assert_eq!(asked["status"], "pending");
    assert!(asked["message_id"].as_u64() > said["message_id"].as_u64());
    twice(&client, "claim_review", claim).await;
    twice(&client, "submit_verdict", verdict(&id, "ada", "approved")).await;
    twice(&client, "close_review", json!({ "review_id": id, "closer_role": "proposer" })).await;
    let talk = client.call("get_discussion", json!({ "review_id": id })).await;
    assert_eq!(talk["messages"].as_array().unwrap().len(), 2);
    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!(read["iterations"].as_array().unwrap().len(), 3);

    let other = client.submit("withdrawn").await;
    twice(&client, "cancel_review", json!({ "review_id": other, "reason": "no" })).await;
    twice(&client, "close_review", json!({ "review_id": other, "closer_role": "proposer" })).await;
    broker.stop_and_check().await;
}

/// The other side may reply before the sender gets its response.
#[tokio::test]
async fn a_message_repeated_after_its_answer_is_not_added_again() {
    let mut broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let say = |role: &str, body: &str| json!({ "review_id": id, "sender_role": role, "body": body });
    let ask = client.call("add_message", say("reviewer", "What is it for?")).await;
    let answer = client.call("add_message", say("proposer", "For you.")).await;
    let saved = last_event(&client).await;
    for _ in 0..2 {
        let again = client.call("add_message", say("reviewer", "What is it for?")).await;
        assert_eq!((&again["message_id"], &again["version"]), (&ask["message_id"], &answer["version"]));
        assert_eq!(client.call("add_message", say("proposer", "For you.")).await, answer);
        broker = broker.kill_and_restart().await;
    }
    // It is not refused either after the review changed.
    client.call("submit_verdict", verdict(&id, "ada", "rejected")).await;
    let late = client.call("add_message", say("proposer", "For you.")).await;
    assert_eq!((&late["message_id"], &late["status"]), (&answer["message_id"], &json!("rejected")));
    assert_eq!(last_event(&client).await, saved + 1, "the verdict, and nothing else");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_equal_verdict_in_the_next_round_is_a_new_one() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let say = |role: &str, body: &str| json!({ "review_id": id, "sender_role": role, "body": body });
    for round in 1..=2 {
        client.call("add_message", say("reviewer", "please fix")).await;
        client.call("add_message", say("proposer", "fixed")).await;
        client.call("submit_verdict", verdict(&id, "ada", "changes_requested")).await;
        client.call("create_review", json!({ "review_id": id, "intent": format!("after round {round}") })).await;
        client.claim(&id, "ada").await;
    }
    let talk = client.call("get_discussion", json!({ "review_id": id })).await;
    assert_eq!(column(&talk["messages"], "body"), ["please fix", "fixed", "please fix", "fixed"]);
    assert_eq!(column(&talk["messages"], "round"), [1, 1, 2, 2]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_repeat_is_recognized_after_a_crash() {
    let mut broker = TestBroker::start().await;
    let client = broker.client();
    let meta = json!({ "threadId": "t", "callId": "c" });
    let by_codex = json!({ "name": "create_review", "arguments": proposal("by codex"), "_meta": meta });
    let diff = broker.repo().diff("zwei");
    let create = proposal_with("survives", json!({ "idempotency_key": "k", "diff": diff }));
    let id = id(&client.call("create_review", create.clone()).await);
    let steps = [
        ("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })),
        ("add_message", json!({ "review_id": id, "sender_role": "reviewer", "body": "hello" })),
        ("submit_verdict", verdict(&id, "ada", "changes_requested")),
        ("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "why?" })),
        ("create_review", json!({ "review_id": id, "intent": "second", "idempotency_key": "k-2" })),
        ("claim_review", json!({ "review_id": id, "reviewer_id": "bob" })),
        ("submit_verdict", verdict(&id, "bob", "approved")),
        ("close_review", json!({ "review_id": id, "closer_role": "proposer" })),
    ];
    let first_codex = client.request("tools/call", by_codex.clone()).await.unwrap();
    for (tool, arguments) in steps {
        let first = client.call(tool, arguments.clone()).await;
        let saved = last_event(&client).await;
        broker = broker.kill_and_restart().await;
        let again = client.call(tool, arguments).await;
        assert_eq!(again, first, "{tool}");
        assert_eq!(last_event(&client).await, saved, "{tool}");
    }
    let again = client.call("create_review", create).await;
    assert_eq!((&again["review_id"], &again["status"]), (&json!(id), &json!("closed")));
    let again_codex = client.request("tools/call", by_codex).await.unwrap();
    assert_eq!(again_codex["structuredContent"], first_codex["structuredContent"]);
    broker.stop_and_check().await;
}
