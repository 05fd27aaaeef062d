use super::{parse, parse_finding, parse_text};
use domain::verdict::Verdict;
use serde_json::{Value, json};
use std::path::Path;

#[track_caller]
fn check(spec: &str, expected: Value) {
    assert_eq!(json!(parse_finding(spec, true).expect(spec)), expected);
}

#[test]
fn a_finding_fits_into_a_line() {
    check(
        "high src/a.rs:10-12 wrong: it fails",
        json!({ "severity": "high", "file": "src/a.rs", "line_start": 10, "line_end": 12, "title": "wrong", "description": "it fails" }),
    );
    check("low README.md typo", json!({ "severity": "low", "file": "README.md", "title": "typo" }));
    check(
        "critical a.rs:3: leaks",
        json!({ "severity": "critical", "file": "a.rs", "line_start": 3, "title": "leaks" }),
    );
    check(
        "high old:src/a.rs:10-12 still needed",
        json!({ "severity": "high", "file": "src/a.rs", "side": "old", "line_start": 10, "line_end": 12, "title": "still needed" }),
    );
    check("low old:README.md lost", json!({ "severity": "low", "file": "README.md", "side": "old", "title": "lost" }));
    check(
        "high description:3: not enough",
        json!({ "severity": "high", "in": "description", "line_start": 3, "title": "not enough" }),
    );
    check(
        "low ./description:3 a file",
        json!({ "severity": "low", "file": "description", "line_start": 3, "title": "a file" }),
    );
    check("low description is missing", json!({ "severity": "low", "title": "description is missing" }));
    check("low old: it is", json!({ "severity": "low", "title": "old", "description": "it is" }));
    check("medium no tests at all", json!({ "severity": "medium", "title": "no tests at all" }));
    check("medium ends with a dot.", json!({ "severity": "medium", "title": "ends with a dot." }));
    assert_eq!(json!(parse_finding("rename it", false).unwrap()), json!({ "title": "rename it" }));
    for bad in ["", "wrong", "high", "high src/a.rs:1"] {
        assert!(parse_finding(bad, true).is_err(), "{bad}");
    }
}

#[test]
fn a_verdict_reads_like_a_letter() {
    let text = "<!-- help -->\nverdict: rejected\nsummary: no\n\nFirst.\n\nSecond: with a colon.\n\n\
                ## issue high a.rs:1 wrong\nIt is.\n\n## suggestion a better name\n";
    let expected = json!({
        "review_id": "", "verdict": "rejected", "summary": "no", "reason": "First.\n\nSecond: with a colon.",
        "issues": [{ "severity": "high", "file": "a.rs", "line_start": 1, "title": "wrong", "description": "It is." }],
        "suggestions": [{ "title": "a better name" }],
    });
    assert_eq!(json!(parse_text(text, None).unwrap()), expected);
    let nothing = "verdict:\n\n<!-- nothing -->\n";
    assert_eq!(parse_text(nothing, None).unwrap_err().code, 2, "the verdict is missing");
    let approved = parse_text(nothing, Some(Verdict::Approved)).unwrap();
    assert_eq!(json!(approved), json!({ "review_id": "", "verdict": "approved" }));
    assert!(parse_text("verdict: comment\n## issue wrong\n", None).is_err());
}

#[test]
fn json_and_toml_have_the_fields_of_the_tool() {
    let expected = json!({ "review_id": "", "verdict": "approved", "issues": [{ "severity": "low", "title": "nit" }] });
    let toml = "verdict = \"approved\"\n[[issues]]\nseverity = \"low\"\ntitle = \"nit\"\n";
    assert_eq!(json!(parse(toml, Some(Path::new("v.toml")), None).unwrap()), expected);
    assert_eq!(json!(parse(&expected.to_string(), None, None).unwrap()), expected);
    let anchored = json!({
        "review_id": "", "verdict": "approved",
        "issues": [{ "severity": "low", "title": "nit", "file": "a.rs", "side": "old", "line_start": 2 }],
        "suggestions": [{ "title": "nit", "in": "description", "line_start": 3 }],
    });
    let toml = "verdict = \"approved\"\n[[issues]]\nseverity = \"low\"\ntitle = \"nit\"\nfile = \"a.rs\"\nside = \"old\"\n\
                line_start = 2\n[[suggestions]]\ntitle = \"nit\"\nin = \"description\"\nline_start = 3\n";
    assert_eq!(json!(parse(toml, Some(Path::new("v.toml")), None).unwrap()), anchored);
    assert_eq!(json!(parse(&anchored.to_string(), None, None).unwrap()), anchored);
    assert!(parse("[]", Some(Path::new("v.json")), None).is_err());
}
