//! A review as text: the lines that several commands show of it, and what to type next.

use crate::{
    identity::proposer,
    render::{
        Cell, age, indented, number, one_line, rows,
        style::{self, BOLD, DIM, paint},
        table, text,
    },
};
use serde_json::Value;
use std::fmt::Write as _;

/// `R-12  ▲ changes requested  round 2`, and what it is for.
pub(crate) fn head(review: &Value) -> String {
    let status = style::status(review["status"].as_str().unwrap_or_default()).painted();
    let round = review["current_round"].as_u64().unwrap_or(1);
    let mut out = format!("{}  {status}  round {round}\n", paint(BOLD, &text(review, "number")));
    out.push_str(&indented(&one_line(review["intent"].as_str().unwrap_or_default()), 2));
    out
}

/// Whose it is, what it is of, since when, and what it has cost.
pub(crate) fn about(review: &Value, files: Option<&Value>) -> String {
    let mut parts = vec![format!("by {}", one_line(proposer(review).as_str().unwrap_or_default()))];
    parts.extend(target(review));
    parts.extend(files.filter(|_| review["has_diff"] == true).map(changed));
    for key in ["project", "category"] {
        parts.extend(review[key].as_str().map(style::spaced));
    }
    parts.extend(review["priority"].as_str().filter(|word| *word != "normal").map(|word| format!("{word} priority")));
    parts.push(format!("{} old", age(review, "created_at")));
    parts.extend(review["cost_usd"].as_f64().map(|cost| format!("${cost:.2}")));
    paint(DIM, &indented(&parts.join(" · "), 2))
}

/// The branch, commit or range.
fn target(review: &Value) -> Option<String> {
    let target = &review["target"];
    let name = one_line(target["name"].as_str()?);
    let commits = match target["commits_total"].as_u64() {
        Some(1) => ", 1 commit".to_owned(),
        Some(n) if n > 1 => format!(", {n} commits"),
        Some(_) | None => String::new(),
    };
    Some(match (target["kind"].as_str(), target["base_name"].as_str()) {
        (Some("branch"), Some(base)) => format!("{name} → {}{commits}", one_line(base)),
        (Some("branch"), None) => format!("{name}{commits}"),
        (Some(kind), _) => format!("{kind} {name}"),
        (None, _) => name,
    })
}

/// `2 files +21 −24`
pub(crate) fn changed(of: &Value) -> String {
    let sum = |key: &str| rows(of, "affected_files").iter().map(|file| number(file, key)).sum::<u64>();
    let total = number(of, "affected_files_total");
    let files = if total == 1 { "1 file".to_owned() } else { format!("{total} files") };
    format!("{files} +{} −{}", sum("added"), sum("removed"))
}

/// Who sits where and has said what, where there is more to say than one word.
pub(crate) fn seats(review: &Value) -> String {
    let line = |seat: &Value| {
        let holder = match (seat["claimed_by"].as_str(), seat["reserved_for"].as_str()) {
            (Some(by), _) => one_line(by),
            (None, Some(by)) => format!("kept for {}", one_line(by)),
            (None, None) if seat["could_not_review"].is_string() => "free; a reviewer gave up on it".into(),
            (None, None) => "free".into(),
        };
        let patch = if seat["has_counter_patch"] == true { "counter-patch" } else { "" };
        let since = seat["claimed_at"].as_str().map(|_| age(seat, "claimed_at")).unwrap_or_default();
        [
            Cell::from(text(seat, "persona")),
            style::verdict(seat["verdict"].as_str()),
            since.into(),
            holder.into(),
            patch.into(),
        ]
    };
    let lines: Vec<_> = rows(review, "seats").iter().map(line).collect();
    table(["SEAT", "VOTE", "SINCE", "REVIEWER", ""], &lines)
}

/// How the votes stand, and whether a person is asked for.
pub(crate) fn consensus(review: &Value) -> String {
    let mut out = review["consensus"]["why"].as_str().map(|why| indented(&one_line(why), 2)).unwrap_or_default();
    if review["escalate"] == true {
        let why = review["escalate_why"].as_str().map(|why| format!(" ({})", style::spaced(why))).unwrap_or_default();
        out.push_str(&paint(style::CARE, &indented(&format!("! a person should look at it{why}"), 2)));
    }
    for (key, says) in [("validation_error", "git says"), ("cancel_reason", "cancelled")] {
        if let Some(words) = review[key].as_str() {
            out.push_str(&indented(&format!("{says}: {}", one_line(words)), 2));
        }
    }
    out
}

/// The commands that are possible now, for the proposer or for others.
pub(crate) fn next(review: &Value) -> String {
    let r = text(review, "number");
    let step = |command: &str, why: &'static str| (format!("countersign {}", command.replace('#', &r)), why);
    let steps = match review["status"].as_str() {
        Some("pending" | "claimed" | "in_review") => {
            vec![step("wait #", "until it is decided"), step("respond #", "for anybody but its proposer")]
        }
        Some("changes_requested") => {
            let patch = review["has_counter_patch"] == true;
            let patch = patch.then(|| step("patch show #", "a reviewer's counter-patch, to accept or decline"));
            let others = [
                step("show #", "what is wanted"),
                step("resubmit #", "after fixing it"),
                step("comment # -m …", "to ask instead"),
            ];
            patch.into_iter().chain(others).collect()
        }
        Some("approved") => vec![step("close #", "once exactly this content has landed")],
        Some("rejected" | "cancelled") => vec![step("close #", "nothing else is left to do")],
        _ => Vec::new(),
    };
    if steps.is_empty() { String::new() } else { part("next") + &commands(&steps) }
}

/// Commands, and beside each what for.
pub(crate) fn commands(steps: &[(String, &str)]) -> String {
    let width = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let line = |(command, why): &(String, &str)| format!("  {command:width$}  {}\n", paint(DIM, why));
    steps.iter().map(line).collect()
}

/// A heading above a part.
pub(crate) fn part(title: &str) -> String {
    format!("\n{}\n", paint(BOLD, title))
}

/// The files of a proposal, at most so many, and what in them to look at twice.
pub(crate) fn files(of: &Value, max: usize) -> String {
    let mut out = String::new();
    let files = rows(of, "affected_files");
    for file in files.iter().take(max) {
        let counts = format!("+{} −{}", number(file, "added"), number(file, "removed"));
        let path = one_line(file["path"].as_str().unwrap_or_default());
        let _ = writeln!(out, "  {counts:>9}  {:<6}  {path}", text(file, "operation"));
    }
    let more = number(of, "affected_files_total").saturating_sub(files.len().min(max) as u64);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
    for flag in rows(of, "flags") {
        let kind = style::spaced(&text(flag, "kind"));
        let words = [kind, text(flag, "path"), text(flag, "detail")].join(" ");
        out.push_str(&paint(style::CARE, &indented(&format!("! {}", words.trim_end()), 2)));
    }
    out
}
