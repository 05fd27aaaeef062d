//! Writes issues as SARIF 2.1.0, to be read by code scanning, editors and dashboards.

use crate::issues::Issue;
use domain::{
    finding::{FindingKind, FindingStatus, Severity},
    review::{AnchoredText, DiffSide},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ROOT: &str = "%SRCROOT%";
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A run of results. The rules stand after the results, because only then the kinds of all issues are known.
#[derive(Debug, Default)]
pub(super) struct Sarif {
    kinds: BTreeSet<FindingKind>,
    results: usize,
}

impl Sarif {
    pub(super) fn start(&self) -> String {
        let roots = json!({ ROOT: { "description": { "text": "The root of the repository." } } });
        format!(
            "{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"columnKind\":\"unicodeCodePoints\",\
             \"originalUriBaseIds\":{roots},\"results\":[",
            json!(SCHEMA),
        )
    }

    /// `first_file` is the file that stands for an issue about the whole change.
    pub(super) fn result(&mut self, issue: &Issue, first_file: Option<&str>) -> String {
        self.kinds.insert(issue.kind);
        self.results += 1;
        let separator = if self.results == 1 { "\n" } else { ",\n" };
        format!("{separator}{}", result(issue, first_file))
    }

    pub(super) fn end(self) -> String {
        let rules: Vec<_> = self.kinds.into_iter().map(rule).collect();
        let driver = json!({ "name": "countersign", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        format!("],\n\"tool\":{}}}]}}\n", json!({ "driver": driver }))
    }
}

/// A kind of issue, with the texts that viewers show for it.
fn rule(kind: FindingKind) -> Value {
    let (short, full) = match kind {
        FindingKind::Bug => ("Wrong behaviour", "The change does something else than it should."),
        FindingKind::Security => ("Security", "The change can be misused, or reveals or weakens something."),
        FindingKind::LogicError => ("Error in the logic", "The change decides or computes something wrongly."),
        FindingKind::Performance => ("Performance", "The change costs more time or memory than it should."),
        FindingKind::Architecture => ("Architecture", "The change does not fit the structure of the project."),
        FindingKind::TestGap => ("Missing test", "Behaviour of the change is not tested."),
        FindingKind::GuidelineViolation => ("Rule of the project", "The change breaks a written rule of the project."),
        FindingKind::Other => ("Other", "A problem of another kind."),
    };
    let name: String = kind.as_str().split('_').map(capitalized).collect();
    let help = format!("{full} A reviewer raised it in Countersign; `countersign issues` shows its state.");
    json!({
        "id": kind, "name": name, "shortDescription": { "text": format!("{short}.") }, "fullDescription": { "text": full },
        "help": { "text": help }, "defaultConfiguration": { "level": "warning" },
    })
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn result(issue: &Issue, first_file: Option<&str>) -> Value {
    let number = issue.number.map(|number| number.to_string()).unwrap_or_default();
    let review_id = issue.review_id.map(|id| id.to_string()).unwrap_or_default();
    let mut result = json!({
        "ruleId": issue.kind,
        "level": level(issue),
        "message": { "text": message(issue) },
        // Stable across exports, so that an importer recognizes a repeated issue.
        "partialFingerprints": { "countersignIssue/v1": format!("{review_id}/{}", issue.issue_id) },
        "properties": {
            "issue_id": issue.issue_id, "severity": issue.severity, "status": issue.status, "persona": issue.persona,
            "reviewer_id": issue.reviewer_id, "round": issue.round, "grounding": issue.grounding,
            "review": number,
        },
    });
    if let Some(confidence) = issue.confidence {
        result["properties"]["confidence"] = json!(confidence);
    }
    if let Some(file) = &issue.file {
        let mut location = artifact(file);
        // A viewer would show the lines of the file as it is now.
        let is_new = issue.side.unwrap_or_default() == DiffSide::New;
        if let Some(start) = issue.line_start.filter(|line| is_new && *line > 0) {
            let end = issue.line_end.unwrap_or(start).max(start);
            location["region"] = json!({ "startLine": start, "endLine": end });
        }
        result["locations"] = json!([{ "physicalLocation": location }]);
    } else {
        // Viewers need a file: the first one of the change.
        let part = if issue.text == Some(AnchoredText::Description) { "/description" } else { "" };
        let review = json!({ "name": number, "fullyQualifiedName": format!("{number}{part}") });
        result["locations"] =
            json!([{ "physicalLocation": artifact(first_file.unwrap_or(".")), "logicalLocations": [review] }]);
    }
    if issue.status != FindingStatus::Open {
        let note = issue.resolution.as_ref().and_then(|resolution| resolution.note.as_deref());
        let justification = [Some(issue.status.as_str()), note].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let suppression = json!({ "kind": "external", "status": "accepted", "justification": justification });
        result["suppressions"] = json!([suppression]);
    }
    result
}

fn artifact(file: &str) -> Value {
    json!({ "artifactLocation": { "uri": uri(file), "uriBaseId": ROOT } })
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
