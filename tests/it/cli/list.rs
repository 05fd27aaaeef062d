//! `countersign list` with filters.

use crate::support::{broker::TestBroker, client::proposal_with};
use serde_json::{Value, json};

#[tokio::test]
async fn a_list_is_narrowed_by_its_options() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let submit = |intent: &str, more: Value| client.call("create_review", proposal_with(intent, more));
    submit("Cache the index", json!({ "proposer_id": "ada", "personas": ["security"] })).await;
    submit("Drop the cache", json!({ "proposer_id": "bob" })).await;
    let listed = async |options: &[&str]| {
        let list = broker.command_as("eve", &[&["list"], options].concat()).stdout().await;
        ["R-1", "R-2"].map(|number| list.contains(number))
    };
    assert_eq!(listed(&["--proposer", "ada"]).await, [true, false]);
    assert_eq!(listed(&["--persona", "general"]).await, [false, true]);
    assert_eq!(listed(&["--search", "CACHE"]).await, [true, true]);
    assert_eq!(listed(&["--search", "r-2", "--all"]).await, [false, true]);
    assert_eq!(listed(&["--branch", "topic"]).await, [false, false]);
    assert_eq!(listed(&["--search", "cache", "--proposer", "bob", "--status", "pending"]).await, [false, true]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn phase_plan_and_task_are_shown_where_a_review_is() {
    let broker = TestBroker::start().await;
    broker.client().call("create_review", proposal_with("nothing planned", json!({ "phase": "work" }))).await;
    assert!(!broker.command(&["list"]).stdout().await.contains("PHASE/PLAN/TASK"), "no column without planned work");
    let planned = json!({ "phase": "3", "plan": "03-01", "task": "2" });
    broker.client().call("create_review", proposal_with("planned", planned)).await;
    let list = broker.command(&["list"]).stdout().await;
    assert!(list.contains("PHASE/PLAN/TASK") && list.contains("3/03-01/2"), "{list}");
    let words = "phase 3, plan 03-01, task 2";
    let shown = broker.command(&["show", "R-2"]).stdout().await;
    assert!(shown.contains(words), "{shown}");
    let claimed = broker.command_as("ada", &["claim", "R-2"]).stdout().await;
    assert!(claimed.contains(words), "{claimed}");
    assert!(!broker.command(&["show", "R-1"]).stdout().await.contains("phase"));
}

#[tokio::test]
async fn a_flag_names_its_file_once() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    std::os::unix::fs::symlink("greeting.txt", repo.path().join("link")).unwrap();
    repo.write(".github/workflows/ci.yml", "on: push\n");
    repo.git(&["add", "."]);
    broker.command_as("eve", &["request", "--staged"]).stdout().await;
    let shown = broker.command(&["show", "R-1"]).stdout().await;
    assert!(shown.contains("  ! symlink link a symlink to greeting.txt\n"), "{shown}");
    assert!(shown.contains("  ! ci config .github/workflows/ci.yml can change what runs"), "{shown}");
}
