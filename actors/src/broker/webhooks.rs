//! Delivery state of webhooks.

use super::{Answer, Broker};
use crate::{error::BrokerError, gateway::GatewayMessage, submission::unreadable};
use domain::time::Timestamp;
use store::{DeadDelivery, EventRecord, WebhookChange, WebhookRow, WebhookStep};
use tokio::sync::oneshot;

impl Broker {
    /// Every webhook that is or was configured.
    pub async fn list_webhooks(&self) -> Answer<Vec<WebhookRow>> {
        self.0.context.reader.list_webhooks().await.map_err(unreadable)
    }

    /// Writes a step of a webhook and returns the number of rows that changed.
    pub async fn update_webhook(&self, webhook: &str, step: WebhookStep) -> Answer<u64> {
        let (done, noted) = oneshot::channel();
        let change = Box::new(WebhookChange { webhook: webhook.to_owned(), step });
        self.0.context.gateway.send(GatewayMessage::Note { change, done });
        let noted = noted.await.map_err(|_| self.0.context.dropped_reply())?;
        noted.map_err(|error| BrokerError::NotSaved { why: error.to_string() })
    }

    /// Dead deliveries of a webhook after event `after`.
    pub async fn list_dead_deliveries(&self, webhook: &str, after: u64, limit: u32) -> Answer<Vec<DeadDelivery>> {
        self.0.context.reader.list_dead_deliveries(webhook, after, limit).await.map_err(unreadable)
    }

    /// The first dead delivery for which another attempt was requested.
    pub async fn find_delivery_to_retry(&self, webhook: &str) -> Answer<Option<EventRecord>> {
        let Some(seq) = self.0.context.reader.find_delivery_to_retry(webhook).await.map_err(unreadable)? else {
            return Ok(None);
        };
        let page = self.list_events(seq.saturating_sub(1), None, 1).await?;
        Ok(page.into_iter().find(|record| record.seq == seq))
    }

    /// The current time.
    pub fn wall_clock(&self) -> Timestamp {
        self.0.context.clock.now().at
    }
}
