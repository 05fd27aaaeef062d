//! Issues as text.

use crate::render::{Cell, indented, one_line, style, table, text};
use serde_json::Value;

/// Lists, with the review each is of where that is not clear.
pub(crate) fn list(issues: &[Value], with_review: bool) -> String {
    let line = |issue: &Value| {
        let review = if with_review { text(issue, "number") } else { String::new() };
        let id =
            if review.is_empty() { text(issue, "issue_id") } else { format!("{} {review}", text(issue, "issue_id")) };
        let title = one_line(issue["title"].as_str().unwrap_or_default());
        let kind =
            if issue["is_suggestion"] == true { "suggestion".into() } else { style::severity(word(issue, "severity")) };
        [Cell::from(id), kind, state(issue), text(issue, "persona").into(), place(issue).into(), title.into()]
    };
    let lines: Vec<[Cell; 6]> = issues.iter().map(line).collect();
    table(["ISSUE", "SEVERITY", "STATUS", "SEAT", "WHERE", "WHAT"], &lines)
}

/// One with all that is known of it.
pub(crate) fn whole(issue: &Value) -> String {
    let (id, title) = (text(issue, "issue_id"), one_line(issue["title"].as_str().unwrap_or_default()));
    let (severity, state) = (style::severity(word(issue, "severity")).painted(), state(issue).painted());
    let mut out = indented(&format!("{id}  {title}"), 0);
    let by = format!("{} ({})", text(issue, "persona"), text(issue, "reviewer_id"));
    out.push_str(&format!("  {severity}  {state}  {}  {by}\n", place(issue)));
    for (key, title) in
        [("description", ""), ("code_snippet", "the code:"), ("suggestion", "instead:"), ("grounding_note", "")]
    {
        if let Some(words) = issue[key].as_str() {
            out.push_str(&indented(title, 2));
            out.push_str(&indented(words, 4));
        }
    }
    for (key, says) in [("proposer_says", "the proposer"), ("resolution", "settled")] {
        let said = &issue[key];
        if said.is_object() {
            let words = [text(said, "says"), text(said, "note")].into_iter().filter(|part| !part.is_empty());
            let words: Vec<_> = words.collect();
            out.push_str(&indented(&format!("{says} ({}): {}", text(said, "by"), words.join(", ")), 2));
        }
    }
    out
}

/// What has become of it, with the proposer's word where that waits for an answer.
fn state(issue: &Value) -> Cell {
    let status = style::issue_status(word(issue, "status"));
    match issue["proposer_says"]["says"].as_str() {
        Some(says) if issue["status"] == "open" => {
            Cell::styled(format!("open, says {}", style::spaced(says)), style::CARE)
        }
        Some(_) | None if issue["blocks"] == true => Cell::styled("open, blocks", style::BAD),
        Some(_) | None => status,
    }
}

/// `src/a.rs:10-12`
pub(crate) fn place(issue: &Value) -> String {
    let Some(file) = issue["file"].as_str() else { return String::new() };
    let file = one_line(file);
    match (issue["line_start"].as_u64(), issue["line_end"].as_u64()) {
        (Some(start), Some(end)) if end > start => format!("{file}:{start}-{end}"),
        (Some(start), _) => format!("{file}:{start}"),
        (None, _) => file,
    }
}

fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}
