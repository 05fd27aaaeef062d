//! Claims of an earlier run: their reviews sleep, and so can't keep time. This wakes each when its
//! deadline comes, a page at a time, and ends after the last; a review that is awake keeps its own.

use crate::{Context, review::ReviewMessage, supervisor::SupervisorMessage, vitals::Mailbox};
use domain::time::Tick;

const PAGE: i64 = 500;

pub(crate) async fn watch(context: Context, supervisor: Mailbox<SupervisorMessage>) {
    // Claims made from here on belong to reviews that are awake.
    let last = match context.reader.find_last_deadline().await {
        Ok(Some(last)) => last,
        Ok(None) => return,
        Err(error) => return give_up(&error),
    };
    let mut after = (i64::MIN, 0);
    loop {
        let page = match context.reader.list_deadlines(after, PAGE).await {
            Ok(page) => page,
            Err(error) => return give_up(&error),
        };
        let Some((last_tick, last_number, _)) = page.last() else { return };
        after = (*last_tick, last_number.0);
        for (tick, _, id) in page {
            if tick > last {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(context.clock.instant_of(Tick(tick))) => {}
                () = context.closing.cancelled() => return,
            }
            let message = Box::new(ReviewMessage::Expire);
            if !supervisor.send(SupervisorMessage::Deliver { id, fresh: false, message }) {
                return;
            }
        }
    }
}

fn give_up(error: &store::StoreError) {
    tracing::error!(%error, "claims of an earlier run cannot be listed; each ends when its review is next touched");
}
