//! What is known of a hook now, and how operators see it.

use super::hook::Hook;
use schemars::JsonSchema;
use serde::Serialize;
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
    pub(super) failing: Option<Failing>,
    pub(super) last_error: Option<String>,
}

/// An event that the receiver does not take.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Failing {
    pub(super) seq: u64,
    /// Of webhooks.attempts.
    pub(super) attempts: u32,
}

/// A webhook as operators see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookView {
    pub(crate) name: String,
    /// Without its path, which may be a secret. Left out of one that is not configured any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Kinds and types; empty: all.
    events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
    pub(crate) configured: bool,
    /// It has been told all that is for it up to this place in the log.
    cursor: u64,
    /// Events in the log after that, whether they are for it or not.
    pub(crate) lag: u64,
    /// Events it could not be told.
    pub(crate) dead: u64,
    /// When it last took one, in this run of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delivery: Option<String>,
    /// Why it last did not, in this run of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// What it is being told over and over.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<Failing>,
}

impl HookView {
    /// Of one that is not configured any more.
    pub(super) fn of_left(row: WebhookRow, head: u64) -> Self {
        Self {
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
}

impl Hook {
    pub(super) fn view(&self, row: Option<WebhookRow>, head: u64) -> HookView {
        let live = self.lock();
        let begun = !live.source.is_empty();
        HookView {
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
