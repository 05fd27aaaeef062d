//! HEAD moves after a diff was submitted: what a claim says about it, sends back or re-bases.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{self, column, with},
};
use serde_json::{Value, json};
use testkit::Repo;

async fn propose(client: &TestClient, more: Value) -> Value {
    client.call("create_review", proposal_with("translate", more)).await
}

async fn claim(client: &TestClient, id: &str) -> Value {
    client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await
}

/// Commits another change of the line that `Repo::diff` changes.
fn commit_conflict(repo: &Repo) -> String {
    repo.write("greeting.txt", "one\ndeux\nthree\n");
    repo.commit("another translation")
}

/// Commits a file that no diff of these tests touches.
fn commit_beside(repo: &Repo, file: &str) -> String {
    repo.write(file, "beside\n");
    repo.commit("beside")
}

fn head_state(answer: &Value) -> (&Value, &Value, &Value) {
    (&answer["applies"], &answer["applies_to_head"], &answer["base_behind"])
}

fn contains(text: &Value, part: &str) -> bool {
    text.as_str().is_some_and(|text| text.contains(part))
}

#[tokio::test]
async fn a_claim_says_how_far_the_base_is_behind_head() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let created = propose(&client, json!({ "diff": repo.diff("zwei") })).await;
    let review = id(&created);
    let generation = client.claim(&review, "ada").await;
    let unmoved = client.status(&review).await;
    assert_eq!(head_state(&unmoved), (&json!(true), &Value::Null, &Value::Null), "HEAD is the base");
    client.call("release_claim", json!({ "review_id": review, "claim_generation": generation })).await;

    commit_beside(repo, "a.txt");
    commit_beside(repo, "b.txt");
    let claimed = claim(&client, &review).await;
    assert_eq!(head_state(&claimed), (&json!(true), &json!(true), &json!(2)));
    assert_eq!(claimed["content_hash"], created["content_hash"], "the base stays");
    for answer in [client.status(&review).await, client.call("get_proposal", json!({ "review_id": review })).await] {
        assert_eq!(head_state(&answer), (&json!(true), &json!(true), &json!(2)));
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_accepted_counter_patch_is_checked_against_head_too() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let review = id(&propose(&client, json!({ "diff": repo.diff("zwei"), "base": "HEAD" })).await);
    client.claim(&review, "ada").await;
    let offer =
        with(reviews::verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": repo.diff("dos") }));
    client.call("submit_verdict", offer).await;
    commit_conflict(repo);
    let accepted = client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!(head_state(&accepted), (&json!(true), &json!(false), &json!(1)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_that_no_longer_applies_to_head_is_sent_back_when_claimed() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let created = propose(&client, json!({ "diff": repo.diff("zwei") })).await;
    let review = id(&created);
    let head = commit_conflict(repo);

    let claimed = claim(&client, &review).await;
    assert_eq!((&claimed["status"], &claimed["auto_rejected"]), (&json!("changes_requested"), &json!(true)));
    assert_eq!(head_state(&claimed), (&json!(true), &json!(false), &json!(1)));
    let base = &created["base_commit"].as_str().unwrap()[..10];
    let tried = format!("checked against {} (HEAD; the diff was made for {base}, 1 commit behind): ", &head[..10]);
    let message = &claimed["validation_error"];
    assert!(contains(message, &tried) && contains(message, "patch does not apply"), "{message}");
    let status = client.status(&review).await;
    assert_eq!((&status["verdict_reason"], &status["validation_error"]), (message, message));

    // The revised diff is against HEAD.
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    let diff = repo.git(&["diff"]) + "\n";
    client.call("create_review", json!({ "review_id": review, "intent": "again", "diff": diff })).await;
    let claimed = claim(&client, &review).await;
    assert_eq!((&claimed["auto_rejected"], &claimed["base_commit"]), (&json!(false), &json!(head)));
    assert_eq!(head_state(&claimed), (&json!(true), &Value::Null, &Value::Null));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_with_a_named_base_is_not_sent_back() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    repo.git(&["branch", "feature"]);
    let named = id(&propose(&client, json!({ "diff": repo.diff("zwei"), "base": "HEAD" })).await);
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.commit("on the branch");
    repo.git(&["checkout", "--quiet", "main"]);
    let target = id(&propose(&client, json!({ "target": { "branch": "feature" } })).await);
    commit_conflict(repo);
    // A revision of the text alone keeps the named base.
    client.call("create_review", json!({ "review_id": named, "intent": "in other words" })).await;
    for review in [named, target] {
        let claimed = claim(&client, &review).await;
        assert_eq!(claimed["auto_rejected"], false, "{claimed}");
        assert_eq!(head_state(&claimed), (&json!(true), &json!(false), &json!(1)));
        assert_eq!(claimed["validation_error"], Value::Null);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_change_that_its_proposer_has_committed_is_not_sent_back() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let review = id(&propose(&client, json!({ "diff": repo.diff("zwei") })).await);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.commit("translated");
    commit_beside(repo, "a.txt");
    let claimed = claim(&client, &review).await;
    assert_eq!(head_state(&claimed), (&json!(true), &json!(true), &json!(2)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_that_fits_only_head_is_re_based_when_claimed() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let old_base = repo.git(&["rev-parse", "HEAD"]);
    // The diff is submitted before the commit that it builds on.
    repo.write("greeting.txt", "one\ndeux\nthree\n");
    repo.git(&["add", "--all"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    let diff = repo.git(&["diff"]) + "\n";
    let created = propose(&client, json!({ "diff": diff })).await;
    assert_eq!((&created["applies"], &created["base_commit"]), (&json!(false), &json!(old_base)));
    let tried = format!("checked against {} (HEAD): ", &old_base[..10]);
    assert!(contains(&created["validation_error"], &tried), "{created}");
    let review = id(&created);
    let head = commit_conflict(repo);

    let claimed = claim(&client, &review).await;
    assert_eq!((&claimed["auto_rejected"], &claimed["base_commit"]), (&json!(false), &json!(head)));
    assert_eq!(head_state(&claimed), (&json!(true), &Value::Null, &Value::Null));
    assert_ne!(claimed["content_hash"], created["content_hash"]);
    assert_eq!(claimed["patch_id"], created["patch_id"]);
    let read = client.call("get_proposal", json!({ "review_id": review })).await;
    assert_eq!((&read["diff"], &read["content_hash"]), (&json!(diff), &claimed["content_hash"]));
    assert_eq!(read["base_commit"], head);

    let timeline = client.call("get_review_timeline", json!({ "review_id": review })).await;
    let events = &timeline["rounds"][0]["events"];
    assert_eq!(column(events, "kind"), ["proposed", "rebased", "claimed"]);
    assert_eq!((&events[1]["content_hash"], &events[1]["actor"]), (&claimed["content_hash"], &Value::Null));
    assert!(contains(&events[1]["reason"], &head[..10]) && contains(&events[1]["reason"], &old_base[..10]), "{events}");
    let feed = client.call("get_activity_feed", json!({})).await;
    let sentence = format!("the broker moved the diff of R-1 from {} to HEAD ({})", &old_base[..10], &head[..10]);
    assert!(column(&feed["entries"], "text").contains(&json!(sentence)), "{feed}");

    // The verdict is bound to the new content.
    let approve = |hash: &Value| with(reviews::verdict(&review, "ada", "approved"), json!({ "content_hash": hash }));
    client.refused("stale_content", "submit_verdict", approve(&created["content_hash"])).await;
    client.call("submit_verdict", approve(&claimed["content_hash"])).await;
    let status = client.status(&review).await;
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.git(&["add", "--all"]);
    assert_eq!((&status["status"], &status["approved_hash"]), (&json!("approved"), &claimed["content_hash"]));
    assert_eq!(status["tree_id"], repo.git(&["write-tree"]));
    let gate = broker.command(&["gate", "--staged"]).stdout().await;
    assert!(gate.starts_with("yes: the staged change was approved in R-1"), "{gate}");

    let broker = broker.kill_and_restart().await;
    assert_eq!(broker.client().status(&review).await["content_hash"], claimed["content_hash"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_with_a_named_base_is_not_re_based() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let old_base = repo.git(&["rev-parse", "HEAD"]);
    commit_conflict(repo);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    let diff = repo.git(&["diff"]) + "\n";
    let created = propose(&client, json!({ "diff": diff, "base": old_base })).await;
    let tried = format!("checked against {}: ", &old_base[..10]);
    assert!(contains(&created["validation_error"], &tried), "{created}");
    let claimed = claim(&client, &id(&created)).await;
    assert_eq!((&claimed["auto_rejected"], &claimed["content_hash"]), (&json!(true), &created["content_hash"]));
    assert!(contains(&claimed["validation_error"], &tried), "{claimed}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_is_checked_even_if_the_check_of_the_diff_is_skipped() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let base = repo.git(&["rev-parse", "HEAD"]);
    let review = id(&propose(&client, json!({ "diff": repo.diff("zwei"), "skip_diff_validation": true })).await);
    client.claim(&review, "ada").await;
    let offer =
        |patch: String| with(reviews::verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": patch }));
    let broken = repo.diff("dos").replace("-two", "-twelve");
    let refused = client.refused("counter_patch_fails", "submit_verdict", offer(broken)).await;
    let tried = format!("checked against {} (HEAD): ", &base[..10]);
    assert!(contains(&refused["validation_error"], &tried), "{refused}");
    assert_eq!(client.status(&review).await["status"], "claimed");

    client.call("submit_verdict", offer(repo.diff("dos"))).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!(accepted["diff_validation_skipped"], true, "the proposer's choice stays");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_that_git_cannot_check_is_accepted_if_the_check_is_skipped() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    commit_beside(repo, "a.txt");
    let review = id(&propose(&client, json!({ "diff": repo.diff("zwei"), "skip_diff_validation": true })).await);
    client.claim(&review, "ada").await;
    // The base disappears.
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let patch = repo.diff("dos");
    let offer = with(reviews::verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": patch }));
    client.call("submit_verdict", offer).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!((&accepted["diff_validation_skipped"], &accepted["has_counter_patch"]), (&json!(true), &json!(false)));
    broker.stop_and_check().await;
}
