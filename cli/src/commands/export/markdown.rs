//! Renders reviews as Markdown. Agents wrote the texts, so they must not become markup: long texts are put into code
//! fences longer than any fence they contain, and short ones are escaped.

use crate::render::{number, rows};
use domain::text::escape;
use serde_json::Value;
use std::fmt::Write as _;

pub(super) fn render(bundles: &[Value]) -> String {
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
    let _ = writeln!(out, "# {}: {}\n", inline(review, "number"), inline(latest, "intent"));
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
    let author =
        [inline(latest, "proposer_id"), inline(latest, "agent_type")].into_iter().find(|name| !name.is_empty());
    vec![
        ("status", inline(review, "status")),
        ("proposed by", author.unwrap_or_default()),
        ("project", inline(latest, "project")),
        ("category", inline(latest, "category")),
        ("rounds", number(review, "current_round").to_string()),
        ("content", inline(review, "content_hash")),
        ("approved content", inline(latest, "approved_hash")),
        ("base", inline(latest, "base_commit")),
        ("tree", inline(latest, "tree_id")),
        ("submitted", inline(latest, "created_at")),
        ("last change", inline(latest, "updated_at")),
    ]
}

fn round(out: &mut String, round: &Value) {
    let _ = writeln!(out, "\n## Round {}", number(round, "round"));
    fenced(out, "markdown", round["description"].as_str());
    let files = rows(round, "affected_files");
    if !files.is_empty() {
        out.push('\n');
    }
    for file in files {
        let (added, removed) = (number(file, "added"), number(file, "removed"));
        let _ = writeln!(out, "- {} {} (+{added} −{removed})", inline(file, "operation"), inline(file, "path"));
    }
    fenced(out, "diff", round["diff"].as_str());
    for verdict in rows(round, "iterations") {
        let _ = writeln!(
            out,
            "\n**{}** by {} ({}), {}",
            inline(verdict, "verdict"),
            inline(verdict, "reviewer_id"),
            inline(verdict, "persona"),
            inline(verdict, "at"),
        );
        fenced(out, "text", verdict["reason"].as_str().or(verdict["summary"].as_str()));
    }
    if let Some(patch) = round["counter_patch"].as_str() {
        let _ = writeln!(out, "\nCounter-patch, {}:", inline(round, "counter_patch_status"));
        fenced(out, "diff", Some(patch));
    }
}

fn issues(out: &mut String, issues: &[Value]) {
    if issues.is_empty() {
        return;
    }
    out.push_str("\n## Issues\n\n| | severity | status | where | what | by |\n|---|---|---|---|---|---|\n");
    for issue in issues {
        let line = issue["line_start"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        let kind = if issue["is_suggestion"] == true { "suggestion".into() } else { inline(issue, "severity") };
        let [id, status, file, title, persona] =
            ["issue_id", "status", "file", "title", "persona"].map(|key| inline(issue, key));
        let _ = writeln!(out, "| {id} | {kind} | {status} | {file}{line} | {title} | {persona} |");
    }
}

fn discussion(out: &mut String, messages: &[Value]) {
    if messages.is_empty() {
        return;
    }
    out.push_str("\n## Discussion\n");
    for message in messages {
        let author =
            [inline(message, "caller_id"), inline(message, "sender_role")].into_iter().find(|name| !name.is_empty());
        let _ = writeln!(
            out,
            "\n{}, round {}, {}:",
            author.unwrap_or_default(),
            number(message, "round"),
            inline(message, "at")
        );
        fenced(out, "text", message["body"].as_str());
    }
}

/// A text in a code fence.
fn fenced(out: &mut String, language: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let lines: Vec<_> = text.lines().map(escape).collect();
    let _ = writeln!(out, "\n{fence}{language}\n{}\n{fence}", lines.join("\n"));
}

/// A field, escaped for use inside a line.
fn inline(of: &Value, key: &str) -> String {
    let escaped_text = escape(of[key].as_str().unwrap_or_default());
    let mut escaped = String::with_capacity(escaped_text.len());
    for c in escaped_text.chars() {
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
    use super::render;
    use serde_json::json;

    #[test]
    fn texts_of_agents_do_not_become_markup() {
        let round = json!({
            "round": 1, "intent": "a | b <script> \u{1b}[31m", "description": "```\n# not a heading\n````\n",
            "affected_files": [{ "path": "a.rs", "operation": "modify", "added": 1, "removed": 0 }], "diff": "+x\n",
        });
        let review = json!({ "number": "R-1", "status": "pending", "current_round": 1 });
        let report = render(&[json!({ "review": review, "rounds": [round], "issues": [], "messages": [] })]);
        assert!(report.starts_with("# R-1: a \\| b &lt;script> "), "{report}");
        assert!(!report.contains('\u{1b}'), "{report}");
        assert!(report.contains("\n`````markdown\n```\n# not a heading\n````\n`````\n"), "{report}");
    }
}
