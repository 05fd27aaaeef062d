//! `countersign export` writes SARIF, JSON and Markdown.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    json_schema::violations_in,
};
use serde_json::{Value, json};

/// A review of two rounds with an open issue, a resolved issue and a suggestion.
async fn reviewed(broker: &TestBroker) -> String {
    let client: TestClient = broker.client();
    let diff = broker.repo().diff("zwei");
    let review = id(&client.call("create_review", proposal_with("say it in <German>", json!({ "diff": diff }))).await);
    client.claim(&review, "ada").await;
    let issue = |title: &str, severity: &str, line: u32| {
        json!({ "title": title, "severity": severity, "type": "bug", "file": "greeting.txt", "line_start": line,
                "line_end": line, "description": "it is | wrong" })
    };
    let verdict = json!({
        "review_id": review, "verdict": "changes_requested", "reviewer_id": "ada", "reason": "```\nnot yet",
        "issues": [issue("Wrong word", "critical", 2), issue("Wrong case", "low", 1)],
        "suggestions": [issue("Say more", "high", 3)],
    });
    client.call("submit_verdict", verdict).await;
    let settled = json!({ "review_id": review, "issue_id": "I-2", "status": "wont_fix", "note": "on purpose",
                          "role": "reviewer", "caller_id": "ada" });
    client.call("update_issue", settled).await;
    client.call("add_message", json!({ "review_id": review, "sender_role": "proposer", "body": "why?" })).await;
    client.call("create_review", json!({ "review_id": review, "intent": "say it in German", "diff": diff })).await;
    review
}

#[tokio::test]
async fn issues_are_written_as_sarif() {
    let broker = TestBroker::start().await;
    let review = reviewed(&broker).await;
    let file = broker.home().join("out.sarif");
    let line = ["export", &review, "--format", "sarif", "-o", file.to_str().unwrap()];
    let ended = broker.command(&line).finish().await;
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
    assert!(ended.err.contains("1 review, 3 issues →"), "{}", ended.err);
    let sarif: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(
        (&sarif["version"], &sarif["runs"][0]["tool"]["driver"]["name"]),
        (&json!("2.1.0"), &json!("countersign"))
    );
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let by_title = |title: &str| {
        let is_it = |result: &&Value| result["message"]["text"].as_str().unwrap().starts_with(title);
        results.iter().find(is_it).unwrap_or_else(|| panic!("{title}: {sarif:#}"))
    };
    let critical = by_title("Wrong word");
    assert_eq!((&critical["level"], &critical["suppressions"]), (&json!("error"), &Value::Null));
    let place = &critical["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "greeting.txt");
    assert_eq!(place["region"], json!({ "startLine": 2, "endLine": 2 }));
    let settled = by_title("Wrong case");
    assert_eq!(
        (&settled["level"], &settled["suppressions"][0]["justification"]),
        (&json!("note"), &json!("wont_fix: on purpose"))
    );
    assert_eq!(by_title("Say more")["level"], "note", "a suggestion does not block");
    let prints: std::collections::HashSet<_> =
        results.iter().map(|result| result["partialFingerprints"]["countersignIssue/v1"].as_str().unwrap()).collect();
    assert_eq!(prints.len(), 3);
}

/// The schema of SARIF 2.1.0 and where it comes from: `tests/fixtures/sarif-2.1.0.LICENSE`.
const SARIF_SCHEMA: &str = include_str!("../../fixtures/sarif-2.1.0.schema.json");

#[tokio::test]
async fn sarif_fits_its_schema_and_every_result_has_a_location_and_a_rule_with_texts() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    reviewed(&broker).await;
    let plan = json!({ "description": "# A plan\n\nDo it." });
    let plan = id(&client.call("create_review", proposal_with("a plan", plan)).await);
    client.claim(&plan, "ada").await;
    let diff = broker.repo().diff("drei");
    let change = id(&client.call("create_review", proposal_with("a change", json!({ "diff": diff }))).await);
    client.claim(&change, "ada").await;
    let issue = |title: &str| json!({ "title": title, "severity": "high", "type": "test_gap" });
    for (review, issues) in [
        (
            &plan,
            json!([issue("No goal"), { "title": "Line", "severity": "low", "in": "description", "line_start": 3 }]),
        ),
        (&change, json!([issue("No test")])),
    ] {
        let verdict = json!({ "review_id": review, "verdict": "changes_requested", "reviewer_id": "ada", "reason": "no",
                              "issues": issues });
        client.call("submit_verdict", verdict).await;
    }
    let sarif = broker.command(&["export", "--format", "sarif"]).json().await;
    let schema: Value = serde_json::from_str(SARIF_SCHEMA).unwrap();
    assert_eq!(violations_in(&schema, &schema, &sarif), [] as [String; 0]);
    assert!(!violations_in(&schema, &schema, &json!({ "version": "2.1.0", "runs": [{}] })).is_empty());

    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for result in results {
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        assert!(place["uri"].as_str().is_some_and(|uri| !uri.is_empty()), "{result:#}");
        assert!(run["originalUriBaseIds"].get(place["uriBaseId"].as_str().unwrap()).is_some());
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["id"] == result["ruleId"]).unwrap();
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[text]["text"].as_str().is_some_and(|text| text.len() > 3), "{rule}");
        }
    }
    let at = |title: &str| {
        let is_it = |result: &&Value| result["message"]["text"].as_str().unwrap().starts_with(title);
        results.iter().find(is_it).unwrap()["locations"][0].clone()
    };
    assert_eq!(at("No test")["physicalLocation"]["artifactLocation"]["uri"], "greeting.txt");
    assert_eq!(at("No goal")["physicalLocation"]["artifactLocation"]["uri"], ".");
    assert_eq!(at("Line")["logicalLocations"][0]["fullyQualifiedName"], "R-2/description");
}

#[tokio::test]
async fn json_contains_everything_and_markdown_is_readable() {
    let broker = TestBroker::start().await;
    let review = reviewed(&broker).await;
    let all = broker.command(&["export", "R-1..R-1", "--json"]).json().await;
    let dossier = &all["reviews"][0];
    assert_eq!(dossier["review"]["review_id"], review.as_str());
    assert_eq!(dossier["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(dossier["rounds"][0]["diff"], broker.repo().diff("zwei"));
    assert_eq!((dossier["issues"].as_array().unwrap().len(), &dossier["messages"][0]["body"]), (3, &json!("why?")));
    assert_eq!(dossier["timeline"][0]["events"][0]["kind"], "proposed");

    let report = broker.command(&["export", "--status", "pending"]).stdout().await;
    assert!(report.starts_with("# R-1: say it in German\n"), "{report}");
    for part in [
        "## Round 2",
        "| I-1 | critical | open | greeting.txt:2 | Wrong word | general |",
        "````text\n```\nnot yet\n````",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[tokio::test]
async fn an_unknown_review_is_an_error() {
    let broker = TestBroker::start().await;
    let unknown = broker.command(&["export", "R-7"]).finish().await;
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(unknown.err.contains("R-7"), "{}", unknown.err);
    assert_eq!(broker.command(&["export", "R-9..R-2"]).finish().await.code, 2);
    assert_eq!(broker.command(&["export", "--format", "sarif"]).json().await["runs"][0]["results"], json!([]));
}
