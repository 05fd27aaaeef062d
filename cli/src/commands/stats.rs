//! `countersign stats`: figures of the reviews of a period.

use crate::{
    Failure,
    client::rest::At,
    render::{ask, clipped, duration, local, number, rows, table, text},
};
use serde_json::{Value, json};
use std::fmt::Write as _;

const NAME_CHARS: usize = 40;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Only reviews submitted from then on: a time, a date (in UTC), or how long ago (24h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only reviews submitted before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Also for each reviewer, persona, category or day
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    #[command(flatten)]
    at: At,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let what = json!({ "project": args.project, "since": args.since, "until": args.until, "group_by": args.by });
    ask(args.at, "get_review_stats", what, shown).await
}

fn shown(stats: &Value) -> String {
    let reviews = &stats["reviews"];
    let between = [("from", "since"), ("to", "until")];
    let between = between.iter().filter(|(_, key)| stats[*key].is_string());
    let period: String = between.map(|(word, key)| format!(" {word} {}", local(stats, key))).collect();
    let mut out = format!("{} reviews{period}\n", number(reviews, "total"));
    for (title, key) in [("status", "by_status"), ("category", "by_category")] {
        let _ = writeln!(out, "  {title:9} {}", counts(&reviews[key]));
    }
    let ended = ["approved", "rejected", "cancelled"].map(|key| format!("{key} {}", number(reviews, key)));
    let _ = writeln!(out, "  ended     {}{}", ended.join(", "), rate(reviews, "approval_rate"));
    let rounds = &reviews["rounds"];
    let first = rate(reviews, "first_round_rate").replace("approved", "of those approved in the first round");
    let _ = writeln!(out, "  rounds    {} on average, {} at most{first}", rounds["mean"], rounds["max"]);
    out.push_str("\ntime to\n");
    out.push_str(&spans(reviews));
    out.push_str("\ntime in\n");
    out.push_str(&stays(reviews));
    let issues = &stats["issues"];
    let _ = writeln!(out, "\n{} issues, {} suggestions", number(issues, "total"), number(issues, "suggestions"));
    for (title, key) in [("severity", "by_severity"), ("became", "by_status")] {
        let _ = writeln!(out, "  {title:9} {}", counts(&issues[key]));
    }
    let _ = write!(out, "\nwork\n{}", table(HEAD, &[work("all", stats)]));
    groups(&mut out, stats);
    out
}

const HEAD: [&str; 9] = ["WHO", "VOTES", "APPROVED", "CHANGES", "REJECTED", "ISSUES", "AVERAGE", "TOKENS", "COST"];

fn work(name: &str, of: &Value) -> [String; 9] {
    let work = &of["work"];
    let count = |key: &str| number(work, key).to_string();
    [
        clipped(name, NAME_CHARS),
        count("votes"),
        count("approvals"),
        count("changes_requested"),
        count("rejections"),
        number(&of["issues"], "total").to_string(),
        work["average_ms"].as_u64().map(duration).unwrap_or_default(),
        format!("{}+{}", number(work, "input_tokens"), number(work, "output_tokens")),
        format!("${:.2}", work["cost_usd"].as_f64().unwrap_or_default()),
    ]
}

