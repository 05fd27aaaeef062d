//! The state of a webhook's worker, and how operators see it.

use super::worker::Worker;
use api::webhooks::{FailingDelivery, Webhook};
use store::WebhookRow;
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct WorkerStatus {
    /// Part of every message id. Empty until the worker is registered.
    pub(super) source: String,
    pub(super) cursor: u64,
    pub(super) saved_cursor: u64,
    /// When the first delivery was made after the cursor was last saved.
    pub(super) unsaved_since: Option<Instant>,
    pub(super) delivered_at: Option<String>,
    pub(super) failing: Option<FailingDelivery>,
    pub(super) last_error: Option<String>,
}

/// A webhook that is no longer configured and still has dead deliveries.
pub(super) fn removed_webhook(row: WebhookRow, head: u64) -> Webhook {
    Webhook {
        name: row.name,
        url: None,
        events: Vec::new(),
        project: None,
        configured: false,
        cursor: row.cursor,
        lag: head.saturating_sub(row.cursor),
        dead: row.dead,
        last_delivery: None,
        last_error: None,
        failing: None,
    }
}

impl Worker {
    /// `head` is the last event of the log.
    pub(super) fn webhook(&self, row: Option<WebhookRow>, head: u64) -> Webhook {
        let status = self.status();
        let is_registered = !status.source.is_empty();
        Webhook {
            name: self.receiver.name.clone(),
            url: Some(self.receiver.origin()),
            events: self.receiver.events.clone(),
            project: self.receiver.project.clone(),
            configured: true,
            cursor: status.cursor,
            lag: if is_registered { head.saturating_sub(status.cursor) } else { 0 },
            dead: row.map_or(0, |row| row.dead),
            last_delivery: status.delivered_at.clone(),
            last_error: status.last_error.clone(),
            failing: status.failing.clone(),
        }
    }
}
