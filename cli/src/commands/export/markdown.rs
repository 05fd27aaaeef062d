//! Renders reviews as Markdown for `countersign export`. Agents wrote the texts, so they must not become markup: long
//! texts are put into code fences longer than any fence they contain, and short ones are escaped.

use super::ReviewBundle;
use api::{
    issues::Issue,
    messages::Message,
    proposals::{ProposalDetails, ProposalResponse},
};
use domain::text::escape;
use std::fmt::Write as _;

pub(super) fn render(bundles: &[ReviewBundle]) -> String {
    let mut out = String::new();
    for (index, bundle) in bundles.iter().enumerate() {
        if index > 0 {
            out.push_str("\n---\n\n");
        }
        report(&mut out, bundle);
    }
    out
}

fn report(out: &mut String, bundle: &ReviewBundle) {
    let _ = writeln!(out, "# {}: {}\n", bundle.review.head.number, inline(&bundle.review.state.intent));
    let _ = writeln!(out, "| | |\n|---|---|");
    for (title, value) in facts(bundle) {
        if !value.is_empty() {
            let _ = writeln!(out, "| {title} | {} |", inline(&value));
        }
    }
    for proposal in &bundle.rounds {
        round(out, proposal);
    }
    issues(out, &bundle.issues);
    discussion(out, &bundle.messages);
}

fn facts(bundle: &ReviewBundle) -> Vec<(&'static str, String)> {
    let review = &bundle.review;
    let details = bundle.rounds.last().and_then(|latest| latest.details.as_ref());
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

fn round(out: &mut String, proposal: &ProposalResponse) {
    let _ = writeln!(out, "\n## Round {}", proposal.round);
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
}

fn issues(out: &mut String, issues: &[Issue]) {
    if issues.is_empty() {
        return;
    }
    out.push_str("\n## Issues\n\n| | severity | status | where | what | by |\n|---|---|---|---|---|---|\n");
    for issue in issues {
        let location = issue.location().map(|location| inline(&location.to_string())).unwrap_or_default();
        let severity = if issue.is_suggestion == Some(true) { "suggestion" } else { issue.severity.as_str() };
        let title = inline(&issue.title);
        let (id, status, persona) = (inline(&issue.issue_id), issue.status, inline(&issue.persona));
        let _ = writeln!(out, "| {id} | {severity} | {status} | {location} | {title} | {persona} |");
    }
}

fn discussion(out: &mut String, messages: &[Message]) {
    if messages.is_empty() {
        return;
    }
    out.push_str("\n## Discussion\n");
    for message in messages {
        let author = inline(message.caller_id.as_deref().unwrap_or(message.sender_role.as_str()));
        let _ = writeln!(out, "\n{author}, round {}, {}:", message.round, message.at);
        fenced(out, "text", Some(&message.body));
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
