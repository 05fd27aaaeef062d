//! Renders reviews and issues as Markdown. Agents wrote the texts, so they must not become markup: long texts are put into
//! code fences longer than any fence they contain, and short ones are escaped.

use crate::{
    issues::Issue,
    messages::Message,
    proposals::{ProposalDetails, ProposalResponse},
    reviews::ReviewStatusResponse,
};
use domain::text::escape;
use std::fmt::Write as _;

/// The title of a report with what is known about the review. `details` are those of its latest round.
pub(super) fn head(review: &ReviewStatusResponse, details: Option<&ProposalDetails>) -> String {
    let mut out = format!("# {}: {}\n\n| | |\n|---|---|\n", review.head.number, inline(&review.state.intent));
    for (title, value) in facts(review, details) {
        if !value.is_empty() {
            let _ = writeln!(out, "| {title} | {} |", inline(&value));
        }
    }
    out
}

fn facts(review: &ReviewStatusResponse, details: Option<&ProposalDetails>) -> Vec<(&'static str, String)> {
    let of_details = |field: fn(&ProposalDetails) -> Option<String>| details.and_then(field).unwrap_or_default();
    vec![
        ("status", review.head.status.to_string()),
        (
            "proposed by",
            review.state.proposer.proposer_id.clone().unwrap_or_else(|| review.state.proposer.agent_type.clone()),
        ),
        ("project", review.state.proposer.project.clone().unwrap_or_default()),
        ("category", review.state.category.map(|category| category.to_string()).unwrap_or_default()),
        ("rounds", review.head.current_round.to_string()),
        ("content", review.content_hash.to_string()),
        ("approved content", of_details(|details| details.state.approved_hash.as_ref().map(ToString::to_string))),
        ("base", of_details(|details| details.state.diff.base_commit.clone())),
        ("tree", of_details(|details| details.state.diff.tree_id.clone())),
        ("submitted", review.state.created_at.to_string()),
        ("last change", review.state.updated_at.to_string()),
    ]
}

/// A round with its diff and its verdicts.
pub(super) fn round(proposal: &ProposalResponse) -> String {
    let mut text = format!("\n## Round {}\n", proposal.round);
    let out = &mut text;
    fenced(out, "markdown", proposal.description.as_deref());
    let files = proposal.details.as_ref().map(|details| details.files.affected_files.as_slice()).unwrap_or_default();
    if !files.is_empty() {
        out.push('\n');
    }
    for file in files {
        let (operation, path) = (inline(&file.operation.to_string()), inline(&file.path));
        let _ = writeln!(out, "- {operation} {path} (+{} −{})", file.added, file.removed);
    }
    fenced(out, "diff", proposal.diff.as_deref());
    for verdict in proposal.details.iter().flat_map(|details| &details.iterations) {
        let (reviewer, persona) = (inline(&verdict.reviewer_id), inline(&verdict.persona));
        let _ = writeln!(out, "\n**{}** by {reviewer} ({persona}), {}", verdict.verdict, verdict.at);
        fenced(out, "text", verdict.reason.as_deref().or(verdict.summary.as_deref()));
    }
    if let Some(patch) = &proposal.counter_patch {
        let status = inline(proposal.counter_patch_status.as_deref().unwrap_or_default());
        let _ = writeln!(out, "\nCounter-patch, {status}:");
        fenced(out, "diff", Some(patch));
    }
    text
}

/// All issues of a review. Nothing without any.
pub(super) fn issues(issues: &[Issue]) -> String {
    if issues.is_empty() {
        return String::new();
    }
    let mut out = format!("\n## Issues\n\n{}", issue_head(false));
    issues.iter().for_each(|issue| issue_row(&mut out, issue, false));
    out
}

/// The head of a table of issues.
pub(super) fn issue_head(with_review: bool) -> &'static str {
    if with_review {
        "| | review | severity | status | where | what | by |\n|---|---|---|---|---|---|---|\n"
    } else {
        "| | severity | status | where | what | by |\n|---|---|---|---|---|---|\n"
    }
}

/// A row of a table of issues.
pub(super) fn issue_row(out: &mut String, issue: &Issue, with_review: bool) {
    let location = issue.location().map(|location| inline(&location.to_string())).unwrap_or_default();
    let severity = if issue.is_suggestion == Some(true) { "suggestion" } else { issue.severity.as_str() };
    let title = inline(&issue.title);
    let (id, status, persona) = (inline(&issue.issue_id), issue.status, inline(&issue.persona));
    let review = issue.number.filter(|_| with_review).map(|number| format!(" {number} |")).unwrap_or_default();
    let _ = writeln!(out, "| {id} |{review} {severity} | {status} | {location} | {title} | {persona} |");
}

/// The messages of a review. Nothing without any.
pub(super) fn discussion(messages: &[Message]) -> String {
    if messages.is_empty() {
        return String::new();
    }
    let mut out = "\n## Discussion\n".to_owned();
    for message in messages {
        let author = inline(message.caller_id.as_deref().unwrap_or(message.sender_role.as_str()));
        let _ = writeln!(out, "\n{author}, round {}, {}:", message.round, message.at);
        fenced(&mut out, "text", Some(&message.body));
    }
    out
}

/// A text in a code fence.
fn fenced(out: &mut String, language: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let lines: Vec<_> = text.lines().map(escape).collect();
    let _ = writeln!(out, "\n{fence}{language}\n{}\n{fence}", lines.join("\n"));
}

/// A text, escaped for use inside a line.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '!' | '#' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{fenced, inline};

    #[test]
    fn texts_of_agents_do_not_become_markup() {
        let line = inline("a | b <script> \u{1b}[31m");
        assert!(line.starts_with("a \\| b &lt;script> ") && !line.contains('\u{1b}'), "{line}");
        let mut out = String::new();
        fenced(&mut out, "markdown", Some("```\n# not a heading\n````\n"));
        assert_eq!(out, "\n`````markdown\n```\n# not a heading\n````\n`````\n");
    }
}
