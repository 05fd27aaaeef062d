//! Issues and messages about removed lines and lines of the description, on the command line and in exports.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
};
use serde_json::{Value, json};

#[tokio::test]
async fn lines_of_the_old_side_and_of_the_description_are_written_as_they_are_shown() {
    let broker = TestBroker::start().await;
    let more = json!({ "diff": broker.repo().diff("zwei"), "description": "# Plan\n\nTranslate it.\n" });
    let review = id(&broker.client().call("create_review", proposal_with("translate", more)).await);
    let locations = ["--issue", "high old:greeting.txt:2 still read", "--issue", "low description:3: by whom"];
    let line = [["respond", &review, "--request-changes", "-m", "no"].as_slice(), &locations].concat();
    broker.command_as("bob", &line).stdout().await;
    broker.command_as("bob", &["comment", &review, "-m", "why?", "--on", "old:greeting.txt:2"]).stdout().await;

    let list = broker.command_as("x", &["issues", &review, "--json"]).json().await;
    let place = |issue: &Value| ["file", "side", "in", "line_start", "grounding"].map(|name| issue[name].clone());
    let null = Value::Null;
    let expected = [json!("greeting.txt"), json!("old"), null.clone(), json!(2), json!("grounded")];
    assert_eq!(place(&list["issues"][1]), expected);
    let expected = [null.clone(), null, json!("description"), json!(3), json!("grounded")];
    assert_eq!(place(&list["issues"][0]), expected);
    let list = broker.command_as("x", &["issues", &review]).stdout().await;
    assert!(list.contains(" old:greeting.txt:2 ") && list.contains(" description:3 "), "{list}");
    let shown = broker.command_as("x", &["show", &review]).stdout().await;
    assert!(shown.contains("on greeting.txt:2 (old)"), "{shown}");

    let report = broker.command(&["export", &review]).stdout().await;
    for part in ["| open | old:greeting.txt:2 | still read |", "| open | description:3 | by whom |"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let sarif = broker.command(&["export", &review, "--format", "sarif"]).json().await;
    let result = |title: &str| {
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let is_it = |result: &&Value| result["message"]["text"].as_str().unwrap().starts_with(title);
        results.iter().find(is_it).unwrap_or_else(|| panic!("{title}: {sarif:#}")).clone()
    };
    // The file as it is now has other lines.
    let removed = result("still read");
    assert_eq!(removed["message"]["text"], "still read\n\nLine 2 of the file before the change.");
    let place = &removed["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]), (&json!("greeting.txt"), &Value::Null));
    let of_plan = result("by whom");
    assert_eq!(of_plan["message"]["text"], "by whom\n\nLine 3 of the description of the proposal.");
    assert_eq!(of_plan["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "R-1/description");
}
