//! The writer: the only database connection that writes, on a thread of its own. It takes every queued change, writes
//! them in one transaction, and replies to each caller after COMMIT. While one commit waits for the disk the next batch
//! gathers, so under load each change costs fewer syncs.
//!
//! It uses rusqlite rather than sqlx, which hands every statement to a worker thread. That costs more than the
//! statement (docs/adr/0003-blocking-writer.md).

use super::{
    DatabaseFiles, IndexBatch, browser_sessions, figures::FigureChanges, log_indexes, reviewer_pool, webhooks,
    write_statements,
};
use crate::{BrowserSessionChange, Change, CommitReply, Feed, PoolChange, Settings, StoreError, WebhookChange};
use domain::review::{Event, LoggedEvent, Review};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use rusqlite::{Connection, TransactionBehavior};
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

/// Changes whose figures are added to the tables at once. After a crash their days are counted again.
const FIGURES_EVERY: u64 = 500;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

enum WriteRequest {
    Commit(Box<Change>, CommitReply),
    Pool(Box<PoolChange>, Reply<()>),
    Webhook(Box<WebhookChange>, Reply<u64>),
    BrowserSession(Box<BrowserSessionChange>, Reply<u64>),
    /// Adds all figures to the tables.
    Figures(Reply<()>),
    Index(Box<IndexBatch>, Reply<u64>),
    SaveBoot {
        boot_id: String,
        offset_ms: i64,
        now_ms: i64,
        reply: Reply<()>,
    },
}

