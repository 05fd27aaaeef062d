//! Parses findings as reviewers write them: in a tool call, in the output of a reviewer program, or in a message.

use super::{FindingKind, Lines, Location, NewFinding, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The most characters of an invalid value that an error repeats.
const QUOTED_CHARS: usize = 80;

/// A finding as a reviewer writes it. Unknown fields are ignored, because models like to add their own; the schema for
/// tool arguments forbids them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RawFinding {
    /// The kind of problem. Default "other".
    #[serde(rename = "type")]
    #[schemars(with = "Option<FindingKind>")]
    pub kind: Option<String>,
    /// critical: must not land. high: a real fault that users will meet. medium: should be fixed. low: a nit. Required
    /// for an issue; a suggestion is low by default.
    #[schemars(with = "Option<Severity>")]
    pub severity: Option<String>,
    /// The path as in affected_files. Any file of the project is allowed.
    pub file: Option<String>,
    /// The first line, counted from 1, in the file after the change.
    #[serde(alias = "line")]
    #[schemars(range(min = 1))]
    pub line_start: Option<u32>,
    /// The last line. Default: line_start.
    #[schemars(range(min = 1))]
    pub line_end: Option<u32>,
    /// The problem in one line.
    #[serde(default)]
    #[schemars(required)]
    pub title: String,
    /// What happens, when, and why it matters.
    pub description: Option<String>,
    /// An exact quote of the code. The broker checks that it is there.
    pub code_snippet: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// The rule that the code breaks, if there is one.
    pub rule_ref: Option<String>,
    /// How sure you are, from 0 to 1.
    pub confidence: Option<f64>,
}

/// Why a finding is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct BadFinding {
    pub field: String,
    /// A stable code for programs.
    pub code: &'static str,
    pub problem: String,
    /// The allowed values, if they are few.
    pub allowed: Vec<&'static str>,
}

impl RawFinding {
    /// Checks the fields. An issue needs a severity; a suggestion is low by default.
    fn validate(self, is_issue: bool) -> Result<NewFinding, BadFinding> {
        let kind = match text(self.kind) {
            None => FindingKind::Other,
            Some(word) => FindingKind::parse(&word).ok_or_else(|| {
                unknown("type", "unknown_type", &word, FindingKind::ALL.iter().map(|kind| kind.as_str()))
            })?,
        };
        let severities = || Severity::ALL.iter().map(|severity| severity.as_str());
        let severity = match text(self.severity) {
            None if is_issue => return Err(missing("severity", severities())),
            None => Severity::Low,
            Some(word) => {
                Severity::parse(&word).ok_or_else(|| unknown("severity", "unknown_severity", &word, severities()))?
            }
        };
        let lines = match (self.line_start, self.line_end) {
            (None, None) => None,
            (None, Some(_)) => return Err(invalid("line_end", "only together with line_start".into())),
            (Some(start), end) if start >= 1 && end.is_none_or(|end| end >= start) => {
                Some(Lines { start, end: end.unwrap_or(start) })
            }
            (Some(start), end) => {
                let end = end.unwrap_or(start);
                return Err(invalid("line_start", format!("{start} to {end} are no lines; they count from 1")));
            }
        };
        let location = match (text(self.file), lines) {
            // Models often write paths as in a shell.
            (Some(file), lines) => Some(Location { file: file.strip_prefix("./").unwrap_or(&file).to_owned(), lines }),
            (None, None) => None,
            (None, Some(_)) => return Err(invalid("line_start", "only together with file".into())),
        };
        let title = self.title.trim().to_owned();
        if title.is_empty() {
            return Err(invalid("title", "must not be empty".into()));
        }
        Ok(NewFinding {
            is_issue,
            kind,
            severity,
            location,
            title,
            description: text(self.description),
            code_snippet: text(self.code_snippet),
            suggestion: text(self.suggestion),
            rule_ref: text(self.rule_ref).map(|rule| rule.trim().to_owned()),
            confidence: self.confidence.map(percent).transpose()?,
        })
    }
}

