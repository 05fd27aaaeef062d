//! Webhooks: receivers from the settings are told of events by signed POSTs. Each follows the log by itself
//! (docs/adr/0017-webhooks-follow-the-log.md), so none waits for another, and nobody who calls the broker for any.

mod attempt;
mod hook;
mod live;
mod notes;
mod pace;
mod secret;
mod signature;

use crate::{events::EventFilter, outbound::Outbound};
use actors::{Broker, BrokerError};
use anyhow::Context as _;
use api::webhooks::Webhook;
use config::{Config, Receiver};
use hook::Hook;
use pace::Pace;
use prometheus_client::metrics::{counter::Counter, family::Family};
use secret::Secret;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use store::{DeadDelivery, DeliverySelector, WebhookRow, WebhookStep};
use tokio_util::task::TaskTracker;

/// The hook's name, and `delivered`, `failed` (one attempt) or `dead`.
pub(crate) type Deliveries = Family<[(&'static str, String); 2], Counter>;

/// All webhooks of one broker. Cheap to clone.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    broker: Broker,
    hooks: Vec<Arc<Hook>>,
    tasks: TaskTracker,
    deliveries: Deliveries,
}

impl Webhooks {
    /// Starts to deliver, from where each receiver was left; one that is new hears what comes from now on.
    pub fn start(broker: &Broker, config: &Config) -> anyhow::Result<Self> {
        let (tasks, deliveries) = (TaskTracker::new(), Deliveries::default());
        let settings = &config.webhooks;
        let pace = Pace { attempts: settings.attempts, first: settings.first_pause, timeout: settings.timeout };
        let mut hooks = Vec::new();
        if !settings.receivers.is_empty() {
            let tls = settings.receivers.iter().any(|receiver| receiver.url.starts_with("https:"));
            let outbound = Arc::new(Outbound::new(tls).context("webhooks: the system's certificates")?);
            for receiver in &settings.receivers {
                let secret = prepared(broker, receiver, config);
                let secret = secret.with_context(|| format!("webhooks: receiver {}", receiver.name))?;
                let filter = EventFilter::for_webhook(receiver.project.clone(), receiver.events.clone());
                let (broker, outbound) = (broker.clone(), Arc::clone(&outbound));
                let hook = Hook::new(broker, receiver, filter, secret, outbound, pace, deliveries.clone());
                hooks.push(Arc::new(hook?));
            }
        }
        for hook in &hooks {
            tasks.spawn(Arc::clone(hook).follow());
        }
        tasks.close();
        Ok(Self(Arc::new(Inner { broker: broker.clone(), hooks, tasks, deliveries })))
    }

    /// Waits, at most so long, until every hook has noted how far it came. They begin to end when the broker does.
    pub async fn ended(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("webhooks were still at work when the grace ended; some events may be sent twice");
        }
    }

    pub(crate) fn deliveries(&self) -> Deliveries {
        self.0.deliveries.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.hooks.is_empty()
    }

    /// All that are configured, and those that were and have left something behind.
    pub(crate) async fn list(&self) -> Result<Vec<Webhook>, BrokerError> {
        let mut rows: BTreeMap<String, WebhookRow> =
            self.0.broker.hooks().await?.into_iter().map(|row| (row.name.clone(), row)).collect();
        let head = *self.0.broker.committed().borrow();
        let live: Vec<_> = self.0.hooks.iter().map(|hook| hook.view(rows.remove(hook.name()), head)).collect();
        let left = rows.into_values().filter(|row| row.dead > 0).map(|row| live::unconfigured(row, head));
        Ok(live.into_iter().chain(left).collect())
    }

    /// Whether it is there, and which project it is for; `None` of one that is not configured any more.
    pub(crate) fn project_of(&self, name: &str) -> Option<Option<&str>> {
        self.find(name).map(|hook| hook.project())
    }

    pub(crate) async fn dead(&self, name: &str, after: u64, limit: u32) -> Result<Vec<DeadDelivery>, BrokerError> {
        self.0.broker.dead_deliveries(name, after, limit).await
    }

    /// Has some of the dead tried once more, soon: how many.
    pub(crate) async fn redeliver(&self, name: &str, which: DeliverySelector) -> Result<u64, BrokerError> {
        let count = self.0.broker.note_hook(name, WebhookStep::RetryDead(which)).await?;
        if let Some(hook) = self.find(name) {
            hook.wake();
        }
        Ok(count)
    }

    /// Forgets some of the dead: how many.
    pub(crate) async fn drop_dead(&self, name: &str, which: DeliverySelector) -> Result<u64, BrokerError> {
        self.0.broker.note_hook(name, WebhookStep::RemoveDead(which)).await
    }

    fn find(&self, name: &str) -> Option<&Arc<Hook>> {
        self.0.hooks.iter().find(|hook| hook.name() == name)
    }
}

fn prepared(broker: &Broker, receiver: &Receiver, config: &Config) -> anyhow::Result<Secret> {
    if let Some(project) = &receiver.project {
        broker.known_project(project)?;
    }
    match &receiver.secret_file {
        Some(file) => Secret::read_or_make(file),
        None => Secret::read_or_make_in(&config.server.data_dir.webhook_secrets(), &receiver.name),
    }
}
