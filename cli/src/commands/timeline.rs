//! `countersign timeline`: shows what happened to one review.

use crate::{
    CliError,
    client::pagination,
    client::rest::{BrokerArgs, Remote},
    render::{clipped, duration, format_local, print},
    review_arg as which,
};
use api::history::{TimelineEvent, TimelineResponse};
use domain::text::escape;
use std::fmt::Write as _;

const TEXT_COLUMNS: usize = 160;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Review to show: R-12, its id, or a prefix of the id
    review: String,
    #[command(flatten)]
    at: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let json = args.at.json;
    let broker = Remote::find(args.at).await?;
    print(json, &pagination::timeline(&broker, &which::id(&args.review)).await?, render)
}

fn render(timeline: &TimelineResponse) -> String {
    let TimelineResponse { number, status, took_ms, rounds, .. } = timeline;
    let mut out = format!("{number} {status}, {} from the first event to the last\n", duration(*took_ms));
    for round in rounds {
        let _ = writeln!(out, "\nround {}", round.round);
        for event in &round.events {
            let waited = event.after_ms.map(|ms| format!("+{}", duration(ms))).unwrap_or_default();
            let _ = writeln!(out, "  {}  {waited:>8}  {}", format_local(event.at), line(event));
            for detail in details(event) {
                let _ = writeln!(out, "  {:31}{detail}", "");
            }
        }
    }
    out
}

/// The actor, what it did, and the status of the review after it.
fn line(event: &TimelineEvent) -> String {
    let mut parts = vec![escape(event.actor.as_deref().unwrap_or("(broker)")).into_owned(), event.kind.to_string()];
    parts.extend(event.verdict.map(|verdict| verdict.to_string()));
    parts.extend(event.ended.map(|reason| reason.to_string()));
    parts.extend(event.counter_patch.as_deref().map(|action| escape(action).into_owned()));
    parts.extend(event.sender_role.map(|role| role.to_string()));
    parts.extend(event.persona.as_deref().map(|persona| format!("[{}]", clipped(persona, TEXT_COLUMNS))));
    parts.extend(event.held_ms.map(|ms| format!("after {}", duration(ms))));
    format!("{} -> {}", parts.join(" "), event.status)
}

fn details(event: &TimelineEvent) -> Vec<String> {
    let mut lines = Vec::new();
    let texts = [
        ("intent", &event.intent),
        ("reason", &event.reason),
        ("summary", &event.summary),
        ("body", &event.body),
        ("note", &event.note),
    ];
    for (name, text) in texts {
        lines.extend(text.as_ref().map(|text| format!("{name}: {}", clipped(text, TEXT_COLUMNS))));
    }
    for raised in &event.raised {
        let file = raised.file.as_ref().map(|file| format!(" ({})", clipped(file, TEXT_COLUMNS))).unwrap_or_default();
        let title = clipped(&raised.title, TEXT_COLUMNS);
        lines.push(format!("{} {}: {title}{file}", escape(&raised.issue_id), raised.severity));
    }
    for resolved in &event.settled {
        let requested = resolved.said.map(|requested| requested.to_string()).unwrap_or_default();
        let status = resolved.status.map_or(requested, |status| status.to_string());
        lines.push(format!("{} {status}", escape(&resolved.issue_id)));
    }
    if let Some(cost) = event.metrics.as_ref().and_then(|metrics| metrics.cost_usd) {
        lines.push(format!("cost: ${cost:.2}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::client::pagination::append_timeline;
    use api::history::TimelineResponse;
    use serde_json::{Value, json};

    fn page(rounds: Value) -> TimelineResponse {
        let at = "2026-11-16T10:00:00Z";
        serde_json::from_value(json!({
            "review_id": "00000000-0000-0000-0000-000000000007", "number": "R-7", "status": "approved",
            "current_round": 2, "created_at": at, "updated_at": at, "took_ms": 61_500, "rounds": rounds,
        }))
        .unwrap()
    }

    #[test]
    fn a_timeline_is_grouped_by_round() {
        let at = "2026-11-16T10:00:00Z";
        let mut timeline = page(json!([{ "round": 1, "events": [
            { "version": 1, "at": at, "kind": "proposed", "actor": "eve", "status": "pending",
              "intent": "two\nlines \u{202e}" },
            { "version": 2, "at": at, "after_ms": 1_000, "kind": "claimed", "actor": "ada", "status": "claimed",
              "persona": "general" },
        ] }]));
        append_timeline(
            &mut timeline,
            page(json!([
                { "round": 1, "events": [{
                    "version": 3, "at": at, "after_ms": 60_500, "kind": "verdict_given", "actor": "ada",
                    "status": "changes_requested", "persona": "general", "verdict": "changes_requested", "reason": "no",
                    "held_ms": 60_500, "metrics": { "cost_usd": 0.5 },
                    "raised": [{ "issue_id": "I-1", "severity": "high", "title": "wrong", "file": "a.rs" }],
                }] },
                { "round": 2, "events": [
                    { "version": 4, "at": at, "kind": "revised", "actor": "eve", "status": "pending" },
                    { "version": 5, "at": at, "kind": "claim_ended", "status": "pending", "ended": "lease_expired" },
                ] },
            ])),
        );
        let text = render(&timeline).lines().map(|line| line.replacen("2026-11-16 ", "", 1)).collect::<Vec<_>>();
        assert!(text.iter().all(|line| !line.contains('\u{202e}')), "{text:#?}");
        let has = |part: &str| assert!(text.iter().any(|line| line.contains(part)), "{part}: {text:#?}");
        assert_eq!(text[0], "R-7 approved, 1m 1s from the first event to the last");
        assert_eq!(text.iter().filter(|line| line.starts_with("round ")).count(), 2);
        has("eve proposed -> pending");
        has("intent: two\\nlines \\u{202e}");
        has("+1s  ada claimed [general] -> claimed");
        has("ada verdict_given changes_requested [general] after 1m 0s -> changes_requested");
        has("I-1 high: wrong (a.rs)");
        has("cost: $0.50");
        has("(broker) claim_ended lease_expired -> pending");
    }
}
