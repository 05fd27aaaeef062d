//! `countersign revert`: takes back commits that were made before their review ended.

use crate::support::{
    approvals::{propose, vote},
    broker::TestBroker,
};
use serde_json::json;

/// A broker and a repository with these commits after the first, each submitted as task of the plan `1`.
async fn optimistic(files: &[(&str, &str)]) -> (TestBroker, Vec<String>) {
    let broker = TestBroker::start().await;
    broker.repo().git(&["config", "user.name", "Test"]);
    broker.repo().git(&["config", "user.email", "test@example.invalid"]);
    let mut reviews = Vec::new();
    for (file, text) in files {
        broker.repo().write(file, text);
        broker.repo().commit(file);
        reviews.push(propose(&broker, json!({ "plan": "1", "task": file, "target": { "commit": "HEAD" } })).await);
    }
    (broker, reviews)
}

fn subjects(broker: &TestBroker) -> Vec<String> {
    broker.repo().git(&["log", "--format=%s"]).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_rejected_commit_is_reverted_with_the_later_commits_of_its_plan() {
    let (broker, reviews) = optimistic(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]).await;
    broker.repo().write("unrelated", "stays\n");
    broker.repo().commit("unrelated");
    vote(&broker, &reviews[1], "rejected").await;
    let dry = broker.command(&["revert", &reviews[1], "--dry-run"]).stdout().await;
    assert!(dry.starts_with("R-2: would revert 2 commits, newest first\n"), "{dry}");
    assert_eq!(subjects(&broker).len(), 5);
    let done = broker.command(&["revert", &reviews[1], "--json"]).json().await;
    assert_eq!(done["commits"][0]["subject"], "c");
    assert_eq!(done["commits"][1]["subject"], "b");
    assert_eq!(subjects(&broker)[..2], ["Revert \"b\"", "Revert \"c\""]);
    assert_eq!(broker.repo().git(&["ls-files"]), "a\ngreeting.txt\nunrelated");
    let again = broker.command(&["revert", &reviews[1]]).finish().await;
    assert_eq!(again.code, 1);
    assert!(again.err.contains("no unreverted commit of R-2 found in HEAD"), "{}", again.err);
    assert_eq!(broker.command(&["gate", "--range", "HEAD~5..HEAD~4"]).finish().await.code, 1);
}

#[tokio::test]
async fn with_only_the_later_commits_stay() {
    let (broker, reviews) = optimistic(&[("a", "a\n"), ("b", "b\n")]).await;
    broker.command(&["revert", &reviews[0], "--only"]).stdout().await;
    assert_eq!(broker.repo().git(&["ls-files"]), "b\ngreeting.txt");
}

#[tokio::test]
async fn a_commit_is_found_by_its_content_or_by_its_ref() {
    let broker = TestBroker::start().await;
    broker.repo().git(&["config", "user.name", "Test"]);
    broker.repo().git(&["config", "user.email", "test@example.invalid"]);
    let review = propose(&broker, json!({ "diff": broker.repo().diff("zwei") })).await;
    let none = broker.command(&["revert", &review]).finish().await;
    assert!(none.err.contains("name it with --commit"), "{}", none.err);
    broker.repo().write("greeting.txt", "one\nzwei\nthree\n");
    broker.repo().commit("zwei");
    broker.command(&["revert", &review]).stdout().await;
    assert_eq!(subjects(&broker)[0], "Revert \"zwei\"");
    broker.repo().write("more", "more\n");
    broker.repo().commit("more");
    broker.command(&["revert", &review, "--commit", "HEAD"]).stdout().await;
    assert_eq!(subjects(&broker)[0], "Revert \"more\"");
    assert_eq!(broker.command(&["revert", "R-99"]).finish().await.code, 1);
}

