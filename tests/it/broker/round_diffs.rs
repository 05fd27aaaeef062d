//! The diff between two rounds, for a reviewer who has read the first.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{column, verdict, with},
};
use serde_json::{Value, json};
use testkit::Repo;

/// The diff of the working tree, which is then restored.
fn diff_of(repo: &Repo, files: &[(&str, &str)]) -> String {
    for (file, text) in files {
        repo.write(file, text);
    }
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached", "--binary"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    diff
}

/// A review whose second round has this content.
async fn revised(client: &TestClient, first: Value, second: Value) -> String {
    let review = id(&client.call("create_review", proposal_with("twice", first)).await);
    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    client.call("create_review", with(json!({ "review_id": review, "intent": "twice" }), second)).await;
    review
}

async fn since(client: &TestClient, review: &str, more: Value) -> Value {
    client.call("get_proposal", with(json!({ "review_id": review, "since_round": 1 }), more)).await
}

#[tokio::test]
async fn only_what_changed_since_a_round_is_shown() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let first = diff_of(repo, &[("greeting.txt", "one\nzwei\nthree\n"), ("new.txt", "new\n"), ("same.txt", "same\n")]);
    let second =
        diff_of(repo, &[("greeting.txt", "one\nzwei\ndrei\n"), ("more.txt", "more\n"), ("same.txt", "same\n")]);
    let texts = |diff: &str| json!({ "diff": diff, "description": "why" });
    let review = revised(&client, texts(&first), texts(&second)).await;
    let shown = since(&client, &review, json!({})).await;
    assert_eq!((&shown["since_round"], &shown["round"], &shown["since_note"]), (&json!(1), &json!(2), &Value::Null));
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("-three\n+drei\n") && !diff.contains("same.txt") && !diff.contains("-two"), "{diff}");
    let paths = column(&shown["affected_files"], "path");
    assert_eq!(paths, [json!("greeting.txt"), json!("more.txt"), json!("new.txt")]);
    assert_eq!(shown["description"], Value::Null, "it is the same");
    let whole = client.call("get_proposal", json!({ "review_id": review })).await;
    assert_eq!((&whole["diff"], &whole["content_hash"]), (&json!(second), &shown["content_hash"]));

    let part = since(&client, &review, json!({ "file": "more.txt" })).await;
    assert!(part["diff"].as_str().unwrap().starts_with("diff --git a/more.txt b/more.txt\n"), "{part}");
    let untouched = json!({ "review_id": review, "since_round": 1, "file": "same.txt" });
    let refused = client.refused("unknown_file", "get_proposal", untouched).await;
    assert_eq!(refused["allowed"], json!(paths));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_diff_between_rounds_is_paginated_and_cursors_belong_to_it() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let lines = |word: &str| (0..9_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    let first = diff_of(repo, &[("long.txt", &lines("first"))]);
    let second = diff_of(repo, &[("long.txt", &lines("second"))]);
    let review = revised(&client, json!({ "diff": first }), json!({ "diff": second })).await;
    let (mut diff, mut page) = (String::new(), since(&client, &review, json!({})).await);
    let cursor = page["next_cursor"].clone();
    loop {
        diff += page["diff"].as_str().unwrap();
        let Some(next) = page["next_cursor"].as_str() else { break };
        page = since(&client, &review, json!({ "cursor": next })).await;
    }
    assert_eq!((diff.matches("\n-first ").count(), diff.matches("\n+second ").count()), (9_000, 9_000));
    client.refused("bad_cursor", "get_proposal", json!({ "review_id": review, "cursor": cursor })).await;
    let other = client.call("get_proposal", json!({ "review_id": review })).await["next_cursor"].clone();
    let mixed = json!({ "review_id": review, "since_round": 1, "cursor": other });
    client.refused("bad_cursor", "get_proposal", mixed).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn equal_rounds_are_reported_as_equal() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let diff = repo.diff("zwei");
    let same = revised(&client, json!({ "diff": diff }), json!({ "description": "now with reasons" })).await;
    let shown = since(&client, &same, json!({})).await;
    assert_eq!((&shown["diff"], &shown["affected_files"]), (&Value::Null, &json!([])));
    assert_eq!((&shown["description"], &shown["has_diff"]), (&json!("now with reasons"), &json!(true)));
    assert!(shown["since_note"].as_str().unwrap().contains("are those of round 1"), "{shown}");

    let plans = revised(&client, json!({ "description": "plan A" }), json!({ "description": "plan B" })).await;
    let shown = since(&client, &plans, json!({})).await;
    assert_eq!((&shown["diff"], &shown["description"]), (&Value::Null, &json!("plan B")));
    assert!(shown["since_note"].as_str().unwrap().contains("has a diff"), "{shown}");
    let itself = since(&client, &plans, json!({ "round": 1 })).await;
    assert_eq!((&itself["description"], &itself["round"]), (&Value::Null, &json!(1)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn rounds_on_different_bases_are_compared_by_their_resulting_files() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let first = repo.diff("zwei");
    let review = id(&client.call("create_review", proposal_with("twice", json!({ "diff": first }))).await);
    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    repo.write("other.txt", "meanwhile\n");
    repo.commit("meanwhile");
    let second = json!({ "review_id": review, "intent": "rebased", "diff": repo.diff("dos") });
    client.call("create_review", second).await;
    let shown = since(&client, &review, json!({})).await;
    assert_eq!(column(&shown["affected_files"], "path"), [json!("greeting.txt"), json!("other.txt")]);
    assert!(shown["diff"].as_str().unwrap().contains("-zwei\n+dos\n"), "{shown}");
    assert!(shown["since_note"].as_str().unwrap().contains("different commits"), "{shown}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unknown_round_or_one_without_files_is_refused() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let broken = repo.diff("zwei").replace("-two", "-twelve");
    let unchecked = json!({ "diff": broken, "skip_diff_validation": true });
    let mended = json!({ "diff": repo.diff("zwei"), "skip_diff_validation": false });
    let review = revised(&client, unchecked, mended).await;
    let ask = |more: Value| with(json!({ "review_id": review }), more);
    let refused = client.refused("invalid_argument", "get_proposal", ask(json!({ "since_round": 1 }))).await;
    assert!(refused["error"].as_str().unwrap().contains("does not apply"), "{refused}");
    assert_eq!((&refused["field"], &refused["retryable"]), (&json!("since_round"), &json!(false)));
    for round in [0, 3, u32::MAX] {
        let refused = client.refused("no_such_round", "get_proposal", ask(json!({ "since_round": round }))).await;
        assert_eq!((&refused["field"], &refused["last"]), (&json!("since_round"), &json!(2)));
    }
    let later = ask(json!({ "round": 1, "since_round": 2 }));
    assert_eq!(client.refused("invalid_argument", "get_proposal", later).await["field"], "since_round");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_counter_patch_of_each_seat_can_be_read() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let panel = json!({ "diff": repo.diff("zwei"), "personas": ["security", "tests", "general"] });
    let review = id(&client.call("create_review", proposal_with("countered", panel)).await);
    for (reviewer, persona, word) in [("ada", "security", "dos"), ("bob", "tests", "deux")] {
        let claim = json!({ "review_id": review, "reviewer_id": reviewer, "persona": persona });
        client.call("claim_review", claim).await;
        let offer = with(verdict(&review, reviewer, "changes_requested"), json!({ "counter_patch": repo.diff(word) }));
        client.call("submit_verdict", offer).await;
    }
    let read = async |more: Value| {
        let shown = client.call("get_proposal", with(json!({ "review_id": review }), more)).await;
        (shown["counter_patch_persona"].clone(), shown["counter_patch"].clone())
    };
    assert_eq!(read(json!({})).await, (json!("tests"), json!(repo.diff("deux"))));
    assert_eq!(read(json!({ "persona": "security" })).await, (json!("security"), json!(repo.diff("dos"))));
    assert_eq!(read(json!({ "persona": "tests" })).await, (json!("tests"), json!(repo.diff("deux"))));
    assert_eq!(read(json!({ "persona": "general" })).await, (Value::Null, Value::Null));
    let unknown = json!({ "review_id": review, "persona": "unknown" });
    let refused = client.refused("no_such_seat", "get_proposal", unknown).await;
    assert!(refused["error"].as_str().unwrap().contains("security"), "{refused}");
    broker.stop_and_check().await;
}