impl WriteRequest {
    fn refuse(self, error: StoreError) {
        match self {
            Self::Commit(_, reply) | Self::Pool(_, reply) | Self::Figures(reply) | Self::SaveBoot { reply, .. } => {
                drop(reply.send(Err(error)));
            }
            Self::Webhook(_, reply) | Self::BrowserSession(_, reply) | Self::Index(_, reply) => {
                drop(reply.send(Err(error)));
            }
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
        files: Arc<DatabaseFiles>,
    ) -> Result<(Self, WriterThread, Feed), StoreError> {
        let connection = write_statements::connect(path)?;
        let (requests, queue) = sync_channel(settings.max_queue);
        let (committed, committed_rx) = watch::channel(last_seq);
        let (queued, queued_rx) = watch::channel(last_seq);
        let (alive, alive_rx) = watch::channel(());
        let counters = Arc::new(Counters::default());
        let feed =
            Feed { committed: committed_rx, queued: queued_rx, alive: alive_rx, counters: Arc::clone(&counters) };
        let group_commit = GroupCommit {
            connection,
            last_seq,
            committed,
            queued,
            _alive: alive,
            counters: Arc::clone(&counters),
            files,
            figures: FigureChanges::default(),
            unwritten: 0,
        };
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

    /// Queues a change to the session of a browser, a transaction of its own. The reply is the number of rows that changed.
    pub fn commit_session_change(&self, change: Box<BrowserSessionChange>, reply: Reply<u64>) {
        self.send(WriteRequest::BrowserSession(change, reply));
    }

    /// Adds the figures of all committed changes to the tables, so that a reader finds them there.
    pub fn write_figures(&self, reply: Reply<()>) {
        self.send(WriteRequest::Figures(reply));
    }

    /// Adds what events have changed to the indexes that follow the log, in a transaction of its own. The reply is the
    /// number of rows that were written.
    pub fn write_index(&self, batch: Box<IndexBatch>, reply: Reply<u64>) {
        self.send(WriteRequest::Index(batch, reply));
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
                    let _ = reply.send(group_commit.write_alone(|connection| webhooks::write(connection, &change)));
                }
                WriteRequest::BrowserSession(change, reply) => {
                    let _ =
                        reply.send(group_commit.write_alone(|connection| browser_sessions::write(connection, &change)));
                }
                WriteRequest::Index(batch, reply) => {
                    let _ = reply.send(group_commit.write_alone(|connection| log_indexes::write(connection, &batch)));
                }
                WriteRequest::Figures(reply) => drop(reply.send(group_commit.write_figures())),
                WriteRequest::SaveBoot { boot_id, offset_ms, now_ms, reply } => {
                    let _ =
                        reply.send(write_statements::save_boot(&group_commit.connection, &boot_id, offset_ms, now_ms));
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

/// The writing end of the database. Many changes are one transaction; if it fails, each change is tried alone.
struct GroupCommit {
    connection: Connection,
    last_seq: u64,
    committed: watch::Sender<u64>,
    queued: watch::Sender<u64>,
    /// Closes the feed's `alive` channel when dropped.
    _alive: watch::Sender<()>,
    counters: Arc<Counters>,
    /// Checked before a change is written, and again before it is acknowledged.
    files: Arc<DatabaseFiles>,
    /// What committed changes have changed in the figures and is not in the tables yet, and how many changes that are.
    figures: FigureChanges,
    unwritten: u64,
}

impl GroupCommit {
    /// Commits all changes in one transaction. If that fails, commits them one by one to find those at fault.
    fn commit(&mut self, changes: &mut Vec<(Change, CommitReply)>) {
        if changes.is_empty() {
            return;
        }
        match self.write(changes.iter().map(|(change, _)| change)) {
            Ok(()) => {
                for (_, reply) in changes.drain(..) {
                    self.reply(reply, Ok(()));
                }
            }
            Err(error) if changes.len() == 1 => {
                for (change, reply) in changes.drain(..) {
                    tracing::warn!(review.id = %change.review.id, %error, "change not saved");
                    self.reply(reply, Err(error.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(changes = changes.len(), %error, "batch not saved; trying its changes one by one");
                for (change, reply) in changes.drain(..) {
                    let result = self.write(std::iter::once(&change));
                    self.reply(reply, result);
                }
            }
        }
    }

    /// Writes a change to the pool in a transaction of its own.
    fn write_pool_change(&mut self, change: &PoolChange) -> Result<(), StoreError> {
        self.files.check()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        reviewer_pool::write(&transaction, change, self.last_seq + 1)?;
        transaction.commit()?;
        self.last_seq += u64::from(change.event.is_some());
        self.files.check()?;
        if change.event.is_some() {
            self.committed.send_replace(self.last_seq);
        }
        Ok(())
    }

    /// Writes a change without an event in a transaction of its own. Returns the number of rows that changed.
    fn write_alone(&mut self, write: impl FnOnce(&Connection) -> Result<u64, StoreError>) -> Result<u64, StoreError> {
        self.files.check()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let changed = write(&transaction)?;
        transaction.commit()?;
        self.files.check()?;
        Ok(changed)
    }

    /// Adds the figures of all committed changes to the tables.
    fn write_figures(&mut self) -> Result<(), StoreError> {
        if self.unwritten > 0 {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            self.figures.write(&transaction, self.last_seq)?;
            transaction.commit()?;
            (self.figures, self.unwritten) = (FigureChanges::default(), 0);
        }
        Ok(())
    }

    fn close(mut self) {
        // If it fails, the next start counts again.
        let _ = self.write_figures();
        // Merges the write-ahead log into the database file. If it fails, the next start does it.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
    }

    fn reply(&self, reply: CommitReply, result: Result<(), StoreError>) {
        self.counters.waiting.fetch_sub(1, Relaxed);
        let _ = reply.send(result);
    }

    /// Writes changes in one transaction. Followers are woken before callers get their reply, so that a caller that
    /// waits next is not woken by its own change.
    fn write<'a>(&mut self, changes: impl Iterator<Item = &'a Change>) -> Result<(), StoreError> {
        self.files.check()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut seq = self.last_seq;
        let mut last_queued = None;
        let mut count = 0;
        let mut figures = FigureChanges::default();
        for change in changes {
            last_queued = write_change(&transaction, change, seq, &mut figures)?.or(last_queued);
            seq += change.events.len() as u64;
            count += 1;
        }
        let is_due = self.unwritten + count >= FIGURES_EVERY;
        if is_due {
            figures.add_all(&self.figures);
            figures.write(&transaction, seq)?;
        }
        let started = Instant::now();
        transaction.commit()?;
        self.counters.sync.observe(started.elapsed().as_secs_f64());
        self.last_seq = seq;
        if is_due {
            (self.figures, self.unwritten) = (FigureChanges::default(), 0);
        } else {
            self.figures.add_all(&figures);
            self.unwritten += count;
        }
        self.files.check()?;
        self.counters.commits.fetch_add(1, Relaxed);
        self.counters.changes.fetch_add(count, Relaxed);
        self.committed.send_replace(seq);
        if let Some(queued) = last_queued {
            self.queued.send_replace(queued);
        }
        Ok(())
    }
}

/// Returns the number of the last event that made a seat claimable. `before` is the number before the first event.
fn write_change(
    connection: &Connection,
    change: &Change,
    before: u64,
    figures: &mut FigureChanges,
) -> Result<Option<u64>, StoreError> {
    let Some(first) = change.events.first() else {
        return Err(StoreError::Write("the change has no event".into()));
    };
    let queued = (before + 1..).zip(&change.events).filter(|(_, recorded)| enters_queue(recorded, &change.review));
    let last_queued = queued.map(|(seq, _)| seq).last();
    if let Some(content) = &change.content {
        write_statements::insert_content(connection, &change.review.round.content_hash, content)?;
    }
    if matches!(first.event, Event::Proposed(_)) {
        write_statements::insert_review(connection, change, before + change.events.len() as u64)?;
    } else {
        write_statements::update_review_if_version(connection, change, first.version - 1, last_queued)?;
    }
    write_statements::upsert_seats(connection, change)?;
    for ((seq, recorded), payload) in (before + 1..).zip(&change.events).zip(&change.payloads) {
        write_statements::append_event(connection, change, recorded, payload, seq)?;
        write_statements::write_event_rows(connection, change, recorded, figures)?;
    }
    write_statements::upsert_findings(connection, change)?;
    figures.add(&change.cohort, &change.figures);
    Ok(last_queued)
}

/// Whether this event, which led to `review`, made a seat claimable.
fn enters_queue(recorded: &LoggedEvent, review: &Review) -> bool {
    match &recorded.event {
        Event::Proposed(_) | Event::Revised { .. } | Event::ClaimEnded { .. } | Event::ReservationEnded { .. } => true,
        Event::MessageAdded { requeued, .. } => requeued.is_some(),
        Event::CounterPatchAccepted { requeued, .. } | Event::Rebased { requeued, .. } => !requeued.seats.is_empty(),
        Event::SeatAdded { status, .. } => status.is_open(),
        // While git checked the diff for this claim, other claims had to retry.
        Event::Claimed { .. } => review.free_seats().next().is_some(),
        Event::VerdictGiven(given) => given.reopens,
        Event::FindingUpdated(updated) => updated.lease_ends.is_some() || updated.requeued.is_some(),
        Event::AutoRejected { .. }
        | Event::ClaimRenewed { .. }
        | Event::CounterPatchRejected { .. }
        | Event::Cancelled { .. }
        | Event::Closed { .. } => false,
    }
}
