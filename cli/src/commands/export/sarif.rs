//! Renders issues as SARIF 2.1.0 for `countersign export`, to be read by code scanning, editors and dashboards.

use super::ReviewBundle;
use api::{issues::Issue, reviews::ReviewHead};
use domain::{
    finding::{FindingStatus, Severity},
    review::{AnchoredText, DiffSide},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn render(bundles: &[ReviewBundle]) -> impl Serialize {
    let issues = || bundles.iter().flat_map(|bundle| bundle.issues.iter().map(|issue| (&bundle.review.head, issue)));
    let kinds: BTreeSet<&str> = issues().map(|(_, issue)| issue.kind.as_str()).collect();
    let rules: Vec<_> = kinds.into_iter().map(|kind| json!({ "id": kind, "name": kind })).collect();
    let driver = json!({ "name": "countersign", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let results: Vec<_> = issues().map(|(review, issue)| result(review, issue)).collect();
    let run = json!({ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results });
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] })
}

fn result(review: &ReviewHead, issue: &Issue) -> impl Serialize {
    let mut result = json!({
        "ruleId": issue.kind,
        "level": level(issue),
        "message": { "text": message(issue) },
        // Stable across exports, so that an importer recognizes a repeated issue.
        "partialFingerprints": { "countersignIssue/v1": format!("{}/{}", review.review_id, issue.issue_id) },
        "properties": {
            "issue_id": issue.issue_id, "severity": issue.severity, "status": issue.status, "persona": issue.persona,
            "reviewer_id": issue.reviewer_id, "round": issue.round, "grounding": issue.grounding,
            "review": review.number,
        },
    });
    if let Some(confidence) = issue.confidence {
        result["properties"]["confidence"] = json!(confidence);
    }
    if let Some(file) = &issue.file {
        let mut location = json!({ "artifactLocation": { "uri": uri(file), "uriBaseId": "%SRCROOT%" } });
        // A viewer would show the lines of the file as it is now.
        let is_new = issue.side.unwrap_or_default() == DiffSide::New;
        if let Some(start) = issue.line_start.filter(|line| is_new && *line > 0) {
            let end = issue.line_end.unwrap_or(start).max(start);
            location["region"] = json!({ "startLine": start, "endLine": end });
        }
        result["locations"] = json!([{ "physicalLocation": location }]);
    }
    if issue.status != FindingStatus::Open {
        let note = issue.resolution.as_ref().and_then(|resolution| resolution.note.as_deref());
        let justification = [Some(issue.status.as_str()), note].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let suppression = json!({ "kind": "external", "status": "accepted", "justification": justification });
        result["suppressions"] = json!([suppression]);
    }
    result
}

/// Suggestions never block, so they are notes.
fn level(issue: &Issue) -> &'static str {
    match (issue.is_suggestion, issue.severity) {
        (Some(true), _) | (_, Severity::Low) => "note",
        (_, Severity::Critical | Severity::High) => "error",
        (_, Severity::Medium) => "warning",
    }
}

fn message(issue: &Issue) -> String {
    let note = location_note(issue);
    let parts = [Some(&issue.title), issue.description.as_ref(), issue.suggestion.as_ref(), note.as_ref()];
    let parts = parts.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Where the lines are, if SARIF cannot say it.
fn location_note(issue: &Issue) -> Option<String> {
    let text = match (issue.text.unwrap_or_default(), issue.side.unwrap_or_default()) {
        (AnchoredText::Diff, DiffSide::New) => return None,
        (AnchoredText::Diff, DiffSide::Old) => "the file before the change",
        (AnchoredText::Description, DiffSide::New | DiffSide::Old) => "the description of the proposal",
    };
    Some(match (issue.line_start, issue.line_end) {
        (Some(start), Some(end)) if end > start => format!("Lines {start}-{end} of {text}."),
        (Some(start), _) => format!("Line {start} of {text}."),
        (None, _) => format!("About {text}."),
    })
}

/// Characters that are escaped in a URI path.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

fn uri(path: &str) -> String {
    utf8_percent_encode(path, RESERVED).to_string()
}
