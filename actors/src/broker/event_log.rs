//! Access to the event log for streams and webhooks, and the values that metrics report.

use super::{Answer, Broker};
use crate::{
    credentials::{Caller, SecretHash},
    metrics::Metrics,
    pool::PoolStatus,
    submission::unreadable,
};
use domain::{ids::ReviewNumber, priority::Priority};
use store::{EventRecord, LogFollower};
use tokio::sync::watch;

impl Broker {
    /// The sequence number of the last event. It wakes followers of the log.
    pub fn committed(&self) -> watch::Receiver<u64> {
        self.0.feed.committed.clone()
    }

    /// Follows the log behind the event `after`.
    pub fn follow_log(&self, after: u64, page_size: u32) -> LogFollower {
        LogFollower::new(self.0.context.reader.clone(), &self.0.feed, after, page_size)
    }

    /// At most `limit` events after `after`, of all reviews or of one. Only an empty page means that there are no more.
    pub async fn list_events(&self, after: u64, review: Option<ReviewNumber>, limit: u32) -> Answer<Vec<EventRecord>> {
        self.0.context.reader.list_events(after, review, limit).await.map_err(unreadable)
    }

    /// The broker's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.context.metrics
    }

    /// Seconds that each COMMIT took.
    pub fn sync_times(&self) -> prometheus_client::metrics::histogram::Histogram {
        self.0.feed.sync_times()
    }

    /// The number of claimable reviews by project and priority.
    pub async fn queue(&self) -> Answer<Vec<(Option<String>, Priority, u64)>> {
        self.0.context.reader.count_queue().await.map_err(unreadable)
    }

    /// The pool's status, from memory.
    pub async fn live_reviewers(&self) -> Answer<PoolStatus> {
        self.show_pool().await
    }

    /// Whether the token or credential with this hash is still valid.
    pub async fn is_still_known(&self, hash: &SecretHash) -> Answer<bool> {
        Ok(self.identify_hashed(hash).await?.is_some())
    }

    pub(super) async fn identify_hashed(&self, hash: &SecretHash) -> Answer<Option<Caller>> {
        if let Some(caller) = self.credentials().find_hashed(hash) {
            return Ok(Some(caller));
        }
        let token = self.0.context.reader.find_live_token(hash).await.map_err(unreadable)?;
        Ok(token.map(|token| Caller {
            authority: token.authority,
            scope: token.scope(),
            identity: token.identity,
            credential: None,
        }))
    }
}
