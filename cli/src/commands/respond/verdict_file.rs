//! Parses a verdict file: JSON or TOML with the fields of submit_verdict, or a text in this format.
//!
//! ```text
//! verdict: changes_requested
//! summary: one line, if you like
//!
//! The reason, as long as it takes.
//!
//! ## issue high src/a.rs:10-12 the title
//! What happens, when, and why it matters.
//!
//! ## suggestion a better name
//! ```
//!
//! A location is a path with optional lines. `old:src/a.rs:10` is a line before the change, `description:3` a line of the
//! proposal's description.

use crate::{CliError, error::parse_variant, text_input::without_comments};
use anyhow::{Context as _, anyhow};
use api::{
    Operation as _,
    decode::{DecodeError, decode},
    operation::SubmitVerdict,
    verdicts::VerdictRequest,
};
use domain::{
    finding::{Location, RawFinding, Severity},
    verdict::Verdict,
};
use std::path::Path;

/// Parses a file. `verdict` replaces that of the file.
pub(super) fn parse(text: &str, file: Option<&Path>, verdict: Option<Verdict>) -> Result<VerdictRequest, CliError> {
    let kind = file.and_then(Path::extension).and_then(|kind| kind.to_str());
    let fields = match kind {
        Some("toml") => toml::from_str(text).context("not valid TOML"),
        Some("json") => serde_json::from_str(text).context("not valid JSON"),
        _ if text.trim_start().starts_with('{') => serde_json::from_str(text).context("not valid JSON"),
        _ => return parse_text(text, verdict),
    };
    let name = file.map(|file| file.display().to_string()).unwrap_or_default();
    let mut fields: serde_json::Map<_, _> = fields.context(name).map_err(CliError::usage)?;
    fields.insert("review_id".into(), "".into());
    if let Some(verdict) = verdict {
        fields.insert("verdict".into(), verdict.as_str().into());
    }
    if !fields.contains_key("verdict") {
        return Err(missing_verdict());
    }
    decode(SubmitVerdict::ID.request_schema(), fields).map_err(|error| match error {
        DecodeError::UnknownValue(body) => body.into(),
        DecodeError::Malformed(malformed) => CliError::usage(anyhow!("{}: {}", malformed.field, malformed.problem)),
    })
}

pub(super) fn missing_verdict() -> CliError {
    CliError::usage(anyhow!("what is the verdict? --approve, --request-changes, --reject or --comment"))
}

/// Parses a text: the header, the reason, then a heading for each finding. `verdict` replaces that of the text.
pub(super) fn parse_text(text: &str, verdict: Option<Verdict>) -> Result<VerdictRequest, CliError> {
    let text = without_comments(text);
    let (mut written_verdict, mut summary) = (None, None);
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty()).peekable();
    while let Some((key, value)) = lines.peek().and_then(|line| head(line)) {
        match key {
            _ if value.is_empty() => {}
            "verdict" => written_verdict = Some(value),
            _ => summary = Some(value.to_owned()),
        }
        lines.next();
    }
    let verdict = match (verdict, written_verdict) {
        (Some(verdict), _) => verdict,
        (None, Some(name)) => parse_variant("verdict", name)?,
        (None, None) => return Err(missing_verdict()),
    };
    let (mut reason, mut findings) = (String::new(), Vec::<(bool, RawFinding, String)>::new());
    for line in lines {
        match (heading(line), findings.last_mut()) {
            (Some((is_issue, spec)), _) => {
                let finding = parse_finding(spec, is_issue).map_err(CliError::usage)?;
                findings.push((is_issue, finding, String::new()));
            }
            (None, Some((_, _, body))) => *body += &format!("{line}\n"),
            (None, None) => reason += &format!("{line}\n"),
        }
    }
    let mut request = VerdictRequest { summary, reason: trimmed(&reason), ..VerdictRequest::new("", verdict) };
    for (is_issue, finding, body) in findings {
        let list = if is_issue { &mut request.issues } else { &mut request.suggestions };
        let description = trimmed(&body).or(finding.description);
        list.get_or_insert_default().push(RawFinding { description, ..finding });
    }
    Ok(request)
}

fn trimmed(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn head(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    ["verdict", "summary"].contains(&key.trim()).then(|| (key.trim(), value.trim()))
}

fn heading(line: &str) -> Option<(bool, &str)> {
    let heading = line.strip_prefix("##")?.trim_start_matches('#').trim();
    let issue = heading.strip_prefix("issue ").map(|rest| (true, rest));
    issue.or_else(|| heading.strip_prefix("suggestion ").map(|rest| (false, rest)))
}

/// `high src/a.rs:10-12 title: text`. Only issues have a severity; location and text are optional.
pub(super) fn parse_finding(spec: &str, is_issue: bool) -> anyhow::Result<RawFinding> {
    let expected = || {
        let severities: Vec<_> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
        anyhow!("{spec:?}: expected for example 'high src/a.rs:10-12 title: text' ({})", severities.join(", "))
    };
    let (first, rest) = spec.trim().split_once(' ').unwrap_or((spec.trim(), ""));
    let (severity, rest) = match Severity::parse(first) {
        Some(severity) => (Some(severity.to_string()), rest),
        None if is_issue => return Err(expected()),
        None => (None, spec.trim()),
    };
    let (word, after) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let (location, text) = match parse_location(word) {
        Some(location) => (location, after),
        None => (RawFinding::default(), rest),
    };
    let (title, description) = match text.split_once(": ") {
        Some((title, description)) => (title.trim(), trimmed(description)),
        None => (text.trim().trim_end_matches(':'), None),
    };
    if title.is_empty() {
        return Err(expected());
    }
    Ok(RawFinding { severity, title: title.to_owned(), description, ..location })
}

/// A location, if the word cannot be the first one of a title.
fn parse_location(word: &str) -> Option<RawFinding> {
    let location = Location::parse(word.trim_end_matches(':'))?;
    let is_path = |path: &str| path.contains('/') || path.trim_end_matches('.').contains('.');
    if location.lines.is_none() && !location.file().is_some_and(is_path) {
        return None;
    }
    Some(RawFinding {
        file: location.file().map(str::to_owned),
        side: location.old_side().map(|side| side.to_string()),
        text: location.other_text().map(|text| text.to_string()),
        line_start: location.lines.map(|lines| lines.start),
        line_end: location.lines.filter(|lines| lines.end != lines.start).map(|lines| lines.end),
        ..RawFinding::default()
    })
}

#[cfg(test)]
#[path = "verdict_file_tests.rs"]
mod tests;
