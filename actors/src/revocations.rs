//! Notices that a token or a session has ended, so that streams and waiting calls of its holder end too.

use crate::{Broker, Shared, credentials::ShownSecret};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

/// How often the database is read while a caller waits: `countersign token revoke` writes to it from another process.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Tells when the secrets that have ended are to be read again.
#[derive(Debug, Default)]
pub(crate) struct RevocationFeed(watch::Sender<()>);

impl RevocationFeed {
    /// Some secret has ended.
    pub(crate) fn notify(&self) {
        self.0.send_replace(());
    }
}

/// The secrets that end from now on.
pub struct Revocations {
    broker: Broker,
    changes: watch::Receiver<()>,
    /// Something has changed since the secret was last checked.
    is_check_due: bool,
}

impl Revocations {
    pub(crate) fn of(broker: Broker, feed: &RevocationFeed) -> Self {
        Self { broker, changes: feed.0.subscribe(), is_check_due: false }
    }
}

impl Revocations {
    /// Resolves when this secret is no longer valid. Cancel safe.
    pub async fn revoked(&mut self, secret: &ShownSecret) {
        loop {
            if !self.is_check_due && self.changes.changed().await.is_err() {
                // The broker has ended, and ends all calls.
                return std::future::pending().await;
            }
            self.is_check_due = true;
            match self.broker.is_still_valid(secret).await {
                Ok(false) => return,
                Ok(true) => self.is_check_due = false,
                Err(_) => tokio::time::sleep(CHECK_INTERVAL).await,
            }
        }
    }
}

/// Looks for secrets that have ended in the database until the broker stops.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut ticks = interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shared.closing.cancelled() => return,
        }
        if shared.revocations.0.receiver_count() == 0 {
            continue;
        }
        match shared.reader.count_ended_secrets().await {
            Ok(now) => {
                if last.replace(now) != Some(now) {
                    shared.revocations.notify();
                }
            }
            Err(error) => tracing::warn!(%error, "cannot look for revoked tokens"),
        }
    }
}
