//! Reading a review and waiting for a change. Neither uses its mailbox, and dropping the future ends a wait.

use super::{Answer, Broker};
use crate::{
    error::BrokerError,
    requests::{Wait, WaitResult},
    review::Snapshot,
    submission::unreadable,
};
use domain::{
    ids::ReviewId,
    review::{Review, Status},
};
use std::sync::Arc;
use tokio::sync::{SemaphorePermit, watch};
use tokio::time::Instant;

impl Broker {
    /// The review as last committed.
    pub async fn review(&self, id: ReviewId) -> Answer<Arc<Review>> {
        if let Some(mut snapshot) = self.watch(id, false).await?
            && let Some(review) = loaded(&mut snapshot, id).await?
        {
            return Ok(review);
        }
        let stored = self.0.context.reader.find_review(id).await.map_err(unreadable)?;
        stored.map(Arc::new).ok_or_else(|| BrokerError::UnknownReview { given: id.to_string() })
    }

    /// Returns when the review's version is above `since`. Without `since` it returns at once unless the review waits for
    /// reviewers, else at the next change.
    pub async fn wait_review(&self, id: ReviewId, wait: Wait) -> Answer<WaitResult> {
        let review = self.review(id).await?;
        let since = match wait.since {
            Some(since) => since,
            None if awaits_reviewer(&review) => review.version,
            None => return Ok(WaitResult { review, timed_out: false }),
        };
        if review.version > since || review.is_final() {
            return Ok(WaitResult { review, timed_out: false });
        }
        let _waiter = self.admit_waiter()?;
        let deadline = self.wait_until(wait);
        let mut last = review;
        loop {
            let Some(mut snapshot) = self.watch(id, true).await? else {
                return Err(BrokerError::Busy { what: "as many reviews are awake as reviews.max_live allows" });
            };
            tokio::select! {
                changed = newer(&mut snapshot, since) => match changed {
                    Some(review) => return Ok(WaitResult { review, timed_out: false }),
                    // Its actor was replaced, or the review is closed: read it again.
                    None => {
                        last = self.review(id).await?;
                        if last.version > since || last.is_final() {
                            return Ok(WaitResult { review: last, timed_out: false });
                        }
                    }
                },
                () = tokio::time::sleep_until(deadline) => break,
                () = self.0.context.closing.cancelled() => break,
            }
        }
        Ok(WaitResult { review: last, timed_out: true })
    }

    pub(super) fn admit_waiter(&self) -> Answer<SemaphorePermit<'_>> {
        self.0.waiters.try_acquire().map_err(|_| BrokerError::Busy { what: "too many calls are waiting" })
    }

    pub(super) fn wait_until(&self, wait: Wait) -> Instant {
        let settings = &self.0.context.settings;
        Instant::now() + wait.timeout.unwrap_or(settings.default_wait).min(settings.max_wait)
    }
}

/// Reviewers are expected to act, so a proposer has to wait.
fn awaits_reviewer(review: &Review) -> bool {
    matches!(review.status, Status::Pending | Status::Claimed | Status::InReview)
}

/// The snapshot of a live review after loading; `None` if the actor stopped before.
async fn loaded(snapshot: &mut watch::Receiver<Snapshot>, id: ReviewId) -> Answer<Option<Arc<Review>>> {
    let Ok(snapshot) = snapshot.wait_for(|snapshot| !matches!(snapshot, Snapshot::Loading)).await else {
        return Ok(None);
    };
    match &*snapshot {
        Snapshot::Ready(review) => Ok(Some(Arc::clone(review))),
        Snapshot::Unreadable(why) => Err(BrokerError::Unreadable { why: why.to_string() }),
        Snapshot::Missing => Err(BrokerError::UnknownReview { given: id.to_string() }),
        Snapshot::Loading => Ok(None),
    }
}

async fn newer(snapshot: &mut watch::Receiver<Snapshot>, since: u64) -> Option<Arc<Review>> {
    let is_newer = |snapshot: &Snapshot| matches!(snapshot, Snapshot::Ready(review) if review.version > since);
    match &*snapshot.wait_for(is_newer).await.ok()? {
        Snapshot::Ready(review) => Some(Arc::clone(review)),
        Snapshot::Loading | Snapshot::Missing | Snapshot::Unreadable(_) => None,
    }
}
