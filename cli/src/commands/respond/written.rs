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

use anyhow::{Context as _, anyhow};
use serde_json::{Map, Value, json};
use std::path::Path;

const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];

/// Parses a file into arguments of submit_verdict.
pub(super) fn read(text: &str, file: Option<&Path>) -> anyhow::Result<Map<String, Value>> {
    let kind = file.and_then(Path::extension).and_then(|kind| kind.to_str());
    let fields = match kind {
        Some("toml") => toml::from_str::<Value>(text).context("not valid TOML")?,
        Some("json") => serde_json::from_str(text).context("not valid JSON")?,
        _ if text.trim_start().starts_with('{') => serde_json::from_str(text).context("not valid JSON")?,
        _ => return prose(text),
    };
    fields.as_object().cloned().ok_or_else(|| anyhow!("expected an object with verdict, reason, issues …"))
}

/// A text: the header, the reason, then a heading for each finding.
pub(super) fn prose(text: &str) -> anyhow::Result<Map<String, Value>> {
    let text = crate::editor::without_comments(text);
    let mut fields = Map::new();
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty()).peekable();
    while let Some((key, value)) = lines.peek().and_then(|line| head(line)) {
        if !value.is_empty() {
            fields.insert(key.into(), value.into());
        }
        lines.next();
    }
    let (mut reason, mut findings) = (String::new(), Vec::<(bool, Value, String)>::new());
    for line in lines {
        match (heading(line), findings.last_mut()) {
            (Some((is_issue, rest)), _) => findings.push((is_issue, finding(rest, is_issue)?, String::new())),
            (None, Some((_, _, body))) => *body += &format!("{line}\n"),
            (None, None) => reason += &format!("{line}\n"),
        }
    }
    if !reason.trim().is_empty() {
        fields.insert("reason".into(), reason.trim().into());
    }
    for (is_issue, mut found, body) in findings {
        if !body.trim().is_empty() {
            found["description"] = body.trim().into();
        }
        let list = fields.entry(if is_issue { "issues" } else { "suggestions" }).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(found);
        }
    }
    Ok(fields)
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
pub(super) fn finding(spec: &str, is_issue: bool) -> anyhow::Result<Value> {
    let expected =
        || anyhow!("{spec:?}: expected for example 'high src/a.rs:10-12 title: text' ({})", SEVERITIES.join(", "));
    let (first, rest) = spec.trim().split_once(' ').unwrap_or((spec.trim(), ""));
    let (severity, rest) = match SEVERITIES.contains(&first) {
        true => (Some(first), rest),
        false if is_issue => return Err(expected()),
        false => (None, spec.trim()),
    };
    let (word, after) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let (place, said) = match place(word) {
        Some(place) => (place, after),
        None => (Map::new(), rest),
    };
    let (title, text) = match said.split_once(": ") {
        Some((title, text)) => (title.trim(), Some(text.trim())),
        None => (said.trim().trim_end_matches(':'), None),
    };
    if title.is_empty() {
        return Err(expected());
    }
    let mut found = place;
    found.insert("title".into(), title.into());
    found.extend(severity.map(|severity| ("severity".to_owned(), severity.into())));
    found.extend(text.filter(|text| !text.is_empty()).map(|text| ("description".to_owned(), text.into())));
    Ok(Value::Object(found))
}

/// A path with optional lines.
fn place(word: &str) -> Option<Map<String, Value>> {
    let word = word.trim_end_matches(':');
    let (file, lines) = match word.rsplit_once(':') {
        Some((file, lines)) => (file, Some(lines)),
        None => (word, None),
    };
    let (start, end) = match lines {
        None => (None, None),
        Some(lines) => {
            let (start, end) = lines.split_once('-').map_or((lines, None), |(start, end)| (start, Some(end)));
            (Some(start.parse::<u32>().ok()?), end.map(str::parse::<u32>).transpose().ok()?)
        }
    };
    let looks_like_one = lines.is_some() || file.contains('/') || file.trim_end_matches('.').contains('.');
    if !looks_like_one || file.is_empty() {
        return None;
    }
    let mut place = Map::from_iter([("file".to_owned(), Value::from(file))]);
    place.extend(start.map(|line| ("line_start".to_owned(), line.into())));
    place.extend(end.map(|line| ("line_end".to_owned(), line.into())));
    Some(place)
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
