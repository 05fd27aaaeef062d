//! `config running`: the settings of the running broker with their sources.

use crate::support::broker::TestBroker;
use serde_json::{Value, json};

#[tokio::test]
async fn the_running_broker_says_where_each_of_its_settings_comes_from() {
    let variables = vec![("COUNTERSIGN_REVIEWS_MAX_ROUNDS".to_owned(), "4".to_owned())];
    let broker = TestBroker::with_env(variables, "[claims]\nlease = \"9m\"").await;
    let running = broker.command(&["config", "running", "--json"]).json().await;
    let find = |name: &str| {
        let settings = running["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).cloned().unwrap_or_else(|| panic!("{name}: {running}"))
    };
    let lease = find("claims.lease");
    assert_eq!((&lease["value"], &lease["layer"]), (&json!("9m"), &json!("named_file")));
    assert!(lease["source"].as_str().unwrap().ends_with("config.toml"), "{lease}");
    assert!(lease["default"] != lease["value"] && lease["description"].as_str().unwrap().contains("claim"), "{lease}");
    let rounds = find("reviews.max_rounds");
    assert_eq!((&rounds["value"], &rounds["layer"]), (&json!(4), &json!("environment")));
    assert_eq!(rounds["source"], "COUNTERSIGN_REVIEWS_MAX_ROUNDS");
    assert_eq!(
        (find("server.listen")["layer"].as_str(), find("git.program")["layer"].as_str()),
        (Some("option"), Some("default"))
    );
    assert_eq!(find("git.program")["source"], Value::Null);
    let files: Vec<_> = running["files"].as_array().unwrap().iter().map(|file| file["layer"].clone()).collect();
    assert_eq!(files, ["user_file", "project_file", "named_file"]);
    let named = &running["files"][2];
    assert_eq!((&named["exists"], &running["files"][0]["exists"]), (&json!(true), &json!(false)), "{named}");

    let changed = broker.command(&["config", "running", "--changed"]).stdout().await;
    assert!(changed.contains("claims.lease") && !changed.contains("git.program"), "{changed}");
    let none = broker.command(&["config", "running", "nothing"]).finish().await;
    assert!(none.code == 2 && none.err.contains("no setting begins with \"nothing\""), "{}", none.err);
}
