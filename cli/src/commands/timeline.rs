//! `countersign timeline`: what has happened to one review.

use crate::{
    Failure,
    client::pagination as whole,
    client::rest::{At, Remote},
    render::{clipped, duration, local, number, print, rows, text},
    review_arg as which,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

const TEXT_CHARS: usize = 160;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// R-12, its id, or the beginning of it
    review: String,
    #[command(flatten)]
    at: At,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let json = args.at.json;
    let broker = Remote::find(args.at).await?;
    let whole = whole::timeline(&broker, json!({ "review_id": which::id(&args.review) })).await?;
    print(json, &whole, shown)
}

fn shown(timeline: &Value) -> String {
    let head = (text(timeline, "number"), text(timeline, "status"), duration(number(timeline, "took_ms")));
    let mut out = format!("{} {}, {} from the first event to the last\n", head.0, head.1, head.2);
    for round in rows(timeline, "rounds") {
        let _ = writeln!(out, "\nround {}", round["round"]);
        for event in rows(round, "events") {
            let waited = event["after_ms"].as_u64().map(|ms| format!("+{}", duration(ms))).unwrap_or_default();
            let _ = writeln!(out, "  {}  {waited:>8}  {}", local(event, "at"), line(event));
            for detail in details(event) {
                let _ = writeln!(out, "  {:31}{detail}", "");
            }
        }
    }
    out
}

/// Who did what, and what the review is since then.
fn line(event: &Value) -> String {
    let actor = event["actor"].as_str().map_or_else(|| "(broker)".to_owned(), |_| text(event, "actor"));
    let mut words = vec![actor, text(event, "kind")];
    for key in ["verdict", "ended", "counter_patch", "sender_role"] {
        words.extend(event[key].as_str().map(|_| text(event, key)));
    }
    if let Some(persona) = event["persona"].as_str() {
        words.push(format!("[{}]", clipped(persona, TEXT_CHARS)));
    }
    if let Some(ms) = event["held_ms"].as_u64() {
        words.push(format!("after {}", duration(ms)));
    }
    format!("{} -> {}", words.join(" "), text(event, "status"))
}

fn details(event: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for key in ["intent", "reason", "summary", "body", "note"] {
        lines.extend(event[key].as_str().map(|text| format!("{key}: {}", clipped(text, TEXT_CHARS))));
    }
    for raised in rows(event, "raised") {
        let place = raised["file"].as_str().map(|file| format!(" ({})", clipped(file, TEXT_CHARS))).unwrap_or_default();
        let title = clipped(raised["title"].as_str().unwrap_or_default(), TEXT_CHARS);
        lines.push(format!("{} {}: {title}{place}", text(raised, "issue_id"), text(raised, "severity")));
    }
    for settled in rows(event, "settled") {
        let became = if settled["status"].is_string() { text(settled, "status") } else { text(settled, "said") };
        lines.push(format!("{} {became}", text(settled, "issue_id")));
    }
    if let Some(cost) = event["metrics"]["cost_usd"].as_f64() {
        lines.push(format!("cost: ${cost:.2}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::client::pagination::join;
    use serde_json::json;

    #[test]
    fn a_story_reads_round_by_round() {
        let mut whole = json!({
            "number": "R-7", "status": "approved", "took_ms": 61_500, "next_cursor": "2",
            "rounds": [{ "round": 1, "events": [
                { "at": "?", "kind": "proposed", "actor": "eve", "status": "pending", "intent": "two\nlines \u{202e}" },
                { "at": "?", "after_ms": 1_000, "kind": "claimed", "actor": "ada", "status": "claimed", "persona": "general" },
            ] }],
        });
        join(
            &mut whole,
            json!({ "rounds": [
            { "round": 1, "events": [{
                "at": "?", "after_ms": 60_500, "kind": "verdict_given", "actor": "ada", "status": "changes_requested",
                "persona": "general", "verdict": "changes_requested", "reason": "no", "held_ms": 60_500,
                "metrics": { "cost_usd": 0.5 },
                "raised": [{ "issue_id": "I-1", "severity": "high", "title": "wrong", "file": "a.rs" }],
            }] },
            { "round": 2, "events": [{ "at": "?", "kind": "revised", "actor": "eve", "status": "pending" },
                                     { "at": "?", "kind": "claim_ended", "status": "pending", "ended": "lease_expired" }] },
        ] }),
        );
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown(&whole)));
    }
}
