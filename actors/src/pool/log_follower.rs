//! Sends the events of the log to the pool, in order.

use super::PoolMessage;
use crate::{Context, actor_stats::Mailbox};
use store::{Feed, LogFollower};
use tokio::sync::oneshot;

const PAGE_SIZE: u32 = 500;

/// Sends every event after `seq`, a page at a time. The next page is read after the pool has handled the last, so that a
/// busy log cannot fill its mailbox.
pub(super) async fn follow(context: &Context, pool: &Mailbox<PoolMessage>, feed: &Feed, seq: u64) {
    let mut log = LogFollower::new(context.reader.clone(), feed, seq, PAGE_SIZE);
    while let Some(news) = log.next_page().await {
        let (taken, ack) = oneshot::channel();
        if !pool.send(PoolMessage::News { news, taken }) || ack.await.is_err() {
            return;
        }
    }
}
