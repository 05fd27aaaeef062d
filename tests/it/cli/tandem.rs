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
