//! `countersign webhooks`: lists webhooks and handles deliveries that failed.

use crate::{
    CliError,
    client::BrokerArgs,
    render::{execute_and_print, format_local, next_page, table},
};
use api::{
    Operation,
    operation::NoArguments,
    operation::{DropDeadDeliveries, ListDeadDeliveries, ListWebhooks, Redeliver},
    webhooks::{
        DeadDeliveriesRequest, DeadDeliveriesResponse, DeadDelivery, ListDeadDeliveriesRequest,
        ListDeadDeliveriesResponse, ListWebhooksResponse, Webhook,
    },
};
use clap::Subcommand;
use domain::text::escape;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the webhooks with the state of their deliveries
    List(BrokerArgs),
    /// List the events that could not be delivered to a webhook
    Dead {
        /// Name of the webhook
        name: String,
        /// Maximum number of rows
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        /// Continue after an earlier page: its next_cursor
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Retry failed deliveries
    Redeliver(Selection),
    /// Drop failed deliveries; the events stay in the log
    Drop(Selection),
}

#[derive(Debug, clap::Args)]
pub struct Selection {
    /// Name of the webhook
    name: String,
    /// Sequence numbers of events, as listed by `dead`
    #[arg(value_name = "SEQ", required_unless_present = "all", conflicts_with = "all")]
    seqs: Vec<u64>,
    /// Select all failed deliveries of the webhook
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::List(broker) => {
            execute_and_print::<ListWebhooks>(&broker.connect().await?, &NoArguments {}, render).await
        }
        Command::Dead { name, limit, cursor, broker } => {
            let request = ListDeadDeliveriesRequest { webhook: name, limit: Some(limit), cursor };
            execute_and_print::<ListDeadDeliveries>(&broker.connect().await?, &request, render_dead).await
        }
        Command::Redeliver(selection) => change::<Redeliver>(selection, "will be tried again").await,
        Command::Drop(selection) => change::<DropDeadDeliveries>(selection, "dropped").await,
    }
}

async fn change<O>(selection: Selection, what: &str) -> Result<(), CliError>
where
    O: Operation<Request = DeadDeliveriesRequest, Response = DeadDeliveriesResponse>,
{
    let Selection { name, seqs, all, broker } = selection;
    let request = DeadDeliveriesRequest { webhook: name, seqs: (!all).then_some(seqs), all: all.then_some(true) };
    let render = |response: &DeadDeliveriesResponse| format!("{} {what}\n", response.count);
    execute_and_print::<O>(&broker.connect().await?, &request, render).await
}

fn render(response: &ListWebhooksResponse) -> String {
    if response.webhooks.is_empty() {
        return "no webhooks; see [webhooks] in the settings\n".to_owned();
    }
    let line = |webhook: &Webhook| {
        let text = |text: &Option<String>| escape(text.as_deref().unwrap_or_default()).into_owned();
        let events = escape(&webhook.events.join(" ")).into_owned();
        let state = match (webhook.configured, &webhook.failing) {
            (false, _) => "not configured".to_owned(),
            (true, Some(_)) => format!("failing: {}", text(&webhook.last_error)),
            (true, None) => "ok".to_owned(),
        };
        let last_delivery =
            webhook.last_delivery.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok()).map(format_local);
        [
            escape(&webhook.name).into_owned(),
            text(&webhook.url),
            if events.is_empty() { "all".to_owned() } else { events },
            webhook.cursor.to_string(),
            webhook.lag.to_string(),
            webhook.dead.to_string(),
            last_delivery.unwrap_or_default(),
            state,
        ]
    };
    table(
        ["NAME", "URL", "EVENTS", "CURSOR", "LAG", "DEAD", "LAST DELIVERY", "STATE"],
        response.webhooks.iter().map(line),
    )
}

fn render_dead(response: &ListDeadDeliveriesResponse) -> String {
    if response.dead.is_empty() {
        return "no failed deliveries\n".to_owned();
    }
    let line = |dead: &DeadDelivery| {
        [
            dead.seq.to_string(),
            format_local(dead.at),
            escape(&dead.kind).into_owned(),
            dead.number.map(|number| number.to_string()).unwrap_or_default(),
            dead.attempts.to_string(),
            escape(&dead.last_error).into_owned(),
            if dead.waiting { "waits for a retry".to_owned() } else { String::new() },
        ]
    };
    let table = table(["SEQ", "AT", "KIND", "REVIEW", "ATTEMPTS", "LAST ERROR", ""], response.dead.iter().map(line));
    table + &next_page(response.next_cursor.as_deref())
}
