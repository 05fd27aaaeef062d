//! What the database is told of a hook: where it begins, how far it came, what it could not be told.

use super::hook::Hook;
use std::time::Duration;
use store::WebhookStep;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// How far a hook came is written this often and not for every event: each is a sync of the disk. What was delivered
/// since is delivered again after a crash.
pub(super) const SAVE_EVERY: Duration = Duration::from_secs(1);

/// So far it may come without a delivery before that is written.
const SAVE_AFTER: u64 = 1000;

/// Before the database is asked again when that failed.
pub(super) const RETRY: Duration = Duration::from_secs(1);

impl Hook {
    /// Finds its place, or begins here. `false`: the broker ends.
    pub(super) async fn begin(&self) -> bool {
        let step = WebhookStep::Register { source: Uuid::new_v4().simple().to_string(), cursor: self.cursor() };
        if !self.note(step).await {
            return false;
        }
        loop {
            match self.broker.hooks().await {
                Ok(rows) => {
                    let Some(row) = rows.into_iter().find(|row| row.name == self.name) else { return false };
                    let mut live = self.lock();
                    (live.source, live.cursor, live.saved) = (row.source, row.cursor, row.cursor);
                    return true;
                }
                Err(error) => tracing::error!(hook = self.name, %error, "the place of a webhook cannot be read"),
            }
            if !self.paused(RETRY).await {
                return false;
            }
        }
    }

    pub(super) async fn save_if_due(&self) {
        let is_due = {
            let live = self.lock();
            let far = live.cursor.saturating_sub(live.saved) >= SAVE_AFTER;
            live.unsaved.map_or(far, |since| since.elapsed() >= SAVE_EVERY)
        };
        if is_due {
            self.save().await;
        }
    }

    pub(super) async fn save(&self) {
        let cursor = {
            let mut live = self.lock();
            // The dead take the cursor along.
            if live.cursor == live.saved {
                live.unsaved = None;
                return;
            }
            live.cursor
        };
        let noted = self.broker.note_hook(&self.name, WebhookStep::Advance { cursor }).await;
        let mut live = self.lock();
        match noted {
            Ok(_) => (live.saved, live.unsaved) = (cursor, None),
            Err(error) => {
                tracing::warn!(hook = self.name, %error, "how far a webhook came is not noted");
                // Later, and not at once.
                live.unsaved = Some(Instant::now());
            }
        }
    }

    /// Writes a step that must not be lost. `false`: the broker ends first.
    pub(super) async fn note(&self, step: WebhookStep) -> bool {
        loop {
            match self.broker.note_hook(&self.name, step.clone()).await {
                Ok(_) => return true,
                Err(error) => {
                    tracing::error!(hook = self.name, %error, "a step of a webhook is not noted; trying again")
                }
            }
            if !self.paused(RETRY).await {
                return false;
            }
        }
    }

    /// `false`: the broker ends.
    pub(super) async fn paused(&self, pause: Duration) -> bool {
        tokio::select! {
            () = sleep(pause) => true,
            () = self.closing.cancelled() => false,
        }
    }
}
