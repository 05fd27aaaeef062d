//! What is known of a hook now, and how operators see it.

use super::hook::Hook;
use api::webhooks::{FailingDelivery, Webhook};
use store::WebhookRow;
use tokio::time::Instant;

/// What a hook knows of itself.
#[derive(Default)]
pub(super) struct Live {
    /// Part of the ids of messages; empty until it is known.
    pub(super) source: String,
    pub(super) cursor: u64,
    pub(super) saved: u64,
    /// When the first delivery was made that is not written yet.
    pub(super) unsaved: Option<Instant>,
    pub(super) delivered_at: Option<String>,
    pub(super) failing: Option<FailingDelivery>,
    pub(super) last_error: Option<String>,
}

/// A webhook that is no longer configured and still has dead deliveries.
pub(super) fn unconfigured(row: WebhookRow, head: u64) -> Webhook {
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

impl Hook {
    pub(super) fn view(&self, row: Option<WebhookRow>, head: u64) -> Webhook {
        let live = self.lock();
        let begun = !live.source.is_empty();
        Webhook {
            name: self.name.clone(),
            url: Some(self.origin.clone()),
            events: self.events.clone(),
            project: self.project.clone(),
            configured: true,
            cursor: live.cursor,
            lag: if begun { head.saturating_sub(live.cursor) } else { 0 },
            dead: row.map_or(0, |row| row.dead),
            last_delivery: live.delivered_at.clone(),
            last_error: live.last_error.clone(),
            failing: live.failing.clone(),
        }
    }
}