fn groups(out: &mut String, stats: &Value) {
    let groups = rows(stats, "groups");
    let by = text(stats, "group_by");
    if groups.iter().any(|group| group["reviews"].is_object()) {
        let line = |group: &Value| {
            let reviews = &group["reviews"];
            let median = |key: &str| reviews[key]["p50_ms"].as_u64().map(duration).unwrap_or_default();
            let name = clipped(group["group"].as_str().unwrap_or_default(), NAME_CHARS);
            let counted = ["total", "approved", "rejected", "cancelled"].map(|key| number(reviews, key).to_string());
            let [total, approved, rejected, cancelled] = counted;
            [name, total, approved, rejected, cancelled, median("time_to_first_claim"), median("time_to_decision")]
        };
        let head = ["WHICH", "REVIEWS", "APPROVED", "REJECTED", "CANCELLED", "TO CLAIM", "TO DECISION"];
        let lines: Vec<_> = groups.iter().map(line).collect();
        let _ = write!(out, "\nreviews by {by}\n{}", table(head, &lines));
    }
    if !groups.is_empty() {
        let line = |group: &Value| work(group["group"].as_str().unwrap_or_default(), group);
        let lines: Vec<_> = groups.iter().map(line).collect();
        let _ = write!(out, "\nwork by {by}\n{}", table(HEAD, &lines));
    }
    if let Some(more) = stats["more_groups"].as_u64() {
        let _ = writeln!(out, "  and {more} more");
    }
}

fn spans(reviews: &Value) -> String {
    let kinds = [
        ("first claim", "time_to_first_claim"),
        ("first verdict", "time_to_verdict"),
        ("decision", "time_to_decision"),
        ("close", "time_to_close"),
    ];
    let lines = kinds.map(|(name, key)| {
        let span = &reviews[key];
        let time = |key: &str| span[key].as_u64().map(duration).unwrap_or_default();
        let count = number(span, "count").to_string();
        [name.to_owned(), count, time("mean_ms"), time("p50_ms"), time("p90_ms"), time("max_ms")]
    });
    table(["", "REVIEWS", "MEAN", "MEDIAN", "90 %", "LONGEST"], &lines)
}

/// In the order of a review's life.
fn stays(reviews: &Value) -> String {
    let statuses = ["pending", "claimed", "in_review", "changes_requested", "approved", "rejected", "cancelled"];
    let lines = statuses.map(|status| {
        let stay = &reviews["time_in_status"][status];
        let mean = stay["mean_ms"].as_u64().map(duration).unwrap_or_default();
        [status.to_owned(), number(stay, "reviews").to_string(), mean, duration(number(stay, "total_ms"))]
    });
    table(["", "REVIEWS", "MEAN", "IN ALL"], &lines)
}

/// Those that are not zero.
fn counts(of: &Value) -> String {
    let counted = of.as_object().into_iter().flatten().filter(|(_, count)| count.as_u64() != Some(0));
    let words: Vec<_> = counted.map(|(word, count)| format!("{word} {count}")).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn rate(of: &Value, key: &str) -> String {
    of[key].as_f64().map(|rate| format!("; {:.0} % approved", rate * 100.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::shown;
    use serde_json::json;

    #[test]
    fn figures_read_like_tables() {
        let span = json!({ "count": 2, "mean_ms": 61_500, "p50_ms": 1_000, "p90_ms": 122_000, "max_ms": 122_000 });
        let reviews = json!({
            "total": 3, "by_status": { "pending": 1, "closed": 2, "claimed": 0 }, "by_category": { "none": 3 },
            "approved": 2, "rejected": 0, "cancelled": 0, "approval_rate": 1.0, "first_round_rate": 0.5,
            "rounds": { "mean": 1.333, "max": 2 }, "time_to_first_claim": span, "time_to_verdict": span,
            "time_to_decision": span, "time_to_close": { "count": 0 },
            "time_in_status": { "pending": { "reviews": 3, "total_ms": 9_000, "mean_ms": 3_000 } },
        });
        let work = json!({ "votes": 2, "approvals": 2, "average_ms": 5_000, "input_tokens": 10, "output_tokens": 1,
                           "cost_usd": 0.25 });
        let issues = json!({ "total": 1, "suggestions": 0, "by_severity": { "high": 1 }, "by_status": { "fixed": 1 } });
        let day = json!({ "group": "2026-11-16", "reviews": reviews, "work": work, "issues": issues });
        let stats = json!({ "reviews": reviews, "work": work, "issues": issues, "group_by": "day", "groups": [day],
                            "more_groups": 2 });
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown(&stats)));
    }
}
