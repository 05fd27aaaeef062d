//! The commands that print events: `timeline` of one review, `audit` log, recent `activity`, and `events` as they
//! happen.

use crate::{
    CliError,
    client::{
        BrokerArgs,
        event_stream::{EventQuery, ReceivedEvent},
        pagination::{PageArgs, collect},
    },
    completion,
    error::parse_variant,
    render::{
        clipped, duration, execute_and_print, format_age, format_local, format_local_short, hanging, next_page,
        one_line, print, table, table_with_text,
    },
    review_args, terminal,
};
use api::{
    event_history::{
        ActivityEntry, ActivityRequest, ActivityResponse, AuditEntry, AuditRequest, AuditResponse, EventRequest,
        TimelineEvent, TimelineResponse,
    },
    events::Event,
    operation::{ExportAuditLog, GetActivityFeed, GetAuditLog, GetEvent},
    pages,
};
use domain::{
    event_kind::EventKind,
    query_types::EventOrder,
    text::{escape, truncate},
};
use serde_json::Value;
use std::fmt::Write as _;

const TEXT_COLUMNS: usize = 160;
const PREVIEW_CHARS: usize = 100;

/// Filters of the commands about many reviews.
#[derive(Debug, clap::Args)]
pub(crate) struct PeriodArgs {
    /// Only this project
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
    pub project: Option<String>,
    /// Only since a time, a date (in UTC), or an age (30m, 24h, 7d)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only before a time, a date or an age
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

/// Filters of the commands about the events of many reviews.
#[derive(Debug, clap::Args)]
pub(crate) struct EventFilterArgs {
    /// Show only events of this review: R-12, its id, or a prefix of the id
    #[arg(long, value_name = "REVIEW", add = completion::reviews())]
    review: Option<String>,
    /// Show only events caused by this actor
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Show only events of these kinds, such as verdict_given,closed
    #[arg(long, value_name = "KINDS", value_delimiter = ',', add = completion::names::<EventKind>())]
    kind: Vec<String>,
    #[command(flatten)]
    period: PeriodArgs,
}

impl EventFilterArgs {
    fn request(self) -> Result<AuditRequest, CliError> {
        let kinds: Vec<_> =
            self.kind.iter().map(|kind| parse_variant("kind", kind)).collect::<Result<_, CliError>>()?;
        Ok(AuditRequest {
            review_id: self.review.as_deref().map(review_args::id),
            actor: self.actor,
            kind: (!kinds.is_empty()).then_some(kinds),
            project: self.period.project,
            since: self.period.since,
            until: self.period.until,
            ..AuditRequest::default()
        })
    }
}

#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    #[command(flatten)]
    filter: EventFilterArgs,
    /// Show the oldest events first
    #[arg(long)]
    oldest: bool,
    /// Show one event with its data
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["review", "actor", "kind", "project", "since", "until", "oldest"])]
    event: Option<u64>,
    /// Write every matching event as one line of JSON
    #[arg(long, conflicts_with_all = ["event", "limit", "cursor", "json"])]
    jsonl: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn audit(args: AuditArgs) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    if let Some(seq) = args.event {
        return execute_and_print::<GetEvent>(&client, &EventRequest { seq }, render_event).await;
    }
    let order = Some(if args.oldest { EventOrder::Oldest } else { EventOrder::Newest });
    let request = AuditRequest { order, ..args.filter.request()? };
    if args.jsonl {
        return client.download::<ExportAuditLog>(&request, terminal::write_raw).await;
    }
    let fetch =
        async |cursor, limit| client.execute::<GetAuditLog>(&AuditRequest { cursor, limit, ..request.clone() }).await;
    let log =
        collect(args.page.limit, args.page.cursor, fetch, |page| (&mut page.events, &mut page.next_cursor)).await?;
    print(client.json, &log, render_audit)
}

/// The event in one line, and its data. Agents wrote parts of it, so control characters are escaped.
fn render_event(event: &Event) -> String {
    let mut out = format!("{}\n", event_line(event));
    let data = serde_json::to_value(&event.data).unwrap_or_default();
    for (name, value) in data.get("data").and_then(Value::as_object).into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let head = format!("  {name}: ");
        out.push_str(&hanging(&head, "    ", &escape(&text)));
    }
    out
}

fn render_audit(log: &AuditResponse) -> String {
    let line = |event: &AuditEntry| {
        [
            event.seq.to_string(),
            format_local_short(event.at),
            event.number.map(|number| number.to_string()).unwrap_or_default(),
            event.kind.to_string(),
            escape(event.actor.as_deref().unwrap_or("(broker)")).into_owned(),
            event.status.map(|status| status.to_string()).unwrap_or_default(),
            audit_text(event),
        ]
    };
    let table =
        table_with_text(["SEQ", "AT", "REVIEW", "KIND", "ACTOR", "STATUS", "WHAT"], log.events.iter().map(line));
    table + &next_page(log.next_cursor.as_deref())
}

/// What happened, with the numbers that other tools know the claim and the process by.
fn audit_text(event: &AuditEntry) -> String {
    let claim = event.claim_generation.map(|generation| format!(" (claim {generation})")).unwrap_or_default();
    let pid = event.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    format!("{}{claim}{pid}", escape(&event.detail))
}

