//! Formats lists of findings for `countersign issues` and `show`.

use crate::render::{Cell, indented, one_line, style, table};
use api::issues::{CountIssuesResponse, Issue, IssueGroup};
use domain::{finding::FindingStatus, text::escape};

/// A table, with the review of each issue if the list spans several.
pub(crate) fn list(issues: &[Issue], with_review: bool) -> String {
    let line = |issue: &Issue| {
        let number = issue.number.filter(|_| with_review).map(|number| format!(" {number}"));
        let is_suggestion = issue.is_suggestion == Some(true);
        [
            Cell::from(escape(&format!("{}{}", issue.issue_id, number.unwrap_or_default()))),
            if is_suggestion { "suggestion".into() } else { style::severity(issue.severity) },
            status(issue),
            escape(&issue.persona).into(),
            location(issue).into(),
            one_line(&issue.title).into(),
        ]
    };
    table(["ISSUE", "SEVERITY", "STATUS", "SEAT", "WHERE", "WHAT"], issues.iter().map(line))
}

/// Counts by group.
pub(crate) fn groups(counts: &CountIssuesResponse) -> String {
    if counts.groups.is_empty() {
        return "no issues\n".into();
    }
    let row = |group: &IssueGroup| {
        let name = if group.group.is_empty() { "(none)" } else { group.group.as_str() };
        let title = group.intent.as_deref().map(|intent| format!("  {intent}")).unwrap_or_default();
        let of = &group.open_by_severity;
        let counts = [group.issues, group.open, group.blocking].map(|count| Cell::from(count.to_string()));
        let by_severity = [of.critical, of.high, of.medium, of.low].map(|count| Cell::from(count.to_string()));
        let [issues, open, blocking] = counts;
        let [critical, high, medium, low] = by_severity;
        [one_line(&format!("{name}{title}")).into(), issues, open, blocking, critical, high, medium, low]
    };
    let heads = ["GROUP", "ISSUES", "OPEN", "BLOCKING", "CRITICAL", "HIGH", "MEDIUM", "LOW"];
    let mut out = table(heads, counts.groups.iter().map(row));
    if let Some(more) = counts.more_groups {
        out.push_str(&format!("{more} more groups\n"));
    }
    if counts.partial == Some(true) {
        out.push_str("there are too many issues to count them all; narrow the filters\n");
    }
    out
}

/// All details of one issue.
pub(crate) fn details(issue: &Issue) -> String {
    let (severity, status) = (style::severity(issue.severity).painted(), status(issue).painted());
    let (seat, reviewer) = (escape(&issue.persona), escape(&issue.reviewer_id));
    let mut out = indented(&format!("{}  {}", issue.issue_id, one_line(&issue.title)), 0);
    out.push_str(&format!("  {severity}  {status}  {}  {seat} ({reviewer})\n", location(issue)));
    let texts = [
        ("", &issue.description),
        ("the code:", &issue.code_snippet),
        ("instead:", &issue.suggestion),
        ("", &issue.grounding_note),
    ];
    for (title, text) in texts {
        if let Some(text) = text {
            out.push_str(&indented(title, 2));
            out.push_str(&indented(text, 4));
        }
    }
    if let Some(reply) = &issue.proposer_says {
        let note = reply.note.as_deref().map(|note| format!(", {note}")).unwrap_or_default();
        out.push_str(&indented(&format!("the proposer ({}): {}{note}", reply.by, reply.response), 2));
    }
    if let Some(resolution) = &issue.resolution {
        let note = resolution.note.as_deref().unwrap_or_default();
        out.push_str(&indented(&format!("settled ({}): {note}", resolution.by), 2));
    }
    out
}

/// The status, with the proposer's response if that waits for an answer.
fn status(issue: &Issue) -> Cell {
    match &issue.proposer_says {
        Some(reply) if issue.status == FindingStatus::Open => {
            Cell::styled(format!("open, says {}", style::spaced(reply.response.as_str())), style::CARE)
        }
        Some(_) | None if issue.blocks == Some(true) => Cell::styled("open, blocks", style::BAD),
        Some(_) | None => style::issue_status(issue.status),
    }
}

/// `src/a.rs:10-12`, `old:src/a.rs:10` or `description:3`
pub(crate) fn location(issue: &Issue) -> String {
    issue.location().map(|location| one_line(&location.to_string())).unwrap_or_default()
}
