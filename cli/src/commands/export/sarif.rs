//! Renders issues as SARIF 2.1.0, for code scanning, editors and dashboards.

use crate::render::rows;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn render(bundles: &[Value]) -> Value {
    let found = |bundle: &'_ Value| -> Vec<(Value, Value)> {
        rows(bundle, "issues").iter().map(|issue| (bundle["review"].clone(), issue.clone())).collect()
    };
    let found: Vec<_> = bundles.iter().flat_map(found).collect();
    let kinds: BTreeSet<&str> = found.iter().map(|(_, issue)| kind(issue)).collect();
    let rules: Vec<_> = kinds.iter().map(|kind| json!({ "id": kind, "name": kind })).collect();
    let results: Vec<_> = found.iter().map(|(review, issue)| result(review, issue)).collect();
    let driver = json!({ "name": "countersign", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    json!({
        "$schema": SCHEMA, "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    })
}

fn kind(issue: &Value) -> &str {
    issue["type"].as_str().unwrap_or("issue")
}

fn result(review: &Value, issue: &Value) -> Value {
    let of = |key: &str| issue[key].as_str();
    let mut result = json!({
        "ruleId": kind(issue), "level": level(issue), "message": { "text": message(issue) },
        // Stable across exports, so that an importer recognizes a repeated issue.
        "partialFingerprints": { "countersignIssue/v1": format!("{}/{}", review["review_id"].as_str().unwrap_or_default(),
                                                                of("issue_id").unwrap_or_default()) },
        "properties": properties(review, issue),
    });
    if let Some(file) = of("file") {
        let mut location = json!({ "artifactLocation": { "uri": uri(file), "uriBaseId": "%SRCROOT%" } });
        if let Some(start) = issue["line_start"].as_u64().filter(|line| *line > 0) {
            let end = issue["line_end"].as_u64().unwrap_or(start).max(start);
            location["region"] = json!({ "startLine": start, "endLine": end });
        }
        result["locations"] = json!([{ "physicalLocation": location }]);
    }
    if of("status") != Some("open") {
        let note = issue["resolution"]["note"].as_str();
        let why = [of("status"), note].into_iter().flatten().collect::<Vec<_>>().join(": ");
        result["suppressions"] = json!([{ "kind": "external", "status": "accepted", "justification": why }]);
    }
    result
}

/// Suggestions never block, so they are notes.
fn level(issue: &Value) -> &'static str {
    match (issue["is_suggestion"] == true, issue["severity"].as_str()) {
        (false, Some("critical" | "high")) => "error",
        (false, Some("medium")) => "warning",
        _ => "note",
    }
}

fn message(issue: &Value) -> String {
    let parts = ["title", "description", "suggestion"].map(|key| issue[key].as_str());
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn properties(review: &Value, issue: &Value) -> Value {
    let keys = ["issue_id", "severity", "status", "persona", "reviewer_id", "round", "grounding", "confidence"];
    let mut properties: Map<_, _> =
        keys.into_iter().filter(|key| !issue[*key].is_null()).map(|key| (key.to_owned(), issue[key].clone())).collect();
    properties.insert("review".into(), review["number"].clone());
    Value::Object(properties)
}

/// Characters that are escaped in a URI path.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

fn uri(path: &str) -> String {
    utf8_percent_encode(path, RESERVED).to_string()
}
