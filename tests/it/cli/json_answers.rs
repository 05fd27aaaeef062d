//! Every `--json` answer matches the schema of the tool behind it.

use crate::support::{json_schema::violations, terminal::on_a_branch};
use ::api::OperationId;
use serde_json::{Value, json};

/// Some commands print a part of the answer.
#[track_caller]
fn matches_schema(tool: &str, answer: &Value) {
    assert!(answer.as_object().is_some_and(|fields| !fields.is_empty()), "{tool}: {answer}");
    let mut schema = OperationId::tool(tool).unwrap().response_schema();
    schema.remove("required");
    assert_eq!(violations(&Value::Object(schema), answer), Vec::<String>::new(), "{tool}: {answer}");
    assert!(answer.get("error").is_none(), "{tool}: {answer}");
}

#[tokio::test]
async fn every_json_answer_matches_the_schema_of_its_tool() {
    let broker = on_a_branch().await;
    let run = async |who: &str, tool: &str, line: &[&str]| {
        let line: Vec<_> = line.iter().copied().chain(["--json"]).collect();
        let answer = broker.command_as(who, &line).json().await;
        matches_schema(tool, &answer);
        answer
    };
    let submitted = run("ada", "create_review", &["request"]).await;
    assert_eq!((&submitted["number"], &submitted["target"]["name"]), (&json!("R-1"), &json!("topic")));
    run("ada", "list_reviews", &["list", "--mine"]).await;
    run("bob", "claim_review", &["claim", "R-1"]).await;
    run("bob", "release_claim", &["release", "1", "-m", "no time"]).await;
    let patch = broker.repo().git(&["diff", "main"]).replace("zwei", "zwo") + "\n";
    broker.repo().write("../better.diff", &patch);
    let verdict = [
        "respond",
        "1",
        "--request-changes",
        "-m",
        "no",
        "--issue",
        "low greeting.txt:2 nit",
        "--counter-patch",
        "../better.diff",
    ];
    run("bob", "submit_verdict", &verdict).await;
    run("ada", "get_review_status", &["status", "1"]).await;
    run("ada", "list_issues", &["issues"]).await;
    run("ada", "update_issue", &["issues", "fix", "I-1"]).await;
    run("ada", "get_proposal", &["diff", "1"]).await;
    let shown = run("ada", "get_proposal", &["patch", "show", "1"]).await;
    assert_eq!(shown["counter_patch"], json!(patch));
    run("ada", "reject_counter_patch", &["patch", "decline", "1"]).await;
    run("ada", "add_message", &["comment", "1", "-m", "why?"]).await;
    run(
        "bob",
        "submit_verdict",
        &["respond", "1", "--request-changes", "-m", "so", "--counter-patch", "../better.diff"],
    )
    .await;
    run("ada", "accept_counter_patch", &["patch", "accept", "1"]).await;
    run("ada", "create_review", &["resubmit", "1", "--branch", "-m", "again"]).await;
    run("bob", "submit_verdict", &["respond", "1", "--approve"]).await;
    run("ada", "get_review_status", &["wait", "1"]).await;
    run("ada", "close_review", &["close", "1"]).await;
    run("ada", "create_review", &["request", "--commit", "HEAD"]).await;
    run("ada", "cancel_review", &["cancel", "2", "-m", "no"]).await;
    run("ada", "get_audit_log", &["audit"]).await;
    run("ada", "get_activity_feed", &["activity"]).await;
    run("ada", "get_review_timeline", &["timeline", "1"]).await;
    run("ada", "get_review_stats", &["stats"]).await;
    run("ada", "list_reviewers", &["reviewer", "list"]).await;
}

#[tokio::test]
async fn show_prints_the_complete_review_as_json() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request", "--description", &"long ".repeat(20_000)]).stdout().await;
    let verdict = ["respond", "1", "--request-changes", "-m", "no", "--issue", "low nit", "--suggestion", "better"];
    broker.command_as("bob", &verdict).stdout().await;
    broker.command_as("ada", &["comment", "1", "-m", &"why? ".repeat(20_000)]).stdout().await;
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "again"]).stdout().await;
    broker.command_as("ada", &["resubmit", "1", "-m", "again"]).stdout().await;
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;

    let all = broker.command_as("ada", &["show", "1", "--json"]).json().await;
    matches_schema("get_review_status", &all["review"]);
    matches_schema("get_proposal", &all["proposal"]);
    matches_schema("list_issues", &json!({ "issues": all["issues"] }));
    matches_schema("get_discussion", &json!({ "messages": all["messages"] }));
    matches_schema("get_proposal", &json!({ "iterations": all["verdicts"] }));
    assert_eq!(all["proposal"]["description"].as_str().unwrap().len(), 5 * 20_000, "all pages of it");
    assert_eq!(all["messages"][0]["body"].as_str().unwrap().trim_end().len(), 5 * 20_000 - 1);
    let rounds: Vec<_> = all["verdicts"].as_array().unwrap().iter().map(|verdict| verdict["round"].clone()).collect();
    assert_eq!(rounds, [2, 1, 1], "the newest first");
    assert_eq!(all["issues"].as_array().unwrap().len(), 2, "with suggestions");
}

#[tokio::test]
async fn a_list_respects_its_filters_and_its_limit() {
    let broker = on_a_branch().await;
    for _ in 0..3 {
        broker.command_as("ada", &["request", "--new"]).stdout().await;
    }
    broker.command_as("bob", &["request", "--priority", "critical", "--category", "handoff"]).stdout().await;
    broker.command_as("ada", &["cancel", "1", "-m", "no"]).stdout().await;
    broker.command_as("ada", &["close", "1"]).stdout().await;
    let numbers = async |who: &str, line: &[&str]| {
        let line: Vec<_> = ["list", "--json"].iter().chain(line).copied().collect();
        let page = broker.command_as(who, &line).json().await;
        let rows = page["reviews"].as_array().unwrap().clone();
        rows.iter().map(|row| row["number"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(numbers("ada", &[]).await, ["R-4", "R-3", "R-2"]);
    assert_eq!(numbers("ada", &["--all"]).await, ["R-4", "R-3", "R-2", "R-1"]);
    assert_eq!(numbers("ada", &["--mine", "--all", "-n", "2"]).await, ["R-3", "R-2"]);
    assert_eq!(numbers("bob", &["--mine"]).await, ["R-4"]);
    assert_eq!(numbers("eve", &["--claimable"]).await, ["R-4", "R-2", "R-3"], "as the queue has them");
    assert_eq!(numbers("bob", &["--claimable"]).await, ["R-2", "R-3"], "not one's own");
    assert_eq!(numbers("eve", &["--status", "closed", "--status", "pending", "-n", "9"]).await.len(), 4);
    assert_eq!(numbers("eve", &["--category", "handoff"]).await, ["R-4"]);
    assert_eq!(numbers("eve", &["--project", "project", "-n", "1"]).await, ["R-4"]);
    let page = broker.command_as("ada", &["list", "--all", "-n", "2", "--json"]).json().await;
    let rest = ["list", "--all", "--json", "--cursor", page["next_cursor"].as_str().unwrap()];
    assert_eq!(broker.command_as("ada", &rest).json().await["reviews"].as_array().unwrap().len(), 2);
}