#[tokio::test]
async fn a_revert_that_would_conflict_changes_nothing() {
    let (broker, reviews) = optimistic(&[("a", "1\n"), ("b", "b\n")]).await;
    let refused = async |expected: &str| {
        let (head, status) = (broker.repo().git(&["rev-parse", "HEAD"]), broker.repo().git(&["status", "--porcelain"]));
        let ended = broker.command(&["revert", &reviews[0]]).finish().await;
        assert_eq!(ended.code, 1, "{}", ended.out);
        assert!(ended.err.contains(expected), "{}", ended.err);
        assert_eq!(broker.repo().git(&["rev-parse", "HEAD"]), head);
        assert_eq!(broker.repo().git(&["status", "--porcelain"]), status);
        assert!(!broker.repo().path().join(".git/sequencer").exists());
    };
    broker.repo().write("b", "dirty\n");
    let stash = "run `git stash`, then `countersign revert R-1` again, then `git stash pop`";
    refused(&format!("the working tree has changes (M b); {stash}")).await;
    broker.repo().git(&["checkout", "--quiet", "."]);
    broker.repo().write("a", "2\n");
    broker.repo().commit("another's change of a");
    refused("git could not revert: ").await;
    broker.repo().git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    broker.repo().git(&["checkout", "--quiet", "-b", "side", "HEAD~2"]);
    broker.repo().write("side", "side\n");
    broker.repo().commit("side");
    broker.repo().git(&["checkout", "--quiet", "main"]);
    broker.repo().git(&["merge", "--quiet", "--no-edit", "side"]);
    refused("is a merge on top of the commits to revert").await;
}

#[tokio::test]
async fn an_accepted_counter_patch_is_staged_after_the_revert() {
    let (broker, reviews) = optimistic(&[("a", "bad\n")]).await;
    let patch = "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+good\n";
    broker.client().claim(&reviews[0], "ada").await;
    let verdict = json!({
        "review_id": reviews[0], "reviewer_id": "ada", "verdict": "changes_requested", "reason": "so", "counter_patch": patch,
    });
    broker.client().call("submit_verdict", verdict).await;
    broker.client().call("accept_counter_patch", json!({ "review_id": reviews[0] })).await;
    let out = broker.command(&["revert", &reviews[0]]).stdout().await;
    assert!(out.contains("the accepted counter-patch is staged\nnext: countersign resubmit R-1"), "{out}");
    assert_eq!(broker.repo().git(&["status", "--porcelain"]), "A  a");
    assert_eq!(broker.repo().git(&["show", ":a"]), "good");
    broker.client().call("create_review", json!({ "review_id": reviews[0], "intent": "as you say" })).await;
    vote(&broker, &reviews[0], "approved").await;
    broker.command(&["gate"]).stdout().await;
}

#[tokio::test]
async fn an_approved_review_is_reverted_only_with_force() {
    let (broker, reviews) = optimistic(&[("a", "a\n"), ("b", "b\n")]).await;
    vote(&broker, &reviews[1], "approved").await;
    let refused = async || {
        let ended = broker.command(&["revert", &reviews[1]]).finish().await;
        assert_eq!(ended.code, 1, "{}", ended.out);
        assert!(ended.err.contains("R-2 was approved; pass --force"), "{}", ended.err);
        assert_eq!(subjects(&broker)[0], "b");
    };
    refused().await;
    broker.client().call("close_review", json!({ "review_id": reviews[1], "closer_role": "proposer" })).await;
    refused().await;
    broker.command(&["revert", &reviews[1], "--force"]).stdout().await;
    assert_eq!(subjects(&broker)[0], "Revert \"b\"");
}

#[tokio::test]
async fn a_revert_is_refused_during_another_git_operation() {
    let (broker, reviews) = optimistic(&[("a", "a\n")]).await;
    let head = broker.repo().git(&["rev-parse", "HEAD"]);
    for name in ["REVERT_HEAD", "CHERRY_PICK_HEAD", "MERGE_HEAD"] {
        let file = broker.repo().path().join(".git").join(name);
        std::fs::write(&file, format!("{head}\n")).unwrap();
        let ended = broker.command(&["revert", &reviews[0]]).finish().await;
        assert_eq!(ended.code, 1, "{}", ended.out);
        assert!(ended.err.contains(&format!("({name}); finish or abort it first")), "{}", ended.err);
        assert!(file.exists());
        std::fs::remove_file(&file).unwrap();
    }
    std::fs::create_dir(broker.repo().path().join(".git/sequencer")).unwrap();
    assert_eq!(broker.command(&["revert", &reviews[0], "--dry-run"]).finish().await.code, 1);
    std::fs::remove_dir(broker.repo().path().join(".git/sequencer")).unwrap();
    assert_eq!(broker.repo().git(&["rev-parse", "HEAD"]), head);
    broker.command(&["revert", &reviews[0]]).stdout().await;
}
