//! Exports over REST: files of reviews and issues.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    json_schema::violations_in,
    rest_client::sent,
};
use serde_json::{Value, json};

const SARIF_SCHEMA: &str = include_str!("../../fixtures/sarif-2.1.0.schema.json");

/// A review with `count` issues of one verdict.
async fn review_with_issues(broker: &TestBroker, count: usize) -> String {
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let review = id(&client.call("create_review", proposal_with("say it", json!({ "diff": diff }))).await);
    client.claim(&review, "ada").await;
    let issue = |n: usize| json!({ "title": format!("Wrong word {n}"), "severity": "high", "type": "bug" });
    let issues: Vec<_> = (0..count).map(issue).collect();
    let verdict = json!({ "review_id": review, "verdict": "changes_requested", "reviewer_id": "ada", "reason": "no",
                          "issues": issues });
    client.call("submit_verdict", verdict).await;
    review
}

#[tokio::test]
async fn a_review_is_a_file_in_each_format_and_equals_the_export_of_the_command_line() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let review = review_with_issues(&broker, 2).await;
    for (format, kind, extension) in [
        ("sarif", "application/sarif+json", "sarif"),
        ("markdown", "text/markdown", "md"),
        ("json", "application/json", "json"),
        ("jsonl", "application/jsonl", "jsonl"),
    ] {
        let file = rest.get(&format!("/reviews/{review}/export?format={format}")).await;
        assert_eq!((file.status, file.kind()), (200, kind), "{}", file.text);
        let name = format!("attachment; filename=\"R-1.{extension}\"");
        assert_eq!(file.header("content-disposition"), Some(name.as_str()));
        let printed = broker.command(&["export", "R-1", "--format", format]).stdout().await;
        assert_eq!(file.text, printed, "{format}");
    }
    let sarif = rest.get("/reviews/R-1/export?format=sarif").await;
    let (schema, sarif): (Value, Value) =
        (serde_json::from_str(SARIF_SCHEMA).unwrap(), serde_json::from_str(&sarif.text).unwrap());
    assert_eq!(violations_in(&schema, &schema, &sarif), [] as [String; 0]);
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn issues_of_many_pages_are_one_file_and_keep_the_filters() {
    let broker = TestBroker::with_settings("[limits]\npage_chars = 1000\n").await;
    let rest = broker.rest();
    let review = review_with_issues(&broker, 40).await;
    let settled = json!({ "status": "wont_fix", "note": "on purpose", "role": "reviewer", "caller_id": "ada" });
    rest.patch(&format!("/reviews/{review}/issues/I-7"), settled).await.is(200);
    let file = rest.get("/issues/export?format=jsonl&status=open").await;
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"issues.jsonl\""));
    let issues: Vec<Value> = file.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(issues.len(), 39);
    assert!(issues.iter().all(|issue| issue["issue_id"] != "I-7" && issue["number"] == "R-1"), "{}", file.text);
    let json = rest.get("/issues/export?format=json").await;
    assert_eq!(serde_json::from_str::<Value>(&json.text).unwrap()["issues"].as_array().unwrap().len(), 40);
    let sarif = rest.get("/issues/export?format=sarif").await;
    let (schema, sarif): (Value, Value) =
        (serde_json::from_str(SARIF_SCHEMA).unwrap(), serde_json::from_str(&sarif.text).unwrap());
    assert_eq!(violations_in(&schema, &schema, &sarif), [] as [String; 0]);
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 40);
    let table = rest.get("/issues/export?format=markdown&status=wont_fix").await.text;
    assert!(table.contains("| I-7 | R-1 | high | wont_fix |") && table.lines().count() == 5, "{table}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_export_that_cannot_begin_is_an_error_and_not_a_file() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    rest.get("/reviews/R-9/export?format=sarif").await.refused(404, "unknown_review");
    rest.get("/issues/export?review_id=R-9&format=json").await.refused(404, "unknown_review");
    let wrong = rest.get("/issues/export?format=pdf").await;
    let problem = wrong.refused(400, "invalid_params");
    assert_eq!(problem["field"], "format", "{problem}");
    rest.get("/issues/export").await.refused(400, "invalid_params");
    let empty = sent(rest.request("GET", "/issues/export?format=json")).await;
    assert_eq!((empty.status, empty.text.as_str()), (200, "{\"issues\":[]}\n"));
    broker.stop_and_check().await;
}
