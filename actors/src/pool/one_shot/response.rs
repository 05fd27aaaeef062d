//! What a one-shot reviewer has to answer with, and what its answer says. Everything in it is somebody else's word: what
//! is not as asked is refused with a reason that can be told to whoever is asked again.

use domain::{
    finding::{FindingKind, FindingNumber, NewFinding, RawFinding, RequestedStatus, Severity},
    verdict::Verdict,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// An answer that is longer was not written to be read.
pub(crate) const MAX_BYTES: usize = 1 << 20;

const MAX_FINDINGS: usize = 100;
/// Of a summary or a reason, and of each text of a finding; more is cut off.
const TEXT_CHARS: usize = 20_000;
const TITLE_CHARS: usize = 200;
/// Of what was given, where it is quoted back.
const QUOTED_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) summary: Option<String>,
    pub(crate) reason: Option<String>,
    /// Issues, then suggestions.
    pub(crate) findings: Vec<NewFinding>,
    /// What it says of its own earlier findings.
    pub(crate) settled: Vec<(FindingNumber, RequestedStatus)>,
    pub(crate) files_reviewed: Option<u32>,
    pub(crate) lines_analyzed: Option<u32>,
}

#[derive(Deserialize)]
struct Raw {
    verdict: String,
    summary: Option<String>,
    reason: Option<String>,
    issues: Option<Vec<RawFinding>>,
    suggestions: Option<Vec<RawFinding>>,
    settled: Option<Vec<RawSettled>>,
    files_reviewed: Option<u32>,
    lines_analyzed: Option<u32>,
}

#[derive(Deserialize)]
struct RawSettled {
    issue_id: String,
    status: String,
}

/// The JSON Schema of an answer. Everything is required, and what may be left out is null: one of the clients takes no
/// other kind.
pub(crate) fn schema() -> Value {
    let words = |all: Vec<&str>| json!({ "type": "string", "enum": all });
    let text = || json!({ "type": ["string", "null"] });
    let number = || json!({ "type": ["integer", "null"] });
    let kinds = words(FindingKind::ALL.iter().map(|kind| kind.as_str()).collect());
    let severities = words(Severity::ALL.iter().map(|severity| severity.as_str()).collect());
    let votes =
        words(Verdict::ALL.iter().filter(|verdict| verdict.is_vote()).map(|verdict| verdict.as_str()).collect());
    let finding = object(json!({
        "type": kinds, "severity": severities, "title": { "type": "string" }, "file": text(),
        "line_start": number(), "line_end": number(), "description": text(), "code_snippet": text(),
        "suggestion": text(), "rule_ref": text(), "confidence": { "type": ["number", "null"] },
    }));
    let findings = json!({ "type": "array", "items": finding });
    let settled = object(json!({ "issue_id": { "type": "string" }, "status": words(SETTLED.to_vec()) }));
    object(json!({
        "verdict": votes, "summary": { "type": "string" }, "reason": text(), "issues": findings,
        "suggestions": findings, "settled": { "type": "array", "items": settled }, "files_reviewed": number(), "lines_analyzed": number(),
    }))
}

fn object(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Reads an answer; else what is wrong with it, in a sentence.
pub(crate) fn read(said: &str) -> Result<Answer, String> {
    if said.len() > MAX_BYTES {
        return Err(too_long());
    }
    let raw: Raw = serde_json::from_str(json_in(said)?)
        .map_err(|error| format!("the answer is not the JSON object that was asked for: {error}"))?;
    let Some(verdict) = Verdict::parse(&raw.verdict).filter(|verdict| verdict.is_vote()) else {
        let allowed = "approved, changes_requested or rejected";
        return Err(format!("verdict is {}; it has to be {allowed}", quoted(&raw.verdict)));
    };
    let summary = text(raw.summary);
    let reason = text(raw.reason).or_else(|| summary.clone().filter(|_| verdict.needs_reason()));
    if verdict.needs_reason() && reason.is_none() {
        return Err(format!("the verdict {verdict} needs a reason"));
    }
    let (issues, suggestions) = (raw.issues.unwrap_or_default(), raw.suggestions.unwrap_or_default());
    if issues.len() + suggestions.len() > MAX_FINDINGS {
        return Err(format!("there are more than {MAX_FINDINGS} issues and suggestions; name the ones that matter"));
    }
    let mut findings = Vec::new();
    for (list, all) in [("issues", issues), ("suggestions", suggestions)] {
        for (at, told) in all.into_iter().enumerate() {
            findings.push(clip(told.read(list == "issues").map_err(|bad| format!("{list}[{at}].{bad}"))?));
        }
    }
    let settled = raw.settled.unwrap_or_default().into_iter().enumerate().map(|(at, raw)| {
        let wish = RequestedStatus::parse(&raw.status).filter(|_| SETTLED.contains(&raw.status.as_str()));
        let number = FindingNumber::parse(raw.issue_id.trim());
        number.zip(wish).ok_or_else(|| {
            let given = (quoted(&raw.issue_id), quoted(&raw.status));
            format!(
                "settled[{at}] is {} and {}; an issue is I-41, its status one of {}",
                given.0,
                given.1,
                SETTLED.join(", ")
            )
        })
    });
    let settled = settled.take(MAX_FINDINGS).collect::<Result<_, _>>()?;
    let (files_reviewed, lines_analyzed) = (raw.files_reviewed, raw.lines_analyzed);
    Ok(Answer { verdict, summary, reason, findings, settled, files_reviewed, lines_analyzed })
}

/// What a reviewer can say of a finding that it raised before.
const SETTLED: [&str; 3] =
    [RequestedStatus::Open.as_str(), RequestedStatus::Fixed.as_str(), RequestedStatus::WontFix.as_str()];

pub(crate) fn too_long() -> String {
    format!("the answer is longer than {MAX_BYTES} bytes")
}

/// The one JSON object of an answer: all of it, or all of its one block of JSON. Which of several is meant, or whether
/// one inside of a sentence is meant at all, nobody can say.
fn json_in(said: &str) -> Result<&str, String> {
    let said = said.trim();
    if said.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    if said.starts_with('{') {
        return Ok(said);
    }
    let mut blocks = said.split("```json").skip(1).map(|rest| rest.split_once("```"));
    match (blocks.next(), blocks.next()) {
        (Some(Some((block, _))), None) => Ok(block.trim()),
        (Some(_), Some(_)) => Err("the answer holds several blocks of JSON, and it has to be one object".to_owned()),
        (Some(None) | None, _) => Err(format!("the answer is no JSON object but begins with {}", quoted(said))),
    }
}

/// Cut to what is kept of each text.
fn clip(found: NewFinding) -> NewFinding {
    NewFinding {
        title: clipped(&found.title, TITLE_CHARS),
        description: text(found.description),
        code_snippet: text(found.code_snippet),
        suggestion: text(found.suggestion),
        rule_ref: found.rule_ref.map(|rule| clipped(&rule, TITLE_CHARS)),
        ..found
    }
}

/// `None` where nothing is said.
fn text(given: Option<String>) -> Option<String> {
    given.filter(|text| !text.trim().is_empty()).map(|text| clipped(&text, TEXT_CHARS))
}

fn clipped(text: &str, chars: usize) -> String {
    domain::text::ellipsize(text, chars).into_owned()
}

fn quoted(text: &str) -> String {
    format!("{:?}", clipped(text, QUOTED_CHARS))
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
