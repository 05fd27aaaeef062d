//! `countersign audit`: lists the log of events, with filters.

use crate::{
    CliError,
    client::pagination::collect,
    client::rest::{BrokerArgs, Remote},
    error::parse_variant,
    render::{format_local_short, next_page, print, table},
    review_arg as which,
};
use api::{
    ErrorCode,
    history::{AuditEntry, AuditRequest, AuditResponse},
    operation::GetAuditLog,
};
use domain::{event_kind::EventKind, query::EventOrder, text::escape};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show only events of this review: R-12, its id, or a prefix of the id
    #[arg(long, value_name = "REVIEW")]
    review: Option<String>,
    /// Show only events caused by this actor
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Show only events of this kind, such as verdict_given
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Show only events of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Show only events since a time, a date (in UTC), or an age (30m, 24h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show only events before a time, a date or an age
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Show the oldest events first
    #[arg(long)]
    oldest: bool,
    /// Maximum number of events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue after an earlier page: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    at: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let json = args.at.json;
    let request = AuditRequest {
        review_id: args.review.as_deref().map(which::id),
        actor: args.actor,
        kind: args
            .kind
            .as_deref()
            .map(|name| parse_variant("--kind", ErrorCode::UnknownKind, name, EventKind::parse, EventKind::ALL))
            .transpose()?,
        project: args.project,
        since: args.since,
        until: args.until,
        order: Some(if args.oldest { EventOrder::Oldest } else { EventOrder::Newest }),
        limit: None,
        cursor: None,
    };
    let broker = Remote::find(args.at).await?;
    let (events, next_cursor) = collect(args.limit, args.cursor, async |cursor, limit| {
        let page =
            broker.execute::<GetAuditLog>(&AuditRequest { cursor, limit: Some(limit), ..request.clone() }).await?;
        Ok((page.events, page.next_cursor))
    })
    .await?;
    print(json, &AuditResponse { events, next_cursor }, render)
}

fn render(log: &AuditResponse) -> String {
    let line = |event: &AuditEntry| {
        [
            event.seq.to_string(),
            format_local_short(event.at),
            event.number.map(|number| number.to_string()).unwrap_or_default(),
            event.kind.to_string(),
            escape(event.actor.as_deref().unwrap_or("(broker)")).into_owned(),
            event.status.map(|status| status.to_string()).unwrap_or_default(),
            escape(&event.detail).into_owned(),
        ]
    };
    let lines: Vec<_> = log.events.iter().map(line).collect();
    let table = table(["SEQ", "AT", "REVIEW", "KIND", "ACTOR", "STATUS", "WHAT"], &lines);
    table + &next_page(log.next_cursor.as_deref())
}
