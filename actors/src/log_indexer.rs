//! Keeps the indexes of findings and texts up to date with the event log: when commands pause, when many events have
//! gathered, and before a list or a search is answered. Commands never wait for it.

use crate::{error::BrokerError, gateway::Reviews};
use std::{sync::Arc, time::Duration};
use store::StoreError;
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, sleep, timeout},
};

/// While events follow each other faster than this, the indexes wait.
const QUIET: Duration = Duration::from_millis(500);
/// So many events are indexed also while commands run.
const MAX_BEHIND: u64 = 5_000;
/// How long an answer waits for the indexes. A database from before is indexed in the background.
const CATCH_UP_TIME: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_secs(5);

pub(crate) struct LogIndexer {
    reviews: Reviews,
    committed: watch::Receiver<u64>,
    /// The last event that the indexes contain, once it was read. Locked while a batch is written.
    cursor: Mutex<Option<u64>>,
}

impl LogIndexer {
    pub(crate) fn new(reviews: Reviews, committed: watch::Receiver<u64>) -> Self {
        Self { reviews, committed, cursor: Mutex::new(None) }
    }

    /// Waits until the indexes contain the last committed event. `false`: that takes too long, so the newest texts and
    /// findings are missing.
    pub(crate) async fn catch_up(&self) -> Result<bool, BrokerError> {
        let (head, until) = (*self.committed.borrow(), Instant::now() + CATCH_UP_TIME);
        while self.step(head).await? < head {
            if Instant::now() >= until {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes one batch if the indexes are behind `head`. Returns the last event that they contain.
    async fn step(&self, head: u64) -> Result<u64, StoreError> {
        let mut cursor = self.cursor.lock().await;
        let reader = &self.reviews.shared.reader;
        let after = match *cursor {
            Some(after) => after,
            None => reader.read_index_cursor().await?,
        };
        *cursor = Some(after);
        if after >= head {
            return Ok(after);
        }
        let batch = reader.read_index_batch(after, head).await?;
        let seq = batch.seq;
        self.reviews.write_index(batch).await?;
        *cursor = Some(seq);
        Ok(seq)
    }

    /// Follows the log until the broker shuts down.
    pub(crate) async fn follow(self: Arc<Self>) {
        let closing = self.reviews.shared.closing.clone();
        tokio::select! {
            () = closing.cancelled() => {}
            () = self.index_in_the_background() => {}
        }
    }

    async fn index_in_the_background(&self) {
        let mut committed = self.committed.clone();
        let mut indexed = 0;
        loop {
            if committed.wait_for(|head| *head > indexed).await.is_err() {
                return;
            }
            while committed.borrow_and_update().saturating_sub(indexed) < MAX_BEHIND
                && matches!(timeout(QUIET, committed.changed()).await, Ok(Ok(())))
            {}
            let head = *committed.borrow();
            while indexed < head {
                match self.step(head).await {
                    Ok(seq) => indexed = seq,
                    Err(StoreError::Stopped) => return,
                    Err(error) => {
                        tracing::error!(%error, after = indexed, "cannot index the event log; retrying");
                        sleep(RETRY_DELAY).await;
                    }
                }
            }
        }
    }
}
