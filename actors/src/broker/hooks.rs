//! How far each webhook has been told of the log, for those who deliver and those who look after it.

use super::{Answer, Broker};
use crate::{error::BrokerError, gateway::GatewayMessage, submission::unreadable};
use domain::time::Timestamp;
use store::{DeadDelivery, EventRecord, WebhookChange, WebhookRow, WebhookStep};
use tokio::sync::oneshot;

impl Broker {
    /// Every webhook that was ever configured.
    pub async fn hooks(&self) -> Answer<Vec<WebhookRow>> {
        self.0.context.reader.list_webhooks().await.map_err(unreadable)
    }

    /// Makes a step of a webhook durable: how many rows it touched.
    pub async fn note_hook(&self, hook: &str, step: WebhookStep) -> Answer<u64> {
        let (done, noted) = oneshot::channel();
        let change = Box::new(WebhookChange { webhook: hook.to_owned(), step });
        self.0.context.gateway.send(GatewayMessage::Note { change, done });
        let noted = noted.await.map_err(|_| self.0.context.dropped_reply())?;
        noted.map_err(|error| BrokerError::NotSaved { why: error.to_string() })
    }

    /// What a webhook could not be told, after this place in the log.
    pub async fn dead_deliveries(&self, hook: &str, after: u64, limit: u32) -> Answer<Vec<DeadDelivery>> {
        self.0.context.reader.list_dead_deliveries(hook, after, limit).await.map_err(unreadable)
    }

    /// The first of those that is to be tried again, with what it says.
    pub async fn dead_to_try(&self, hook: &str) -> Answer<Option<EventRecord>> {
        let Some(seq) = self.0.context.reader.find_delivery_to_retry(hook).await.map_err(unreadable)? else {
            return Ok(None);
        };
        let page = self.list_events(seq.saturating_sub(1), None, 1).await?;
        Ok(page.into_iter().find(|record| record.seq == seq))
    }

    /// The time, as the log has it.
    pub fn wall_clock(&self) -> Timestamp {
        self.0.context.clock.now().at
    }
}
