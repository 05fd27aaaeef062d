//! The one write connection, on a thread of its own: takes everything that waits, writes it in one
//! transaction, and answers each caller after COMMIT. While one commit waits for the disk the next
//! batch gathers, so the more is asked of it the fewer syncs each change costs.
//!
//! It speaks to SQLite directly rather than through sqlx, whose hop to a worker thread for every
//! statement costs more than the statement (docs/adr/0003-blocking-writer.md).

mod batch;
mod hooks;
mod pool;
mod statements;

pub use hooks::{HookChange, HookStep, Which};
pub use pool::PoolChange;

use crate::{Settings, StoreError};
use domain::{
    content::Content,
    finding::Finding,
    review::{LoggedEvent, Review},
    time::Tick,
};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::{
    collections::BTreeSet,
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

/// What one command did to one review: written whole or not at all.
#[derive(Debug, Clone)]
pub struct Change {
    review: Arc<Review>,
    events: Vec<LoggedEvent>,
    /// The events as they are stored. Made by whoever asks for the change: the writer's time is
    /// everybody's.
    payloads: Vec<String>,
    tick: Tick,
    content: Option<Arc<Content>>,
    patch: Option<Arc<str>>,
    /// Those that the events touch, as they are stored.
    findings: Vec<(i64, String)>,
}

impl Change {
    /// `review` is the state after the events; its version before them must be the one in the
    /// database.
    pub fn new(review: Arc<Review>, events: Vec<LoggedEvent>, tick: Tick) -> Result<Self, StoreError> {
        let payload = |recorded: &LoggedEvent| serde_json::to_string(&recorded.event);
        let payloads = events.iter().map(payload).collect::<Result<_, _>>()?;
        let touched: BTreeSet<_> =
            events.iter().flat_map(|recorded| recorded.event.touched_findings(&review)).collect();
        let touched = review.findings.iter().filter(|finding| touched.contains(&finding.number));
        let body = |finding: &Arc<Finding>| Ok((finding.number.0, serde_json::to_string(finding.as_ref())?));
        let findings = touched.map(body).collect::<Result<_, serde_json::Error>>()?;
        Ok(Self { review, events, payloads, tick, content: None, patch: None, findings })
    }

    /// The content of the review's round, where the events bring a new one.
    #[must_use]
    pub fn with_content(self, content: Option<Arc<Content>>) -> Self {
        Self { content, ..self }
    }

    /// The text of the counter-patch that the events offer.
    #[must_use]
    pub fn with_patch(self, patch: Option<Arc<str>>) -> Self {
        Self { patch, ..self }
    }

    pub fn review(&self) -> &Arc<Review> {
        &self.review
    }
}

/// Where a change stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    pub last_seq: u64,
}

/// Who hears of a commit.
pub type Done = oneshot::Sender<Result<Committed, StoreError>>;

enum Job {
    Commit(Box<Change>, Done),
    Pool(Box<PoolChange>, oneshot::Sender<Result<(), StoreError>>),
    Hook(Box<HookChange>, oneshot::Sender<Result<u64, StoreError>>),
    RememberBoot { boot_id: String, offset_ms: i64, now_ms: i64, done: oneshot::Sender<Result<(), StoreError>> },
}

/// What was committed last: a wake-up, not a record.
#[derive(Debug, Clone)]
pub struct Feed {
    /// Sequence number of the last event.
    pub committed: watch::Receiver<u64>,
    /// Sequence number of the last event that put a review, or a seat of one, into the queue.
    pub queued: watch::Receiver<u64>,
    /// Never sent to: it closes with the writer.
    alive: watch::Receiver<()>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    commits: AtomicU64,
    changes: AtomicU64,
    waiting: AtomicU64,
    /// Seconds that COMMIT took, which is the sync of the disk.
    sync: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        // 100 µs to 6.5 s
        let sync = Histogram::new(exponential_buckets(0.0001, 4.0, 9));
        Self { commits: AtomicU64::new(0), changes: AtomicU64::new(0), waiting: AtomicU64::new(0), sync }
    }
}

impl Feed {
    /// Transactions and changes since the start; their ratio is what group commit saves.
    pub fn totals(&self) -> (u64, u64) {
        (self.counters.commits.load(Relaxed), self.counters.changes.load(Relaxed))
    }

    /// Seconds that each COMMIT took.
    pub fn sync_times(&self) -> Histogram {
        self.counters.sync.clone()
    }

