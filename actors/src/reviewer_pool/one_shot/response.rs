//! Parses the response of a one-shot reviewer: defines its JSON Schema, finds it in the stdout of the client, and
//! validates it. A response that does not match is refused with a message for the next attempt.

use domain::{
    finding::{FindingKind, FindingNumber, NewFinding, RawFinding, RequestedStatus, Severity, validate_findings},
    review::{AnchoredText, DiffSide},
    runtime::Runtime,
    verdict::Verdict,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest response that is parsed.
pub(crate) const MAX_BYTES: usize = 1 << 20;

const MAX_FINDINGS: usize = 100;
/// A summary, a reason or a text of a finding is cut to this length.
const MAX_TEXT_CHARS: usize = 20_000;
const MAX_TITLE_CHARS: usize = 200;
/// How much of an invalid value an error quotes.
const MAX_QUOTED_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReviewerResponse {
    pub(crate) verdict: Verdict,
    pub(crate) summary: Option<String>,
    pub(crate) reason: Option<String>,
    /// Issues, then suggestions.
    pub(crate) findings: Vec<NewFinding>,
    /// The new status of its own earlier findings.
    pub(crate) settled: Vec<(FindingNumber, RequestedStatus)>,
    pub(crate) files_reviewed: Option<u32>,
    pub(crate) lines_analyzed: Option<u32>,
}

#[derive(Deserialize)]
struct RawResponse {
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

/// The JSON Schema of a response. Every property is required and optional values are null, because Codex accepts no
/// other schema.
pub(crate) fn schema() -> Value {
    let one_of = |all: Vec<&str>| json!({ "type": "string", "enum": all });
    let text = || json!({ "type": ["string", "null"] });
    let number = || json!({ "type": ["integer", "null"] });
    let sides = one_of(DiffSide::ALL.iter().map(|side| side.as_str()).collect());
    let texts = one_of(AnchoredText::ALL.iter().map(|text| text.as_str()).collect());
    let kinds = one_of(FindingKind::ALL.iter().map(|kind| kind.as_str()).collect());
    let severities = one_of(Severity::ALL.iter().map(|severity| severity.as_str()).collect());
    let votes =
        one_of(Verdict::ALL.iter().filter(|verdict| verdict.is_vote()).map(|verdict| verdict.as_str()).collect());
    let finding = object(json!({
        "type": kinds, "severity": severities, "title": { "type": "string" }, "file": text(),
        "side": sides, "in": texts, "line_start": number(), "line_end": number(), "description": text(), "code_snippet": text(),
        "suggestion": text(), "rule_ref": text(), "confidence": { "type": ["number", "null"] },
    }));
    let findings = json!({ "type": "array", "items": finding });
    let settled = object(json!({ "issue_id": { "type": "string" }, "status": one_of(ALLOWED_STATUSES.to_vec()) }));
    object(json!({
        "verdict": votes, "summary": { "type": "string" }, "reason": text(), "issues": findings,
        "suggestions": findings, "settled": { "type": "array", "items": settled }, "files_reviewed": number(), "lines_analyzed": number(),
    }))
}

fn object(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Parses a response. `Err` says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<ReviewerResponse, String> {
    if text.len() > MAX_BYTES {
        return Err(too_long());
    }
    let raw: RawResponse = serde_json::from_str(find_json(text)?)
        .map_err(|error| format!("the response does not match the JSON Schema: {error}"))?;
    let Some(verdict) = Verdict::parse(&raw.verdict).filter(|verdict| verdict.is_vote()) else {
        let allowed = "approved, changes_requested, rejected";
        return Err(format!("verdict is {}; allowed: {allowed}", quoted(&raw.verdict)));
    };
    let summary = clip_optional(raw.summary);
    let reason = clip_optional(raw.reason).or_else(|| summary.clone().filter(|_| verdict.needs_reason()));
    if verdict.needs_reason() && reason.is_none() {
        return Err(format!("the verdict {verdict} needs a reason"));
    }
    let count = |findings: &Option<Vec<_>>| findings.as_ref().map_or(0, Vec::len);
    if count(&raw.issues) + count(&raw.suggestions) > MAX_FINDINGS {
        return Err(format!("more than {MAX_FINDINGS} issues and suggestions; report only the most important ones"));
    }
    let findings = validate_findings(raw.issues, raw.suggestions).map_err(|bad| bad.to_string())?;
    let findings = findings.into_iter().map(clip).collect();
    let settled = raw.settled.unwrap_or_default().into_iter().enumerate().map(|(at, raw)| {
        let status = RequestedStatus::parse(&raw.status).filter(|_| ALLOWED_STATUSES.contains(&raw.status.as_str()));
        FindingNumber::parse(raw.issue_id.trim()).zip(status).ok_or_else(|| {
            let (issue, status) = (quoted(&raw.issue_id), quoted(&raw.status));
            let allowed = ALLOWED_STATUSES.join(", ");
            format!(
                "settled[{at}] has issue_id {issue} and status {status}; allowed: an issue such as I-41, and {allowed}"
            )
        })
    });
    let settled = settled.take(MAX_FINDINGS).collect::<Result<_, _>>()?;
    let (files_reviewed, lines_analyzed) = (raw.files_reviewed, raw.lines_analyzed);
    Ok(ReviewerResponse { verdict, summary, reason, findings, settled, files_reviewed, lines_analyzed })
}

/// The statuses that a reviewer can give to its own earlier findings.
const ALLOWED_STATUSES: [&str; 3] =
    [RequestedStatus::Open.as_str(), RequestedStatus::Fixed.as_str(), RequestedStatus::WontFix.as_str()];

fn too_long() -> String {
    format!("the response is longer than {MAX_BYTES} bytes")
}

/// The JSON object of a response: the whole text, or its only code block marked as JSON. Several blocks, or an object
/// within a sentence, would be ambiguous.
fn find_json(text: &str) -> Result<&str, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the response is empty".to_owned());
    }
    if text.starts_with('{') {
        return Ok(text);
    }
    let mut blocks = text.split("```json").skip(1).map(|rest| rest.split_once("```"));
    match (blocks.next(), blocks.next()) {
        (Some(Some((block, _))), None) => Ok(block.trim()),
        (Some(_), Some(_)) => Err("the response has several JSON blocks; respond with one object".to_owned()),
        (Some(None) | None, _) => Err(format!("the response is not a JSON object; it begins with {}", quoted(text))),
    }
}

/// Cuts the texts of a finding.
fn clip(found: NewFinding) -> NewFinding {
    NewFinding {
        title: clip_text(&found.title, MAX_TITLE_CHARS),
        description: clip_optional(found.description),
        code_snippet: clip_optional(found.code_snippet),
        suggestion: clip_optional(found.suggestion),
        rule_ref: found.rule_ref.map(|rule| clip_text(&rule, MAX_TITLE_CHARS)),
        ..found
    }
}

/// Cuts a text; `None` if it is blank.
fn clip_optional(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).map(|text| clip_text(&text, MAX_TEXT_CHARS))
}

