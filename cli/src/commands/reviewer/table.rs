//! The pool as text.

use crate::render::{clipped, duration, rows, strings, table, text};
use domain::text::escape;
use serde_json::Value;
use std::fmt::Write as _;

const EXIT_CHARS: usize = 60;

/// One line about one reviewer that something was done to.
pub(super) fn told(word: &str, reviewer: &Value) -> String {
    format!("{word} {} ({})\n", text(reviewer, "reviewer_id"), text(reviewer, "state"))
}

pub(super) fn pool(pool: &Value) -> String {
    let live = rows(pool, "reviewers");
    let waiting: u64 = rows(pool, "waiting").iter().filter_map(|row| row["pending"].as_u64()).sum();
    let (state, max) = (text(pool, "state"), &pool["max_size"]);
    let wait = if waiting == 1 { "review waits" } else { "reviews wait" };
    let mut out = format!("pool {state}: {} of {max} reviewers, {waiting} {wait}\n", live.len());
    if let Some(message) = pool["message"].as_str() {
        let _ = writeln!(out, "  {}", escape(message));
    }
    for line in strings(pool, "last_words") {
        let _ = writeln!(out, "  | {}", escape(line));
    }
    for reviewer in live {
        for line in strings(reviewer, "last_words") {
            let _ = writeln!(out, "  | {}: {}", text(reviewer, "reviewer_id"), escape(line));
        }
    }
    for (title, rows) in [("live", live), ("ended", rows(pool, "ended"))] {
        if !rows.is_empty() {
            let lines: Vec<_> = rows.iter().map(line).collect();
            let _ = write!(out, "\n{title}\n{}", table(HEAD, &lines));
        }
    }
    out
}

const HEAD: [&str; 9] = ["REVIEWER", "STATE", "PROJECT", "DONE", "APPROVED", "CHANGES", "REJECTED", "AVERAGE", "COST"];

fn line(reviewer: &Value) -> [String; 9] {
    let number = |key: &str| reviewer[key].as_u64().unwrap_or_default().to_string();
    let state = match (strings(reviewer, "reviews").as_slice(), reviewer["exit"].as_str()) {
        ([], None) => text(reviewer, "state"),
        // The end of a one-shot reviewer may be a whole sentence, which its log has in full.
        ([], Some(exit)) => clipped(exit, EXIT_CHARS),
        (reviews, _) => format!("{} {}", text(reviewer, "state"), reviews.join(" ")),
    };
    let seat = [text(reviewer, "project"), text(reviewer, "persona")];
    let project = seat.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("/");
    [
        text(reviewer, "reviewer_id"),
        state,
        project,
        number("completed"),
        number("approvals"),
        number("changes_requested"),
        number("rejections"),
        reviewer["average_ms"].as_u64().map(duration).unwrap_or_default(),
        cost(reviewer),
    ]
}

/// Dollars where the client knows them, else tokens.
fn cost(reviewer: &Value) -> String {
    match (reviewer["cost_usd"].as_f64(), reviewer["input_tokens"].as_u64(), reviewer["output_tokens"].as_u64()) {
        (Some(cost), _, _) => format!("${cost:.2}"),
        (None, Some(input), Some(output)) => format!("{input}+{output} tokens"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::pool;
    use serde_json::json;

    #[test]
    fn a_pool_reads_like_a_table() {
        let reviewer = |id: &str, state: &str| {
            json!({ "reviewer_id": id, "state": state, "project": "app", "completed": 3, "approvals": 2,
                    "changes_requested": 1, "rejections": 0, "average_ms": 61_500, "reviews": ["R-7"] })
        };
        let mut live = reviewer("codex-r2-a", "busy");
        live["last_words"] = json!(["waiting for network"]);
        let mut gone = reviewer("codex-r1-b", "ended");
        (gone["exit"], gone["reviews"], gone["cost_usd"]) = (json!("exit code 1"), json!([]), json!(0.5));
        let view = json!({
            "state": "crash_loop", "message": "mend it", "last_words": ["no\u{1b}[31m key"], "max_size": 3,
            "waiting": [{ "pending": 4 }, { "project": "app", "pending": 1 }],
            "reviewers": [live], "ended": [gone],
        });
        insta::assert_snapshot!(anstream::adapter::strip_str(&pool(&view)));
    }
}
