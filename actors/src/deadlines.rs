//! Claims of an earlier run: their reviews sleep, and so can't keep time. This wakes each when its
//! deadline comes, a page at a time, and ends after the last; a review that is awake keeps its own.

use crate::{Context, review::ReviewMessage, supervisor::SupervisorMessage};
use domain::time::Tick;
use ractor::ActorRef;

const PAGE: i64 = 500;

pub(crate) async fn watch(context: Context, supervisor: ActorRef<SupervisorMessage>) {
    let mut after = (i64::MIN, 0);
    let newest = context.clock.now().tick.plus(std::time::Duration::from_secs(366 * 24 * 3600));
    loop {
        let page = match context.reader.list_deadlines(after, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "claims of an earlier run cannot be listed; they end when next touched");
                return;
            }
        };
        let Some((last_tick, last_number, _)) = page.last() else { return };
        after = (*last_tick, last_number.0);
        for (tick, _, id) in page {
            if Tick(tick) > newest {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(context.clock.instant_of(Tick(tick))) => {}
                () = context.closing.cancelled() => return,
            }
            let message = Box::new(ReviewMessage::Expire);
            if supervisor.send_message(SupervisorMessage::Deliver { id, fresh: false, message }).is_err() {
                return;
            }
        }
    }
}
