use super::*;
use domain::finding::{Lines, Location};

fn good() -> Value {
    json!({ "verdict": "approved", "summary": "fine" })
}

fn with_issue(issue: Value) -> String {
    json!({ "verdict": "rejected", "reason": "no", "issues": [issue] }).to_string()
}

#[test]
fn a_response_that_matches_the_schema_is_parsed() {
    let text = json!({
        "verdict": "request_changes", "summary": "s", "reason": "r", "files_reviewed": 2, "lines_analyzed": 9,
        "issues": [{ "type": "claude_md_violation", "severity": "critical", "title": " t ", "file": "a.rs",
                     "line_start": 3, "line_end": null, "code_snippet": "x", "confidence": 0.796, "more": 1 }],
        "suggestions": [{ "type": "other", "severity": "low", "title": "u", "file": "" }],
        "unknown": {},
    });
    let response = parse(&text.to_string()).unwrap();
    assert_eq!((response.verdict, response.reason.as_deref()), (Verdict::ChangesRequested, Some("r")));
    assert_eq!((response.files_reviewed, response.lines_analyzed), (Some(2), Some(9)));
    let [issue, suggestion] = response.findings.try_into().unwrap();
    assert!(issue.is_issue && !suggestion.is_issue);
    assert_eq!(
        (issue.kind, issue.severity, issue.title.as_str()),
        (FindingKind::GuidelineViolation, Severity::Critical, "t")
    );
    assert_eq!(issue.location, Some(Location::in_file("a.rs", Some(Lines { start: 3, end: 3 }))));
    assert_eq!((issue.confidence, issue.description), (Some(80), None));
    assert_eq!(suggestion.location, None);
}

#[test]
fn the_only_block_of_json_is_the_response() {
    let text = good().to_string();
    assert!(parse(&format!("\n {text} \n")).is_ok());
    assert!(parse(&format!("Here it is:\n```json\n{text}\n```\nThat is all.")).is_ok());
    for (text, expected) in [
        (format!("```json\n{text}\n``` or ```json\n{text}\n```"), "several JSON blocks"),
        (format!("```json\n{text}"), "not a JSON object"),
        (format!("```\n{text}\n```"), "not a JSON object"),
        (format!("I think {text}"), "begins with \"I think"),
        (format!("{text} {text}"), "trailing characters"),
        (format!("{text} and that is it"), "trailing characters"),
    ] {
        let problem = parse(&text).unwrap_err();
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn a_response_that_does_not_match_is_refused_with_a_message() {
    let issue = json!({ "type": "bug", "severity": "high", "title": "t" });
    let other = |key: &str, value: Value| {
        let mut issue = issue.clone();
        issue[key] = value;
        with_issue(issue)
    };
    let many = json!({ "verdict": "rejected", "reason": "no", "issues": vec![issue.clone(); 101] });
    for (text, expected) in [
        (String::new(), "empty"),
        (" \n".into(), "empty"),
        ("{".into(), "EOF"),
        ("[]".into(), "not a JSON object"),
        ("null".into(), "not a JSON object"),
        ("{}".into(), "missing field `verdict`"),
        (json!({ "verdict": 1 }).to_string(), "invalid type"),
        (json!({ "verdict": "APPROVED" }).to_string(), "verdict is \"APPROVED\""),
        (json!({ "verdict": "comment", "reason": "hm" }).to_string(), "verdict is \"comment\""),
        (json!({ "verdict": "rejected", "reason": " " }).to_string(), "needs a reason"),
        (r#"{"verdict":"rejected","verdict":"approved"}"#.into(), "duplicate field"),
        (other("type", json!("typo")), "issues[0].type: \"typo\" is not known"),
        (other("severity", json!("High")), "issues[0].severity: \"High\" is not known"),
        (other("title", json!(" ")), "issues[0].title: must not be empty"),
        (other("line_start", json!(0)), "line_start: 0 to 0 are no lines"),
        (
            with_issue(json!({ "type": "bug", "severity": "low", "title": "t", "line_start": 4, "line_end": 3 })),
            "4 to 3 are no lines",
        ),
        (other("line_start", json!(-1)), "invalid value"),
        (other("confidence", json!(80)), "confidence: is 80"),
        (many.to_string(), "more than 100"),
        (format!("{{\"verdict\":\"{}\"}}", "x".repeat(MAX_BYTES)), "longer than"),
    ] {
        let problem = parse(&text).unwrap_err();
        assert!(problem.contains(expected), "{text}: {problem}");
        assert!(problem.len() < 400, "{problem}");
    }
}

#[test]
fn a_summary_serves_as_a_reason_and_long_texts_are_cut() {
    let text = json!({ "verdict": "rejected", "summary": "é".repeat(MAX_TEXT_CHARS + 5) });
    let response = parse(&text.to_string()).unwrap();
    assert_eq!(response.reason.as_ref().map(|reason| reason.chars().count()), Some(MAX_TEXT_CHARS));
    assert_eq!(parse(&good().to_string()).unwrap().reason, None, "an approval needs none");
}

/// Codex accepts no other schema.
#[test]
fn everything_in_the_schema_is_required_and_nothing_else_allowed() {
    fn check(schema: &Value) {
        if schema["type"] == "object" {
            let names: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(names), &json!(false)));
        }
        for inner in schema.as_object().into_iter().flatten().map(|(_, inner)| inner) {
            check(inner);
        }
    }
    let schema = schema();
    check(&schema);
    assert_eq!(schema["properties"]["verdict"]["enum"], json!(["approved", "changes_requested", "rejected"]));
}