#[derive(Debug, clap::Args)]
pub struct ActivityArgs {
    #[command(flatten)]
    filter: EventFilterArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn activity(args: ActivityArgs) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let AuditRequest { review_id, actor, kind, project, since, until, .. } = args.filter.request()?;
    let request = ActivityRequest { review_id, actor, kind, project, since, until, ..ActivityRequest::default() };
    let fetch = async |cursor, limit| {
        client.execute::<GetActivityFeed>(&ActivityRequest { cursor, limit, ..request.clone() }).await
    };
    let feed =
        collect(args.page.limit, args.page.cursor, fetch, |page| (&mut page.entries, &mut page.next_cursor)).await?;
    print(client.json, &feed, render_activity)
}

fn render_activity(feed: &ActivityResponse) -> String {
    let line = |entry: &ActivityEntry| {
        let preview = entry.preview.as_deref().map(|preview| format!(": {}", one_line(preview)));
        let text = escape(&entry.text).into_owned() + &preview.unwrap_or_default();
        let number = entry.number.map(|number| number.to_string()).unwrap_or_default();
        [entry.seq.to_string(), format_age(entry.at), number, text]
    };
    table(["SEQ", "AGE", "REVIEW", "WHAT"], feed.entries.iter().map(line)) + &next_page(feed.next_cursor.as_deref())
}

#[derive(Debug, clap::Args)]
pub struct TimelineArgs {
    /// Review to show: R-12, its id, or a prefix of the id
    #[arg(add = completion::reviews())]
    review: String,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn timeline(args: TimelineArgs) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let timeline = pages::timeline(&client, &review_args::id(&args.review)).await?;
    print(client.json, &timeline, render_timeline)
}

fn render_timeline(timeline: &TimelineResponse) -> String {
    let TimelineResponse { number, status, took_ms, rounds, .. } = timeline;
    let mut out = format!("{number} {status}, {} from the first event to the last\n", duration(*took_ms));
    for round in rounds {
        let _ = writeln!(out, "\nround {}", round.round);
        for event in &round.events {
            let waited = event.after_ms.map(|ms| format!("+{}", duration(ms))).unwrap_or_default();
            let head = format!("  {:>4}  {}  {waited:>8}  ", event.version, format_local(event.at));
            let indent = " ".repeat(head.len() + 2);
            out.push_str(&hanging(&head, &indent, &line(event)));
            for detail in details(event) {
                out.push_str(&hanging(&indent, &indent, &detail));
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
        ("landed as", &event.landed_as),
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

#[derive(Debug, clap::Args)]
pub struct EventsArgs {
    /// Wait for further events, across restarts of the broker
    #[arg(long)]
    follow: bool,
    /// Start after this sequence number [default: the first event, or with --follow the next one]
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Show only events of this review: R-12, its id, or a prefix of the id
    #[arg(long, add = completion::reviews())]
    review: Option<String>,
    /// Show only events of this project
    #[arg(long, add = completion::projects())]
    project: Option<String>,
    /// Show only events of these kinds or types, separated by commas
    #[arg(long, add = completion::names::<EventKind>())]
    kind: Option<String>,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn events(args: EventsArgs) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let query = EventQuery {
        since: args.since.or((!args.follow).then_some(0)),
        review: args.review.as_deref().map(review_args::id),
        project: args.project,
        kind: args.kind,
        follow: args.follow,
    };
    let mut events = client.events(query).await?;
    while let Some(ReceivedEvent { event, json }) = events.next().await? {
        if client.json {
            terminal::write_json(&format!("{json}\n"))?;
        } else {
            terminal::write(&format!("{}\n", event_line(&event)))?;
        }
    }
    Ok(())
}

/// One line about an event. Agents wrote parts of it, so control characters are escaped.
fn event_line(event: &Event) -> String {
    let line = format!(
        "{:>7}  {:.3}  {:<7} {:<22} {:<17} {}  {}",
        event.seq,
        event.at,
        event.number.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        event.kind(),
        event.status.map_or("-", |status| status.as_str()),
        event.actor.as_deref().unwrap_or("-"),
        truncate(&event_text(event), PREVIEW_CHARS),
    );
    escape(line.trim_end()).to_string()
}

/// The text that the event is about. Events of the pool are described by a sentence.
pub(crate) fn event_text(event: &Event) -> String {
    let summary = || event.number.is_none().then(|| event.summary());
    event.preview().or_else(summary).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{event_line, render_timeline};
    use api::{event_history::TimelineResponse, pages::join_rounds};
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
        timeline.rounds.extend(
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
            ]))
            .rounds,
        );
        join_rounds(&mut timeline.rounds);
        let text =
            render_timeline(&timeline).lines().map(|line| line.replacen("2026-11-16 ", "", 1)).collect::<Vec<_>>();
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

    #[test]
    fn an_event_is_one_line_without_control_characters() {
        let event = json!({
            "seq": 7, "at": "2026-11-16T10:00:00.000Z", "type": "message_added", "review_id": null, "number": "R-1",
            "project": null, "actor": "second-mind", "status": "claimed", "round": 1, "version": 3,
            "kind": "message_added",
            "data": { "persona": "general", "role": "reviewer", "body": "two\nlines\u{1b}[31m", "requeued": false,
                      "escalate": false },
        });
        let line = event_line(&serde_json::from_value(event).unwrap());
        assert!(!line.contains('\n') && !line.contains('\u{1b}'), "{line:?}");
        assert!(line.starts_with("      7  2026-11-16T10:00:00.000Z  R-1     message_added "), "{line:?}");
    }
}
