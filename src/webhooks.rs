//! Webhooks: sends events to the receivers from the settings as signed POST requests. Each webhook follows the event
//! log on its own (docs/adr/0017-webhooks-follow-the-log.md), so a slow receiver delays neither another one nor the broker.

mod delivery;
mod signing_secret;
mod worker;

use actors::{Broker, BrokerError};
use anyhow::Context as _;
use api::webhooks::Webhook;
use config::{Config, Receiver};
use delivery::{Endpoint, HttpClient, RetryPolicy};
use prometheus_client::metrics::{counter::Counter, family::Family};
use signing_secret::Secret;
use std::{sync::Arc, time::Duration};
use store::{DeliverySelector, WebhookRow, WebhookStep};
use tokio_util::task::TaskTracker;
use worker::Worker;

/// Counts deliveries by webhook and outcome: `delivered`, `failed` (one attempt) or `dead`.
pub(crate) type Deliveries = Family<[(&'static str, String); 2], Counter>;

/// All webhooks of one broker. Cheap to clone.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    broker: Broker,
    workers: Vec<Arc<Worker>>,
    tasks: TaskTracker,
    deliveries: Deliveries,
}

impl Webhooks {
    /// Starts one worker per receiver. Each continues at its stored cursor; a new one starts at the end of the log.
    pub fn start(broker: &Broker, config: &Config) -> anyhow::Result<Self> {
        let (tasks, deliveries) = (TaskTracker::new(), Deliveries::default());
        let settings = &config.webhooks;
        let retry = RetryPolicy { max_attempts: settings.attempts, first_delay: settings.first_pause };
        let mut workers = Vec::new();
        if !settings.receivers.is_empty() {
            let tls = settings.receivers.iter().any(|receiver| receiver.url.starts_with("https:"));
            let client = Arc::new(HttpClient::new(tls).context("webhooks: cannot load the system's certificates")?);
            for receiver in &settings.receivers {
                let context = || format!("webhooks: receiver {}", receiver.name);
                let endpoint = Endpoint {
                    url: receiver.url.parse().context("invalid url").with_context(context)?,
                    secret: load_secret(broker, receiver, config).with_context(context)?,
                    client: Arc::clone(&client),
                    timeout: settings.timeout,
                };
                let worker = Worker::new(broker.clone(), receiver, endpoint, retry, deliveries.clone());
                workers.push(Arc::new(worker));
            }
        }
        for worker in &workers {
            tasks.spawn(Arc::clone(worker).run());
        }
        tasks.close();
        Ok(Self(Arc::new(Inner { broker: broker.clone(), workers, tasks, deliveries })))
    }

    /// Waits until every worker has saved its cursor, at most `timeout`. Workers begin to end when the broker does.
    pub async fn ended(&self, timeout: Duration) {
        if tokio::time::timeout(timeout, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("webhooks did not end within the grace period; some events may be sent twice");
        }
    }

    pub(crate) fn deliveries(&self) -> Deliveries {
        self.0.deliveries.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.workers.is_empty()
    }

    /// Whether a receiver did not accept an event, which will be sent again.
    pub(crate) fn is_retrying(&self) -> bool {
        self.0.workers.iter().any(|worker| worker.webhook(0, 0).failing.is_some())
    }

    /// All configured webhooks, and those that are no longer configured but have dead deliveries.
    pub(crate) async fn list(&self) -> Result<Vec<Webhook>, BrokerError> {
        let rows = self.0.broker.reader().list_webhooks().await?;
        let head = *self.0.broker.feed().committed.borrow();
        let dead = |name: &str| rows.iter().find(|row| row.name == name).map_or(0, |row| row.dead);
        let mut webhooks: Vec<_> =
            self.0.workers.iter().map(|worker| worker.webhook(dead(worker.name()), head)).collect();
        for WebhookRow { name, cursor, dead, .. } in rows {
            if dead > 0 && self.find(&name).is_none() {
                let lag = head.saturating_sub(cursor);
                webhooks.push(Webhook { name, cursor, lag, dead, ..Webhook::default() });
            }
        }
        Ok(webhooks)
    }

    /// The project of a configured webhook; `None` if no webhook of this name is configured.
    pub(crate) fn project_of(&self, name: &str) -> Option<Option<String>> {
        self.find(name).map(|worker| worker.webhook(0, 0).project)
    }

    /// Requests another attempt for dead deliveries. Returns their number.
    pub(crate) async fn redeliver(&self, name: &str, selector: DeliverySelector) -> Result<u64, BrokerError> {
        let count = self.0.broker.update_webhook(name, WebhookStep::RetryDead(selector)).await?;
        if let Some(worker) = self.find(name) {
            worker.request_retry();
        }
        Ok(count)
    }

    /// Removes dead deliveries. Returns their number.
    pub(crate) async fn drop_dead(&self, name: &str, selector: DeliverySelector) -> Result<u64, BrokerError> {
        self.0.broker.update_webhook(name, WebhookStep::RemoveDead(selector)).await
    }

    fn find(&self, name: &str) -> Option<&Arc<Worker>> {
        self.0.workers.iter().find(|worker| worker.name() == name)
    }
}

fn load_secret(broker: &Broker, receiver: &Receiver, config: &Config) -> anyhow::Result<Secret> {
    if let Some(project) = &receiver.project {
        broker.known_project(project)?;
    }
    match &receiver.secret_file {
        Some(file) => Secret::load_or_create(file),
        None => Secret::load_or_create_in(&config.server.data_dir.webhook_secrets(), &receiver.name),
    }
}
