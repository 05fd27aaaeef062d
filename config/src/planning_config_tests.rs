use super::{ExecutionMode, GitPoint, PlanningConfig, ReviewGranularity};
use domain::review::Category;
use std::path::Path;

fn read(text: &str) -> Result<PlanningConfig, String> {
    PlanningConfig::parse(Path::new("config.json"), text).map_err(|error| error.to_string())
}

#[test]
fn without_settings_tandem_is_disabled() {
    let solo = PlanningConfig::default();
    assert!(!solo.tandem_enabled && !solo.requires(Category::CodeChange));
    assert_eq!(read("{}"), Ok(solo.clone()));
    assert_eq!(read(r#"{"mode": "yolo", "workflow": {"research": true}, "tandem_enabled": null}"#), Ok(solo));
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(PlanningConfig::load(dir.path()).unwrap(), PlanningConfig::default());
}

#[test]
fn every_key_is_read() {
    let text = r#"{"tandem_enabled": true, "review_granularity": "per_plan", "execution_mode": "optimistic",
                   "reviewer_pool": {"max": 2}, "review": {"required_gates": ["plan_review", "code_change"]}}"#;
    let tandem = read(text).unwrap();
    assert_eq!(
        (tandem.tandem_enabled, tandem.review_granularity, tandem.execution_mode),
        (true, ReviewGranularity::PerPlan, ExecutionMode::Optimistic)
    );
    assert_eq!(tandem.reviewer_pool, Some(serde_json::json!({"max": 2})));
    assert!(tandem.requires(Category::PlanReview) && tandem.requires(Category::CodeChange));
    assert!(!tandem.requires(Category::Handoff));
    let flat = read(r#"{"tandem_enabled": true, "review.required_gates": []}"#).unwrap();
    assert!(Category::ALL.iter().all(|category| !flat.requires(*category)));
}

#[test]
fn hooks_require_approvals_at_the_configured_points() {
    let asks = |text: &str| {
        let tandem = read(text).unwrap();
        (tandem.requires_approval_at(GitPoint::Commit), tandem.requires_approval_at(GitPoint::Push))
    };
    assert_eq!(asks("{}"), (true, true), "installed hooks require approvals by default");
    assert_eq!(asks(r#"{"tandem_enabled": true}"#), (true, true));
    assert_eq!(asks(r#"{"tandem_enabled": true, "execution_mode": "optimistic"}"#), (false, true));
    assert_eq!(asks(r#"{"tandem_enabled": true, "review_granularity": "per_plan"}"#), (false, true));
    assert_eq!(asks(r#"{"execution_mode": "optimistic"}"#), (true, true), "what is committed first is checked at push");
    assert_eq!(asks(r#"{"tandem_enabled": false}"#), (false, false), "a project that says that it works solo");
    assert_eq!(asks(r#"{"tandem_enabled": null}"#), (true, true), "says nothing");
    assert_eq!(asks(r#"{"review": {"required_gates": ["code_change", "push"]}}"#), (false, true));
}

#[test]
fn keys_without_effect_are_reported() {
    let warnings = |text: &str| read(text).unwrap().warnings.join("\n");
    assert_eq!(
        warnings(r#"{"tandem_enabled": true, "mode": "yolo", "review": {"depth": 2}}"#),
        "",
        "other tools' keys"
    );
    let slip = warnings(r#"{"tandem_enable": true, "review": {"required_gate": []}}"#);
    assert!(slip.contains("tandem_enable has no effect; did you mean tandem_enabled?"), "{slip}");
    assert!(slip.contains("review.required_gate has no effect; did you mean review.required_gates?"), "{slip}");
    let idle = warnings(r#"{"execution_mode": "blocking", "reviewer_pool": {"max": 2}}"#);
    assert!(idle.contains("execution_mode has no effect while tandem_enabled is not true"), "{idle}");
    assert!(idle.contains("reviewer_pool has no effect"), "{idle}");
    let both = r#"{"tandem_enabled": true, "execution_mode": "optimistic", "review": {"required_gates": ["commit"]}}"#;
    assert!(warnings(both).contains("\"commit\" in review.required_gates has no effect"));
}

#[test]
fn an_unknown_value_is_an_error() {
    let cases = [
        (r#"{"tandem_enabled": "yes"}"#, r#"config.json: tandem_enabled is "yes"; expected true or false"#),
        (
            r#"{"review_granularity": "task"}"#,
            r#"config.json: review_granularity is "task"; expected "per_task" or "per_plan""#,
        ),
        (r#"{"execution_mode": 1}"#, r#"config.json: execution_mode is 1; expected "blocking" or "optimistic""#),
        (
            r#"{"review": {"required_gates": ["plan"]}}"#,
            r#"config.json: review.required_gates is ["plan"]; expected a list of plan_review, code_change, verification, handoff, commit, push"#,
        ),
        ("{\n  \"a\": 1,,\n}", "config.json: line 2, column 10: key must be a string"),
        ("[]", "config.json: line 1, column 0: invalid type: sequence, expected a map"),
    ];
    for (text, words) in cases {
        assert_eq!(read(text), Err(words.to_owned()), "{text}");
    }
}