/// Checks the findings of one verdict. The field of an error begins with its list and its position in it.
pub fn validate_findings(
    issues: Option<Vec<RawFinding>>,
    suggestions: Option<Vec<RawFinding>>,
) -> Result<Vec<NewFinding>, BadFinding> {
    let mut valid = Vec::new();
    for (list, findings) in [("issues", issues), ("suggestions", suggestions)] {
        for (n, finding) in findings.unwrap_or_default().into_iter().enumerate() {
            let in_list = |bad: BadFinding| BadFinding { field: format!("{list}[{n}].{}", bad.field), ..bad };
            valid.push(finding.validate(list == "issues").map_err(in_list)?);
        }
    }
    Ok(valid)
}

/// `None` for a blank text.
fn text(given: Option<String>) -> Option<String> {
    given.filter(|text| !text.trim().is_empty())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn percent(given: f64) -> Result<u8, BadFinding> {
    match given {
        0.0..=1.0 => Ok((given * 100.0).round() as u8),
        _ => Err(invalid("confidence", format!("is {given}; allowed is 0 to 1"))),
    }
}

fn invalid(field: &'static str, problem: String) -> BadFinding {
    BadFinding { field: field.into(), code: "invalid_argument", problem, allowed: Vec::new() }
}

fn missing(field: &'static str, allowed: impl Iterator<Item = &'static str>) -> BadFinding {
    let allowed: Vec<_> = allowed.collect();
    BadFinding {
        field: field.into(),
        code: "invalid_argument",
        problem: format!("missing; allowed: {}", allowed.join(", ")),
        allowed,
    }
}

fn unknown(
    field: &'static str,
    code: &'static str,
    word: &str,
    allowed: impl Iterator<Item = &'static str>,
) -> BadFinding {
    let allowed: Vec<_> = allowed.collect();
    let word = crate::text::truncate(word, QUOTED_CHARS);
    let problem = format!("{word:?} is not known; allowed: {}", allowed.join(", "));
    BadFinding { field: field.into(), code, problem, allowed }
}

#[cfg(test)]
mod tests {
    use super::RawFinding;
    use crate::finding::Severity;
    use serde_json::{Value, json};

    fn read(given: Value, is_issue: bool) -> Result<super::NewFinding, String> {
        let raw: RawFinding = serde_json::from_value(given).expect("an object");
        raw.validate(is_issue).map_err(|bad| format!("{} {bad}", bad.code))
    }

    #[test]
    fn a_missing_field_has_a_default_or_is_an_error() {
        let nit = read(json!({ "title": " a nit " }), false).expect("a suggestion");
        assert_eq!((nit.severity, nit.title.as_str(), nit.location), (Severity::Low, "a nit", None));
        let found = json!({ "title": "a", "severity": "high", "file": "./a.rs", "line": 3, "description": " " });
        let found = read(found, true).expect("an issue");
        let location = found.location.expect("a location");
        assert_eq!(
            (location.file.as_str(), location.lines.map(|lines| (lines.start, lines.end))),
            ("a.rs", Some((3, 3)))
        );
        assert_eq!(found.description, None);
    }

    #[test]
    fn an_error_names_the_field_and_the_problem() {
        for (given, expected) in [
            (json!({ "title": "a" }), "invalid_argument severity: missing; allowed: low, medium, high, critical"),
            (json!({ "title": " ", "severity": "low" }), "invalid_argument title: must not be empty"),
            (
                json!({ "title": "a", "severity": "low", "line_start": 2 }),
                "invalid_argument line_start: only together with file",
            ),
            (
                json!({ "title": "a", "severity": "low", "file": "a", "line_start": 0 }),
                "invalid_argument line_start: 0 to 0 are no lines; they count from 1",
            ),
            (
                json!({ "title": "a", "severity": "low", "confidence": 70 }),
                "invalid_argument confidence: is 70; allowed is 0 to 1",
            ),
        ] {
            assert_eq!(read(given, true), Err(expected.to_owned()));
        }
        let unknown = read(json!({ "title": "a", "severity": "grave" }), true).expect_err("no such word");
        assert!(unknown.starts_with("unknown_severity severity: \"grave\" is not known; allowed: low"), "{unknown}");
    }
}
