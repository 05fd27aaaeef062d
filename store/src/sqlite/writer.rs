//! The only connection that writes, on a thread of its own. It takes every queued change, writes them in one
//! transaction, and replies to each caller after COMMIT. While one commit waits for the disk the next batch gathers, so
//! under load each change costs fewer syncs.
//!
//! It uses rusqlite rather than sqlx, which hands every statement to a worker thread. That costs more than the
//! statement (docs/adr/0003-blocking-writer.md).

use super::{group_commit::GroupCommit, statements};
use crate::{Change, CommitReply, Feed, PoolChange, Settings, StoreError, WebhookChange};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tokio::sync::{oneshot, watch};

/// How long a small batch waits for more changes if recent batches were larger. It is a fraction of a sync, and saves
/// some.
const GATHER_TIME: Duration = Duration::from_micros(250);

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

enum WriteRequest {
    Commit(Box<Change>, CommitReply),
    Pool(Box<PoolChange>, Reply<()>),
    Webhook(Box<WebhookChange>, Reply<u64>),
    SaveBoot { boot_id: String, offset_ms: i64, now_ms: i64, reply: Reply<()> },
}

impl WriteRequest {
    fn refuse(self, error: StoreError) {
        match self {
            Self::Commit(_, reply) | Self::Pool(_, reply) | Self::SaveBoot { reply, .. } => {
                drop(reply.send(Err(error)));
            }
            Self::Webhook(_, reply) => drop(reply.send(Err(error))),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) waiting: AtomicU64,
    /// Seconds that COMMIT took, which is the sync of the disk.
    pub(crate) sync: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        // 100 µs to 6.5 s
        let sync = Histogram::new(exponential_buckets(0.0001, 4.0, 9));
        Self { commits: AtomicU64::new(0), changes: AtomicU64::new(0), waiting: AtomicU64::new(0), sync }
    }
}

/// Sends changes to the writing thread. When the last clone is dropped the thread writes what is queued and ends.
#[derive(Debug, Clone)]
pub struct Writer {
    requests: SyncSender<WriteRequest>,
    counters: Arc<Counters>,
}

/// The writing thread.
#[derive(Debug)]
pub struct WriterThread(JoinHandle<()>);

impl WriterThread {
    /// Resolves when every queued change is written and the database is closed.
    pub async fn ended(self) {
        let joined = tokio::task::spawn_blocking(move || self.0.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the writing thread panicked");
        }
    }
}

impl Writer {
    pub(crate) fn open(
        path: &Path,
        settings: Settings,
        last_seq: u64,
    ) -> Result<(Self, WriterThread, Feed), StoreError> {
        let connection = statements::connect(path)?;
        let (requests, queue) = sync_channel(settings.max_queue);
        let (committed, committed_rx) = watch::channel(last_seq);
        let (queued, queued_rx) = watch::channel(last_seq);
        let (alive, alive_rx) = watch::channel(());
        let counters = Arc::new(Counters::default());
        let feed =
            Feed { committed: committed_rx, queued: queued_rx, alive: alive_rx, counters: Arc::clone(&counters) };
        let group_commit =
            GroupCommit { connection, last_seq, committed, queued, _alive: alive, counters: Arc::clone(&counters) };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run(group_commit, &queue, settings.max_batch))
            .map_err(|error| StoreError::Write(error.to_string()))?;
        Ok((Self { requests, counters }, WriterThread(thread), feed))
    }

    /// Queues a change. The reply comes after it is durable, or says why it was not written.
    pub fn commit(&self, change: Change, reply: CommitReply) {
        self.counters.waiting.fetch_add(1, Relaxed);
        if !self.send(WriteRequest::Commit(Box::new(change), reply)) {
            self.counters.waiting.fetch_sub(1, Relaxed);
        }
    }

    /// Queues a change to the pool. These are rare, so each is a transaction of its own.
    pub fn commit_pool_change(&self, change: Box<PoolChange>, reply: Reply<()>) {
        self.send(WriteRequest::Pool(change, reply));
    }

    /// Queues a change to a webhook, a transaction of its own. The reply is the number of rows that changed.
    pub fn commit_webhook_change(&self, change: Box<WebhookChange>, reply: Reply<u64>) {
        self.send(WriteRequest::Webhook(change, reply));
    }

    /// Saves the offset between the broker's timeline and this boot of the machine.
    pub async fn save_boot(&self, boot_id: String, offset_ms: i64, now_ms: i64) -> Result<(), StoreError> {
        let (reply, saved) = oneshot::channel();
        self.send(WriteRequest::SaveBoot { boot_id, offset_ms, now_ms, reply });
        saved.await.map_err(|_| StoreError::Stopped)?
    }

    /// Returns `false`, and replies with the reason, if the request was not queued.
    fn send(&self, request: WriteRequest) -> bool {
        match self.requests.try_send(request) {
            Ok(()) => return true,
            Err(TrySendError::Full(request)) => request.refuse(StoreError::Full),
            Err(TrySendError::Disconnected(request)) => request.refuse(StoreError::Stopped),
        }
        false
    }
}

fn run(mut group_commit: GroupCommit, queue: &Receiver<WriteRequest>, max_batch: usize) {
    let mut changes = Vec::with_capacity(max_batch);
    let mut recent_size = 0;
    while let Ok(first) = queue.recv() {
        let gather_until = Instant::now() + GATHER_TIME;
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                WriteRequest::Commit(change, reply) => changes.push((*change, reply)),
                WriteRequest::Pool(change, reply) => {
                    let _ = reply.send(group_commit.write_pool_change(&change));
                }
                WriteRequest::Webhook(change, reply) => {
                    let _ = reply.send(group_commit.write_webhook_change(&change));
                }
                WriteRequest::SaveBoot { boot_id, offset_ms, now_ms, reply } => {
                    let _ = reply.send(statements::save_boot(&group_commit.connection, &boot_id, offset_ms, now_ms));
                }
            }
            // Take nothing from the queue that does not fit into the batch: it would be lost.
            next = if changes.len() >= max_batch {
                None
            } else if changes.len() * 2 < recent_size {
                queue.recv_timeout(gather_until.saturating_duration_since(Instant::now())).ok()
            } else {
                queue.try_recv().ok()
            };
        }
        // Decays slowly: one small batch does not mean that the load is gone.
        recent_size = changes.len().max(recent_size * 3 / 4);
        group_commit.commit(&mut changes);
    }
    group_commit.close();
}
