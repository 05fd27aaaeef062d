//! Reviews that sleep cannot keep time, be it since the last run or because nobody needed them awake.
//! This wakes each when its lease or reservation runs out; a review that is awake keeps its own time.

use crate::{Context, actor_stats::Mailbox, review::ReviewMessage, supervisor::SupervisorMessage};
use domain::time::Tick;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;
use store::StoreError;
use tokio::sync::Notify;

const PAGE: i64 = 500;

/// Before deadlines are looked for again when the database could not be read.
const RETRY: Duration = Duration::from_secs(1);

/// What has gone to sleep with a deadline.
pub(crate) struct DeadlineWatermark {
    /// The earliest deadline nobody has looked at yet.
    earliest: AtomicI64,
    /// Beyond it there are only reviews that are awake.
    latest: AtomicI64,
    added: Notify,
}

impl Default for DeadlineWatermark {
    fn default() -> Self {
        Self { earliest: AtomicI64::new(i64::MAX), latest: AtomicI64::new(i64::MIN), added: Notify::new() }
    }
}

impl DeadlineWatermark {
    /// To be called once the deadline is in the database and before anybody relies on it.
    pub(crate) fn add(&self, deadline: Tick) {
        self.latest.fetch_max(deadline.0, SeqCst);
        self.earliest.fetch_min(deadline.0, SeqCst);
        self.added.notify_one();
    }

    /// Resolves when one has been added whose deadline comes before `tick`.
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
    let walking = async {
        while let Err(error) = walk(&context, &supervisor).await {
            tracing::error!(%error, "deadlines of sleeping reviews cannot be listed; trying again");
            tokio::time::sleep(RETRY).await;
        }
    };
    tokio::select! {
        () = walking => {}
        () = context.closing.cancelled() => {}
    }
}

/// From deadline to deadline, and back whenever an earlier one appears.
async fn walk(context: &Context, supervisor: &Mailbox<SupervisorMessage>) -> Result<(), StoreError> {
    if let Some(last) = context.reader.find_last_deadline().await? {
        context.sleepers.latest.fetch_max(last, SeqCst);
    }
    let mut after = (i64::MIN, 0);
    loop {
        let mut page = context.reader.list_deadlines(after, PAGE).await?;
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
