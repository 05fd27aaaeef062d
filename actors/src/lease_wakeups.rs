//! Wakes reviews whose lease or reservation ends while they have no actor, because they were idle or the broker was
//! restarted. A review with an actor sets its own timer.

use crate::{Context, actor_stats::Mailbox, review::ReviewMessage, supervisor::SupervisorMessage};
use domain::time::Tick;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;
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

pub(crate) async fn watch(context: Context, supervisor: Mailbox<SupervisorMessage>) {
    let waking = async {
        while let Err(error) = wake_expired(&context, &supervisor).await {
            tracing::error!(%error, "cannot list the deadlines of idle reviews; trying again");
            tokio::time::sleep(RETRY_DELAY).await;
        }
    };
    tokio::select! {
        () = waking => {}
        () = context.closing.cancelled() => {}
    }
}

/// Sleeps until the next deadline, or until an earlier one is added.
async fn wake_expired(context: &Context, supervisor: &Mailbox<SupervisorMessage>) -> Result<(), StoreError> {
    if let Some(last) = context.reader.find_last_deadline().await? {
        context.sleepers.latest.fetch_max(last, SeqCst);
    }
    let mut after = (i64::MIN, 0);
    loop {
        let mut page = context.reader.list_deadlines(after, PAGE_ROWS).await?;
        page.retain(|(tick, _, _)| *tick <= context.sleepers.latest.load(SeqCst));
        if page.is_empty() {
            after = (context.sleepers.before(i64::MAX).await - 1, i64::MAX);
            continue;
        }
        for (tick, number, id) in page {
            tokio::select! {
                biased;
                earlier = context.sleepers.before(tick) => {
                    after = (earlier - 1, i64::MAX);
                    break;
                }
                () = tokio::time::sleep_until(context.clock.instant_of(Tick(tick))) => {}
            }
            after = (tick, number.0);
            let message = Box::new(ReviewMessage::Expire);
            if !supervisor.send(SupervisorMessage::Deliver { id, fresh: false, message }) {
                return Ok(());
            }
        }
    }
}
