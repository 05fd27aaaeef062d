//! Starts the actor of a review when a lease or reservation ends and no actor runs to notice it, because the review was
//! idle or the broker was restarted. A running actor sets its own timer.

use crate::{Shared, mailbox::Mailbox, review::ReviewMessage, supervisor::SupervisorMessage};
use domain::time::Tick;
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};
use store::StoreError;
use tokio::sync::Notify;

const PAGE_ROWS: i64 = 500;

/// Wait before the next attempt if the database could not be read.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The deadlines of reviews without an actor.
pub(crate) struct DeadlineWatermark {
    /// The earliest deadline that was added and not handled yet.
    earliest: AtomicI64,
    /// No review without an actor has a later deadline.
    latest: AtomicI64,
    added: Notify,
}

impl Default for DeadlineWatermark {
    fn default() -> Self {
        Self { earliest: AtomicI64::new(i64::MAX), latest: AtomicI64::new(i64::MIN), added: Notify::new() }
    }
}

impl DeadlineWatermark {
    /// Call it after the deadline is in the database and before the actor stops.
    pub(crate) fn add(&self, deadline: Tick) {
        self.latest.fetch_max(deadline.0, SeqCst);
        self.earliest.fetch_min(deadline.0, SeqCst);
        self.added.notify_one();
    }

    /// Resolves when a deadline before `tick` is added.
    async fn before(&self, tick: i64) -> i64 {
        loop {
            if self.earliest.load(SeqCst) < tick {
                return self.earliest.swap(i64::MAX, SeqCst);
            }
            self.added.notified().await;
        }
    }
}

pub(crate) async fn watch(
    shared: Arc<Shared>,
    deadlines: Arc<DeadlineWatermark>,
    supervisor: Mailbox<SupervisorMessage>,
) {
    let waking = async {
        while let Err(error) = wake_expired(&shared, &deadlines, &supervisor).await {
            tracing::error!(%error, "cannot list the deadlines of idle reviews; trying again");
            tokio::time::sleep(RETRY_DELAY).await;
        }
    };
    shared.closing.run_until_cancelled(waking).await;
}

/// Sleeps until the next deadline, or until an earlier one is added.
async fn wake_expired(
    shared: &Shared,
    deadlines: &DeadlineWatermark,
    supervisor: &Mailbox<SupervisorMessage>,
) -> Result<(), StoreError> {
    if let Some(last) = shared.reader.find_last_deadline().await? {
        deadlines.latest.fetch_max(last, SeqCst);
    }
    let mut after = (i64::MIN, 0);
    loop {
        let mut page = shared.reader.list_deadlines(after, PAGE_ROWS).await?;
        page.retain(|(tick, _, _)| *tick <= deadlines.latest.load(SeqCst));
        if page.is_empty() {
            after = (deadlines.before(i64::MAX).await - 1, i64::MAX);
            continue;
        }
        for (tick, number, id) in page {
            tokio::select! {
                biased;
                earlier = deadlines.before(tick) => {
                    after = (earlier - 1, i64::MAX);
                    break;
                }
                () = tokio::time::sleep_until(shared.clock.instant_of(Tick(tick))) => {}
            }
            after = (tick, number.0);
            let message = Box::new(ReviewMessage::Expire);
            if !supervisor.send(SupervisorMessage::Deliver { id, fresh: false, message }) {
                return Ok(());
            }
        }
    }
}
