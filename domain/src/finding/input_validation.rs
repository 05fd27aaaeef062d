//! Validates findings as reviewers write them: in a tool call, in the output of a reviewer program, or in a message.

use super::{FindingKind, Lines, LocatedText, Location, NewFinding, Severity};
use crate::review::{AnchoredText, DiffSide};
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
    /// critical: must not land. high: users will meet it. medium: should be fixed. low: a nit. Required for an issue.
    #[schemars(with = "Option<Severity>")]
    pub severity: Option<String>,
    /// The path, as in affected_files.
    pub file: Option<String>,
    /// "old": lines before the change. Default "new".
    #[schemars(with = "Option<DiffSide>")]
    pub side: Option<String>,
    /// "description": lines of the proposal's description, without file. Default "diff".
    #[serde(rename = "in")]
    #[schemars(with = "Option<AnchoredText>")]
    pub text: Option<String>,
    /// The first line, counted from 1.
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
    /// An exact quote of the lines.
    pub code_snippet: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// The rule that the code breaks.
    pub rule_ref: Option<String>,
    /// From 0 to 1.
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
        let location = located_text(self.text, self.side, self.file)?.map(|text| Location { text, lines });
        if location.is_none() && lines.is_some() {
            return Err(invalid("line_start", "only together with file, or with in=\"description\"".into()));
        }
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

/// The text that the lines are counted in; `None` if the finding names none.
fn located_text(
    in_text: Option<String>,
    side: Option<String>,
    file: Option<String>,
) -> Result<Option<LocatedText>, BadFinding> {
    let in_text = match text(in_text) {
        None => AnchoredText::Diff,
        Some(word) => AnchoredText::parse(&word).ok_or_else(|| {
            unknown("in", "invalid_argument", &word, AnchoredText::ALL.iter().map(|text| text.as_str()))
        })?,
    };
    let side = match text(side) {
        None => DiffSide::New,
        Some(word) => DiffSide::parse(&word).ok_or_else(|| {
            unknown("side", "invalid_argument", &word, DiffSide::ALL.iter().map(|side| side.as_str()))
        })?,
    };
    match (in_text, side, text(file)) {
        // Models often write paths as in a shell.
        (AnchoredText::Diff, side, Some(file)) => {
            Ok(Some(LocatedText::File { path: file.strip_prefix("./").unwrap_or(&file).to_owned(), side }))
        }
        (AnchoredText::Diff, DiffSide::New, None) => Ok(None),
        (AnchoredText::Diff, DiffSide::Old, None) => Err(invalid("side", "only together with file".into())),
        (AnchoredText::Description, DiffSide::New, None) => Ok(Some(LocatedText::Description)),
        (AnchoredText::Description, DiffSide::Old, None) => Err(invalid("side", NOT_IN_DESCRIPTION.into())),
        (AnchoredText::Description, DiffSide::New | DiffSide::Old, Some(_)) => {
            Err(invalid("file", NOT_IN_DESCRIPTION.into()))
        }
    }
}

const NOT_IN_DESCRIPTION: &str = "not allowed with in=\"description\"";

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
            (location.file(), location.lines.map(|lines| (lines.start, lines.end))),
            (Some("a.rs"), Some((3, 3)))
        );
        assert_eq!(found.description, None);
    }

    #[test]
    fn lines_are_counted_in_either_side_of_a_file_or_in_the_description() {
        for (given, expected) in [
            (json!({ "file": "a.rs" }), "a.rs"),
            (json!({ "file": "a.rs", "line": 3, "side": "new", "in": "diff" }), "a.rs:3"),
            (json!({ "file": "./a.rs", "line": 3, "line_end": 4, "side": "old" }), "old:a.rs:3-4"),
            (json!({ "file": "a.rs", "side": "old" }), "old:a.rs"),
            (json!({ "file": null, "line": 3, "side": null, "in": "description" }), "description:3"),
            (json!({ "file": " ", "side": "new", "in": "description" }), "description"),
        ] {
            let mut finding = json!({ "title": "a", "severity": "low" });
            finding.as_object_mut().expect("an object").extend(given.as_object().expect("an object").clone());
            let location = read(finding, true).expect("an issue").location.expect("a location");
            assert_eq!(location.to_string(), expected, "{given}");
        }
    }

    #[test]
    fn an_error_names_the_field_and_the_problem() {
        for (given, expected) in [
            (json!({ "title": "a" }), "invalid_argument severity: missing; allowed: low, medium, high, critical"),
            (json!({ "title": " ", "severity": "low" }), "invalid_argument title: must not be empty"),
            (
                json!({ "title": "a", "severity": "low", "line_start": 2 }),
                "invalid_argument line_start: only together with file, or with in=\"description\"",
            ),
            (
                json!({ "title": "a", "severity": "low", "file": "a", "in": "description" }),
                "invalid_argument file: not allowed with in=\"description\"",
            ),
            (
                json!({ "title": "a", "severity": "low", "side": "old", "in": "description" }),
                "invalid_argument side: not allowed with in=\"description\"",
            ),
            (
                json!({ "title": "a", "severity": "low", "side": "old" }),
                "invalid_argument side: only together with file",
            ),
            (
                json!({ "title": "a", "severity": "low", "file": "a", "side": "left" }),
                "invalid_argument side: \"left\" is not known; allowed: old, new",
            ),
            (
                json!({ "title": "a", "severity": "low", "in": "intent" }),
                "invalid_argument in: \"intent\" is not known; allowed: diff, description",
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