    /// Resolves once nothing can be written any more, and is not woken by what is.
    pub async fn ended(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Changes that have been handed over and not yet answered.
    pub fn waiting(&self) -> u64 {
        self.counters.waiting.load(Relaxed)
    }
}

/// Hands changes to the writing thread. Once the last of these is gone the thread finishes what
/// waits and ends.
#[derive(Debug, Clone)]
pub struct Writer {
    jobs: SyncSender<Job>,
    counters: Arc<Counters>,
}

/// The writing thread, to be waited for at the end.
#[derive(Debug)]
pub struct WriterThread(JoinHandle<()>);

impl WriterThread {
    /// Returns once everything handed over is written and the database is closed.
    pub async fn ended(self) {
        let joined = tokio::task::spawn_blocking(move || self.0.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the writer did not end cleanly");
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
        let (jobs, queue) = sync_channel(settings.max_queue);
        let (committed, committed_rx) = watch::channel(last_seq);
        let (queued, queued_rx) = watch::channel(last_seq);
        let (alive, alive_rx) = watch::channel(());
        let counters = Arc::new(Counters::default());
        let feed =
            Feed { committed: committed_rx, queued: queued_rx, alive: alive_rx, counters: Arc::clone(&counters) };
        let state =
            batch::Batcher { connection, last_seq, committed, queued, _alive: alive, counters: Arc::clone(&counters) };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run(state, &queue, settings.max_batch))
            .map_err(|error| StoreError::Write(error.to_string()))?;
        Ok((Self { jobs, counters }, WriterThread(thread), feed))
    }

    /// Queues a change. `done` hears after it is durable, or why it is not there at all.
    pub fn commit(&self, change: Change, done: Done) {
        self.counters.waiting.fetch_add(1, Relaxed);
        let Err(refused) = self.jobs.try_send(Job::Commit(Box::new(change), done)) else { return };
        self.counters.waiting.fetch_sub(1, Relaxed);
        let (error, job) = match refused {
            TrySendError::Full(job) => (StoreError::Full, job),
            TrySendError::Disconnected(job) => (StoreError::Stopped, job),
        };
        if let Job::Commit(_, done) = job {
            let _ = done.send(Err(error));
        }
    }

    /// Queues a step of the pool. Steps are few, so each is a transaction of its own.
    pub fn record(&self, change: Box<PoolChange>, done: oneshot::Sender<Result<(), StoreError>>) {
        let (error, job) = match self.jobs.try_send(Job::Pool(change, done)) {
            Ok(()) => return,
            Err(TrySendError::Full(job)) => (StoreError::Full, job),
            Err(TrySendError::Disconnected(job)) => (StoreError::Stopped, job),
        };
        if let Job::Pool(_, done) = job {
            let _ = done.send(Err(error));
        }
    }

    /// Queues a step of a webhook, which is told how many rows it touched. A transaction of its own, like those of the
    /// pool.
    pub fn note(&self, change: Box<HookChange>, done: oneshot::Sender<Result<u64, StoreError>>) {
        let (error, job) = match self.jobs.try_send(Job::Hook(change, done)) {
            Ok(()) => return,
            Err(TrySendError::Full(job)) => (StoreError::Full, job),
            Err(TrySendError::Disconnected(job)) => (StoreError::Stopped, job),
        };
        if let Job::Hook(_, done) = job {
            let _ = done.send(Err(error));
        }
    }

    /// Keeps how the broker's timeline relates to this boot of the machine.
    pub async fn remember_boot(&self, boot_id: String, offset_ms: i64, now_ms: i64) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.jobs.try_send(Job::RememberBoot { boot_id, offset_ms, now_ms, done }).map_err(|_| StoreError::Stopped)?;
        answer.await.map_err(|_| StoreError::Stopped)?
    }
}

/// How long a small batch waits for the rest of a crowd that was there a moment ago. A fraction of a
/// sync, and it saves some.
const GATHER: Duration = Duration::from_micros(250);

fn run(mut state: batch::Batcher, queue: &Receiver<Job>, max_batch: usize) {
    let mut changes = Vec::with_capacity(max_batch);
    let mut crowd = 0;
    while let Ok(first) = queue.recv() {
        let patience = Instant::now() + GATHER;
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Commit(change, done) => changes.push((*change, done)),
                Job::Pool(change, done) => {
                    let _ = done.send(state.record(&change));
                }
                Job::Hook(change, done) => {
                    let _ = done.send(state.note(&change));
                }
                Job::RememberBoot { boot_id, offset_ms, now_ms, done } => {
                    let _ = done.send(statements::remember_boot(&state.connection, &boot_id, offset_ms, now_ms));
                }
            }
            // Nothing may be taken from the queue beyond the batch: it would be lost.
            next = if changes.len() >= max_batch {
                None
            } else if changes.len() * 2 < crowd {
                queue.recv_timeout(patience.saturating_duration_since(Instant::now())).ok()
            } else {
                queue.try_recv().ok()
            };
        }
        // Forgotten slowly: one small batch does not mean that the crowd has gone.
        crowd = changes.len().max(crowd * 3 / 4);
        state.commit(&mut changes);
    }
    state.close();
}