fn clip_text(text: &str, chars: usize) -> String {
    domain::text::ellipsize(text, chars).into_owned()
}

fn quoted(text: &str) -> String {
    format!("{:?}", clip_text(text, MAX_QUOTED_CHARS))
}

/// Reads stdout line by line. Keeps no more bytes than a response may have.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    runtime: Runtime,
    last: LastMessage,
    /// The whole output of a `command`, as long as it may be the response.
    output: Option<String>,
}

/// The last message that may be the response.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastMessage {
    #[default]
    None,
    Text(String),
    TooLong,
    /// The client reported an error.
    Failed(String),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum ClientLine {
    #[serde(rename = "item.completed")]
    CodexItem { item: CodexItem },
    #[serde(rename = "result")]
    ClaudeResult {
        #[serde(default)]
        is_error: bool,
        result: Option<String>,
        subtype: Option<String>,
        structured_output: Option<serde_json::Value>,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum CodexItem {
    #[serde(rename = "agent_message")]
    AgentMessage { text: String },
    #[serde(other)]
    Other,
}

impl ResponseReader {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, last: LastMessage::None, output: Some(String::new()) }
    }

    /// `None` stands for a line that was too long.
    pub(crate) fn read_line(&mut self, line: Option<&str>) {
        let Some(line) = line else {
            (self.last, self.output) = (LastMessage::TooLong, None);
            return;
        };
        match self.runtime {
            Runtime::Command => self.read_command_line(line),
            Runtime::Codex | Runtime::Claude => self.read_client_line(line),
        }
    }

    fn read_command_line(&mut self, line: &str) {
        let fits = |output: &String| output.len() + line.len() < MAX_BYTES;
        self.output = self.output.take().filter(fits).map(|output| output + line + "\n");
        if !line.trim().is_empty() {
            self.last = bounded(line.to_owned());
        }
    }

    fn read_client_line(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(ClientLine::CodexItem { item: CodexItem::AgentMessage { text } }) => self.last = bounded(text),
            Ok(ClientLine::ClaudeResult { is_error: true, result, subtype, .. }) => {
                self.last = LastMessage::Failed(result.or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
            Ok(ClientLine::ClaudeResult { structured_output: Some(output), .. }) => {
                self.last = bounded(output.to_string())
            }
            Ok(ClientLine::ClaudeResult { result, .. }) => self.last = bounded(result.unwrap_or_default()),
            Ok(ClientLine::CodexItem { item: CodexItem::Other }) | Err(_) => {}
        }
    }

    /// Returns the response, or a message if the client printed none. Empties the reader.
    pub(crate) fn response(&mut self) -> Result<String, String> {
        let (last, output) = (std::mem::take(&mut self.last), self.output.take());
        // A command may print its object over several lines, or in the last line after other output.
        if let (Runtime::Command, Some(output)) = (self.runtime, &output)
            && serde_json::from_str::<serde::de::IgnoredAny>(output).is_ok()
        {
            return Ok(output.clone());
        }
        match (last, output) {
            (LastMessage::Text(text), output) => {
                let last_line_is_json = text.trim_start().starts_with('{');
                Ok(output.filter(|_| self.runtime == Runtime::Command && !last_line_is_json).unwrap_or(text))
            }
            (LastMessage::None, _) => Ok(String::new()),
            (LastMessage::TooLong, _) => Err(too_long()),
            (LastMessage::Failed(error), _) => Err(format!("the client failed: {error}")),
        }
    }
}

fn bounded(text: String) -> LastMessage {
    if text.len() > MAX_BYTES { LastMessage::TooLong } else { LastMessage::Text(text) }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stdout_tests.rs"]
mod stdout_tests;
