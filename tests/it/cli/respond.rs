//! `countersign respond` and `comment`: verdicts from flags, files and an editor.

use crate::support::{broker::TestBroker, terminal::on_a_branch};
use serde_json::{Value, json};

async fn proposed() -> TestBroker {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    broker
}

async fn found(broker: &TestBroker) -> Vec<Value> {
    let all = broker.command_as("x", &["issues", "1", "--suggestions", "--json"]).json().await;
    all["issues"].as_array().unwrap().iter().rev().cloned().collect()
}

#[tokio::test]
async fn a_verdict_claims_the_review_and_approves_the_current_content() {
    let broker = proposed().await;
    let status = broker.command_as("x", &["status", "1", "--json"]).json().await;
    let taken = broker.command_as("bob", &["respond", "1", "--approve", "--json"]).json().await;
    assert_eq!((&taken["status"], &taken["approved_hash"]), (&json!("approved"), &status["content_hash"]));
    // A change of mind needs no new claim.
    let again = broker.command_as("bob", &["respond", "--reject", "-m", "no", "--json"]).json().await;
    assert_eq!(again["status"], "rejected");
}

#[tokio::test]
async fn a_verdict_on_other_content_is_refused_and_the_claim_released() {
    let broker = proposed().await;
    let line = ["respond", "1", "--approve", "--content-hash", &"0".repeat(64), "--json"];
    let ended = broker.command_as("bob", &line).finish().await;
    let error: Value = serde_json::from_str(&ended.err).unwrap();
    assert_eq!((ended.code, &error["code"]), (1, &json!("stale_content")));
    let status = broker.command_as("x", &["status", "1", "--json"]).json().await;
    assert_eq!((&status["status"], &status["seats"][0]["claimed_by"]), (&json!("pending"), &Value::Null));
    let ended = broker.command_as("bob", &["respond", "1", "--request-changes"]).finish().await;
    assert!(ended.code == 1 && ended.err.contains("(reason_needed)"), "{}", ended.err);
    assert_eq!(broker.command_as("x", &["status", "1", "--json"]).json().await["status"], "pending");
}

#[tokio::test]
async fn a_verdict_file_has_three_formats() {
    let text = "verdict: changes_requested\nsummary: short\n\nThe reason.\n\n## issue high greeting.txt:2 wrong\nIt is.\n\n\
                ## suggestion rename it\n";
    let toml = "verdict = \"changes_requested\"\nsummary = \"short\"\nreason = \"The reason.\"\n[[issues]]\nseverity = \"high\"\n\
                file = \"greeting.txt\"\nline = 2\ntitle = \"wrong\"\ndescription = \"It is.\"\n[[suggestions]]\ntitle = \"rename it\"\n";
    let json = json!({
        "verdict": "request_changes", "summary": "short", "reason": "The reason.",
        "issues": [{ "severity": "high", "file": "greeting.txt", "line_start": 2, "title": "wrong", "description": "It is." }],
        "suggestions": ["rename it"],
    });
    for (name, content) in [("v.md", text), ("v.toml", toml), ("v.json", &json.to_string())] {
        let broker = proposed().await;
        broker.repo().write(name, content);
        broker.command_as("bob", &["respond", "1", "-F", name]).stdout().await;
        let shown = broker.command_as("x", &["show", "1", "--json"]).json().await;
        let verdict = &shown["verdicts"][0];
        let said = ["verdict", "summary", "reason"].map(|key| verdict[key].as_str().unwrap());
        assert_eq!(said, ["changes_requested", "short", "The reason."], "{name}");
        let found = found(&broker).await;
        let issue = &found[0];
        assert_eq!(
            (&issue["line_start"], &issue["description"], &issue["severity"]),
            (&json!(2), &json!("It is."), &json!("high"))
        );
        assert_eq!((&found[1]["title"], &found[1]["is_suggestion"]), (&json!("rename it"), &json!(true)), "{name}");
    }
}

#[tokio::test]
async fn flags_override_a_verdict_file_and_stdin_is_a_file() {
    let broker = proposed().await;
    let line = ["respond", "1", "-F", "-", "--approve", "--issue", "low greeting.txt:1-3 from a flag"];
    broker.command_as("bob", &line).stdin("verdict: rejected\n\n## issue low from the file\n").stdout().await;
    assert_eq!(broker.command_as("x", &["status", "1", "--json"]).json().await["status"], "approved");
    let titles: Vec<_> = found(&broker).await.iter().map(|issue| issue["title"].clone()).collect();
    assert_eq!(titles, ["from the file", "from a flag"]);
}

#[tokio::test]
async fn an_editor_gets_a_template_and_an_empty_file_sends_nothing() {
    let broker = proposed().await;
    let ended = broker.command_as("bob", &["respond", "1", "--edit"]).var("EDITOR", "true").finish().await;
    assert!(ended.code == 2 && ended.err.contains("what is the verdict?"), "{}", ended.err);
    let ended = broker.command_as("bob", &["respond", "1", "--edit"]).var("EDITOR", "false").finish().await;
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_eq!(
        broker.command_as("x", &["status", "1", "--json"]).json().await["status"],
        "pending",
        "not even claimed"
    );
    let editor = "sed -i -e 's/^verdict: $/verdict: changes_requested\\n\\nWritten by hand./'";
    broker.command_as("bob", &["respond", "1", "--edit"]).var("VISUAL", editor).stdout().await;
    let status = broker.command_as("x", &["status", "1", "--json"]).json().await;
    assert_eq!(
        (&status["status"], &status["verdict_reason"]),
        (&json!("changes_requested"), &json!("Written by hand."))
    );
    assert!(found(&broker).await.is_empty(), "the examples of the template are none");
}

#[tokio::test]
async fn a_message_is_read_from_a_flag_a_file_or_stdin() {
    let broker = proposed().await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    broker.repo().write("said.md", "from a file\n");
    broker.command_as("bob", &["comment", "1", "-m", "from a flag"]).stdout().await;
    broker.command_as("ada", &["comment", "-F", "said.md"]).stdout().await;
    broker.command_as("bob", &["comment"]).stdin("from a pipe").stdout().await;
    let shown = broker.command_as("x", &["show", "1", "--json"]).json().await;
    let said: Vec<_> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["sender_role"].clone(), row["body"].clone()))
        .collect();
    let expected = [("reviewer", "from a flag"), ("proposer", "from a file"), ("reviewer", "from a pipe")];
    assert_eq!(said, expected.map(|(role, body)| (json!(role), json!(body))));
}
