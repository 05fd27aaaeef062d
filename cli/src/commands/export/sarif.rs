//! Renders issues as SARIF 2.1.0, for code scanning, editors and dashboards.

use super::bundle::ReviewBundle;
use api::{issues::Issue, reviews::ReviewStatusResponse};
use domain::finding::{FindingKind, FindingStatus, Severity};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Rule {
    id: FindingKind,
    name: FindingKind,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    rule_id: FindingKind,
    level: &'static str,
    message: Text,
    partial_fingerprints: Fingerprints,
    properties: Properties,
    #[serde(skip_serializing_if = "Option::is_none")]
    locations: Option<[Location; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<[Suppression; 1]>,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

/// Stable across exports, so that an importer recognizes a repeated issue.
#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "countersignIssue/v1")]
    issue: String,
}

#[derive(Serialize)]
struct Properties {
    issue_id: String,
    severity: Severity,
    status: FindingStatus,
    persona: String,
    reviewer_id: String,
    round: u32,
    grounding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// The number of the review.
    review: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    end_line: u32,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

pub(super) fn render(bundles: &[ReviewBundle]) -> Log {
    let issues = || bundles.iter().flat_map(|bundle| bundle.issues.iter().map(|issue| (&bundle.review, issue)));
    let kinds: BTreeSet<&str> = issues().map(|(_, issue)| issue.kind.as_str()).collect();
    let rules = kinds.into_iter().filter_map(FindingKind::parse).map(|kind| Rule { id: kind, name: kind }).collect();
    let driver = Driver { name: "countersign", version: env!("CARGO_PKG_VERSION"), rules };
    let results = issues().map(|(review, issue)| result(review, issue)).collect();
    let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results };
    Log { schema: SCHEMA, version: "2.1.0", runs: [run] }
}

fn result(review: &ReviewStatusResponse, issue: &Issue) -> Result {
    Result {
        rule_id: issue.kind,
        level: level(issue),
        message: Text { text: message(issue) },
        partial_fingerprints: Fingerprints { issue: format!("{}/{}", review.head.review_id, issue.issue_id) },
        properties: Properties {
            issue_id: issue.issue_id.clone(),
            severity: issue.severity,
            status: issue.status,
            persona: issue.persona.clone(),
            reviewer_id: issue.reviewer_id.clone(),
            round: issue.round,
            grounding: issue.grounding.clone().into_owned(),
            confidence: issue.confidence,
            review: review.head.number.to_string(),
        },
        locations: issue.file.as_deref().map(|file| [location(file, issue)]),
        suppressions: (issue.status != FindingStatus::Open).then(|| [suppression(issue)]),
    }
}

fn location(file: &str, issue: &Issue) -> Location {
    let start = issue.line_start.filter(|line| *line > 0);
    let region =
        start.map(|start_line| Region { start_line, end_line: issue.line_end.unwrap_or(start_line).max(start_line) });
    let artifact_location = ArtifactLocation { uri: uri(file), uri_base_id: "%SRCROOT%" };
    Location { physical_location: PhysicalLocation { artifact_location, region } }
}

fn suppression(issue: &Issue) -> Suppression {
    let note = issue.resolution.as_ref().and_then(|resolution| resolution.note.as_deref());
    let justification = [Some(issue.status.as_str()), note].into_iter().flatten().collect::<Vec<_>>().join(": ");
    Suppression { kind: "external", status: "accepted", justification }
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
    let parts = [Some(&issue.title), issue.description.as_ref(), issue.suggestion.as_ref()];
    let parts = parts.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Characters that are escaped in a URI path.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

fn uri(path: &str) -> String {
    utf8_percent_encode(path, RESERVED).to_string()
}
