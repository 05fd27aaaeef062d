//! The pool's eyes: the log, read on from where it was left, and the signal that something waits.

use super::PoolMessage;
use crate::{Context, actor_stats::Mailbox};
use std::time::Duration;
use store::Feed;
use tokio::sync::oneshot;

const PAGE: u32 = 500;

/// Before the log is read again when that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Tells the pool of everything that is committed after `seq`, in order, a page at a time: the next is read
/// when the pool has taken the last, so that a busy log cannot fill its mailbox.
pub(super) async fn follow(context: &Context, pool: &Mailbox<PoolMessage>, feed: &Feed, mut seq: u64) {
    let mut committed = feed.committed.clone();
    loop {
        match context.reader.list_log(seq, PAGE).await {
            Ok(news) if news.is_empty() => {
                if committed.changed().await.is_err() {
                    return;
                }
            }
            Ok(news) => {
                seq = news.last().map_or(seq, |last| last.seq);
                let (taken, ack) = oneshot::channel();
                if !pool.send(PoolMessage::News { news, taken }) || ack.await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(%error, "the pool cannot read the log; trying again");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
