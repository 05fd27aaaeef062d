//! `countersign tandem`: the settings of a project, and the exit code.

use crate::support::command::command_in;
use serde_json::json;
use testkit::Repo;

#[tokio::test]
async fn the_tandem_command_reads_the_settings_of_the_project() {
    let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
    let tandem = |options: &[&str]| {
        let line: Vec<&str> = std::iter::once("tandem").chain(options.iter().copied()).collect();
        command_in(home.path(), &repo.path(), &line)
    };
    let solo = tandem(&[]).finish().await;
    assert_eq!(solo.code, 1);
    assert!(
        solo.out.starts_with("tandem_enabled=false\nreview_granularity=per_task\nexecution_mode=blocking\n"),
        "{}",
        solo.out
    );
    assert!(solo.err.contains("solo: "), "{}", solo.err);

    repo.write(
        ".planning/config.json",
        r#"{"mode": "yolo", "tandem_enabled": true, "review_granularity": "per_plan"}"#,
    );
    let shown = tandem(&[]).stdout().await;
    assert_eq!(
        shown,
        "tandem_enabled=true\nreview_granularity=per_plan\nexecution_mode=blocking\n\
         required_gates=plan_review,code_change,verification,handoff,commit,push\n"
    );
    let shown = tandem(&["--json"]).json().await;
    assert_eq!((&shown["tandem_enabled"], &shown["review_granularity"]), (&json!(true), &json!("per_plan")));
    assert_eq!(shown["review"]["required_gates"][4], "commit");

    repo.write(".planning/config.json", r#"{"tandem_enabled": true, "execution_mode": "fast"}"#);
    let wrong = tandem(&[]).finish().await;
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.contains(r#"execution_mode is "fast"; expected "blocking" or "optimistic""#), "{}", wrong.err);
}

#[tokio::test]
async fn one_command_switches_tandem_mode_and_keeps_the_other_keys() {
    let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
    let tandem = |line: &[&str]| command_in(home.path(), &repo.path(), &[&["tandem"], line].concat());
    let on = tandem(&["on"]).stdout().await;
    assert!(on.starts_with("tandem mode is on in .planning/config.json\nnext: commit this file"), "{on}");
    assert_eq!(tandem(&[]).finish().await.code, 0);
    repo.write(".planning/config.json", "{\n  \"mode\": \"yolo\",\n  \"tandem_enabled\": true\n}\n");
    assert_eq!(tandem(&["off", "--json"]).json().await, json!({ "tandem_enabled": false, "changed": true }));
    let text = std::fs::read_to_string(repo.path().join(".planning/config.json")).unwrap();
    assert_eq!(text, "{\n  \"mode\": \"yolo\",\n  \"tandem_enabled\": false\n}\n");
    assert_eq!(tandem(&["off"]).stdout().await, "tandem mode is off already\n");
    assert_eq!(tandem(&[]).finish().await.code, 1);
}

#[tokio::test]
async fn keys_without_effect_are_reported() {
    let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
    let text = r#"{"tandem_enabled": true, "review_granularty": "per_plan", "reviewer_pool": {"max": 2}}"#;
    repo.write(".planning/config.json", text);
    let ended = command_in(home.path(), &repo.path(), &["tandem"]).finish().await;
    assert_eq!(ended.code, 0);
    for said in ["review_granularty has no effect; did you mean review_granularity?", "reviewer_pool has no effect"] {
        assert!(ended.err.contains(said), "{said}: {}", ended.err);
    }
    let listed = command_in(home.path(), &repo.path(), &["tandem", "--json"]).json().await;
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 2, "{listed}");
}
