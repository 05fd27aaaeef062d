//! A report for people. Everything in it was written by agents, so nothing of theirs becomes markup: texts stand in
//! fences longer than any they hold, and words of a line are escaped.

use crate::cli::render::{number, rows};
use domain::text::escape;
use serde_json::Value;
use std::fmt::Write as _;

pub(super) fn of(bundles: &[Value]) -> String {
    let mut out = String::new();
    for (index, bundle) in bundles.iter().enumerate() {
        if index > 0 {
            out.push_str("\n---\n\n");
        }
        report(&mut out, bundle);
    }
    out
}

fn report(out: &mut String, bundle: &Value) {
    let (review, rounds) = (&bundle["review"], rows(bundle, "rounds"));
    let latest = rounds.last().unwrap_or(&Value::Null);
    let _ = writeln!(out, "# {}: {}\n", word(review, "number"), word(latest, "intent"));
    let _ = writeln!(out, "| | |\n|---|---|");
    for (title, value) in facts(review, latest) {
        if !value.is_empty() {
            let _ = writeln!(out, "| {title} | {value} |");
        }
    }
    for round in rounds {
        self::round(out, round);
    }
    issues(out, rows(bundle, "issues"));
    discussion(out, rows(bundle, "messages"));
}

fn facts(review: &Value, latest: &Value) -> Vec<(&'static str, String)> {
    let who = [word(latest, "proposer_id"), word(latest, "agent_type")].into_iter().find(|name| !name.is_empty());
    vec![
        ("status", word(review, "status")),
        ("proposed by", who.unwrap_or_default()),
        ("project", word(latest, "project")),
        ("category", word(latest, "category")),
        ("rounds", number(review, "current_round").to_string()),
        ("content", word(review, "content_hash")),
        ("approved content", word(latest, "approved_hash")),
        ("base", word(latest, "base_commit")),
        ("tree", word(latest, "tree_id")),
        ("submitted", word(latest, "created_at")),
        ("last change", word(latest, "updated_at")),
    ]
}

fn round(out: &mut String, round: &Value) {
    let _ = writeln!(out, "\n## Round {}", number(round, "round"));
    text(out, "markdown", round["description"].as_str());
    let files = rows(round, "affected_files");
    if !files.is_empty() {
        out.push('\n');
    }
    for file in files {
        let (added, removed) = (number(file, "added"), number(file, "removed"));
        let _ = writeln!(out, "- {} {} (+{added} −{removed})", word(file, "operation"), word(file, "path"));
    }
    text(out, "diff", round["diff"].as_str());
    for verdict in rows(round, "iterations") {
        let _ = writeln!(
            out,
            "\n**{}** by {} ({}), {}",
            word(verdict, "verdict"),
            word(verdict, "reviewer_id"),
            word(verdict, "persona"),
            word(verdict, "at"),
        );
        text(out, "text", verdict["reason"].as_str().or(verdict["summary"].as_str()));
    }
    if let Some(patch) = round["counter_patch"].as_str() {
        let _ = writeln!(out, "\nCounter-patch, {}:", word(round, "counter_patch_status"));
        text(out, "diff", Some(patch));
    }
}

fn issues(out: &mut String, issues: &[Value]) {
    if issues.is_empty() {
        return;
    }
    out.push_str("\n## Issues\n\n| | severity | status | where | what | by |\n|---|---|---|---|---|---|\n");
    for issue in issues {
        let line = issue["line_start"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        let kind = if issue["is_suggestion"] == true { "suggestion".into() } else { word(issue, "severity") };
        let [id, status, file, title, persona] =
            ["issue_id", "status", "file", "title", "persona"].map(|key| word(issue, key));
        let _ = writeln!(out, "| {id} | {kind} | {status} | {file}{line} | {title} | {persona} |");
    }
}

fn discussion(out: &mut String, messages: &[Value]) {
    if messages.is_empty() {
        return;
    }
    out.push_str("\n## Discussion\n");
    for message in messages {
        let who = [word(message, "caller_id"), word(message, "sender_role")].into_iter().find(|name| !name.is_empty());
        let _ = writeln!(
            out,
            "\n{}, round {}, {}:",
            who.unwrap_or_default(),
            number(message, "round"),
            word(message, "at")
        );
        text(out, "text", message["body"].as_str());
    }
}

/// A text as it is, between fences.
fn text(out: &mut String, language: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let lines: Vec<_> = text.lines().map(escape).collect();
    let _ = writeln!(out, "\n{fence}{language}\n{}\n{fence}", lines.join("\n"));
}

/// A field in the middle of a line.
fn word(of: &Value, key: &str) -> String {
    let shown = escape(of[key].as_str().unwrap_or_default());
    let mut escaped = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '!' | '#' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::of;
    use serde_json::json;

    #[test]
    fn nothing_an_agent_wrote_becomes_markup() {
        let round = json!({
            "round": 1, "intent": "a | b <script> \u{1b}[31m", "description": "```\n# not a heading\n````\n",
            "affected_files": [{ "path": "a.rs", "operation": "modify", "added": 1, "removed": 0 }], "diff": "+x\n",
        });
        let review = json!({ "number": "R-1", "status": "pending", "current_round": 1 });
        let report = of(&[json!({ "review": review, "rounds": [round], "issues": [], "messages": [] })]);
        assert!(report.starts_with("# R-1: a \\| b &lt;script> "), "{report}");
        assert!(!report.contains('\u{1b}'), "{report}");
        assert!(report.contains("\n`````markdown\n```\n# not a heading\n````\n`````\n"), "{report}");
    }
}
