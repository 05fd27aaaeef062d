//! Types for the event log: its records, the signal that something was committed, and a follower that reads the records
//! in order.

use crate::{Reader, sqlite::Counters};
use domain::{
    event_kind::{EventKind, Topic},
    ids::{ReviewId, ReviewNumber},
    review::{LoggedEvent, Status},
    reviewer_pool::PoolEvent,
    time::{Tick, Timestamp},
    waiting_on::Turn,
};
use prometheus_client::metrics::histogram::Histogram;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::sync::watch;

/// How long a follower waits after a failed read.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// One event of the log, with the columns beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    pub seq: u64,
    pub at: Timestamp,
    pub tick: Tick,
    /// Who caused it; `None` for the broker itself.
    pub actor: Option<String>,
    /// Status and round of the review after the command that caused this.
    pub status: Option<Status>,
    pub round: Option<u32>,
    /// Who had to act after that command.
    pub waiting_on: Vec<Turn>,
    /// The review's current intent.
    pub intent: Option<String>,
    /// The project it belongs to. The outer `None` means unknown: the pool's reviewer has no row.
    pub project: Option<Option<String>>,
    pub entry: LogEntry,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LogEntry {
    Review { id: ReviewId, number: ReviewNumber, recorded: Box<LoggedEvent> },
    Pool(PoolEvent),
}

impl EventRecord {
    pub const fn kind(&self) -> EventKind {
        match &self.entry {
            LogEntry::Review { recorded, .. } => recorded.event.kind(),
            LogEntry::Pool(event) => event.kind(),
        }
    }

    /// What the event means besides its topic.
    pub fn also(&self) -> Option<Topic> {
        match &self.entry {
            LogEntry::Review { recorded, .. } => recorded.event.also(),
            LogEntry::Pool(_) => None,
        }
    }

    pub fn topic(&self) -> Topic {
        match &self.entry {
            LogEntry::Review { recorded, .. } => recorded.event.topic(),
            LogEntry::Pool(event) => event.topic(),
        }
    }

    /// Id, number and version of the review; `None` for an event of the pool.
    pub const fn review(&self) -> Option<(ReviewId, ReviewNumber, u64)> {
        match &self.entry {
            LogEntry::Review { id, number, recorded } => Some((*id, *number, recorded.version)),
            LogEntry::Pool(_) => None,
        }
    }
}

/// An event of one review, with the times that a timeline shows.
#[derive(Debug, Clone)]
pub struct TimelineRecord {
    pub event: EventRecord,
    /// When the review's previous event happened.
    pub previous_at: Option<Timestamp>,
    /// When the claim was made that this verdict or end of a claim belongs to.
    pub claimed_at: Option<Timestamp>,
}

/// What was committed last. It wakes followers; the records themselves are read from the database.
#[derive(Debug, Clone)]
pub struct Feed {
    /// Sequence number of the last event.
    pub committed: watch::Receiver<u64>,
    /// Sequence number of the last event that made a seat claimable.
    pub queued: watch::Receiver<u64>,
    /// Carries no values. It closes with the writer.
    pub(crate) alive: watch::Receiver<()>,
    pub(crate) counters: Arc<Counters>,
}

impl Feed {
    /// Transactions and changes since the start. Their ratio is what group commit saves.
    pub fn totals(&self) -> (u64, u64) {
        (self.counters.commits.load(Relaxed), self.counters.changes.load(Relaxed))
    }

    /// Seconds that each COMMIT took.
    pub fn sync_times(&self) -> Histogram {
        self.counters.sync.clone()
    }

    /// Resolves when the writer has ended. Commits do not wake it.
    pub async fn ended(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Changes that were queued and are not yet committed.
    pub fn waiting(&self) -> u64 {
        self.counters.waiting.load(Relaxed)
    }
}

/// Reads the log in order from a cursor, page by page: nothing is skipped and nothing is read twice.
pub struct LogFollower {
    reader: Reader,
    committed: watch::Receiver<u64>,
    cursor: u64,
    page_size: u32,
}

impl LogFollower {
    /// Starts behind the event `after`.
    pub fn new(reader: Reader, feed: &Feed, after: u64, page_size: u32) -> Self {
        Self { reader, committed: feed.committed.clone(), cursor: after, page_size }
    }

    /// Whether the log has events behind the cursor.
    pub fn has_more(&self) -> bool {
        *self.committed.borrow() > self.cursor
    }

    /// Waits until the log has events behind the cursor and returns the last one's number. `None` when the writer has
    /// ended. Cancel safe.
    pub async fn wait(&mut self) -> Option<u64> {
        let cursor = self.cursor;
        self.committed.wait_for(|head| *head > cursor).await.ok().map(|head| *head)
    }

    /// Reads the next page and moves the cursor behind it. It retries until the database can be read. Cancel safe.
    pub async fn read(&mut self) -> Vec<EventRecord> {
        loop {
            let head = *self.committed.borrow();
            match self.reader.list_events(self.cursor, None, self.page_size).await {
                Ok(page) => {
                    // Only an empty page says that the log has been read up to `head`: pages of long events are short.
                    self.cursor = page.last().map_or(head.max(self.cursor), |last| last.seq);
                    return page;
                }
                Err(error) => {
                    tracing::error!(%error, after = self.cursor, "cannot read the event log; retrying");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Waits for the next page and reads it. `None` when the writer has ended. Cancel safe.
    pub async fn next_page(&mut self) -> Option<Vec<EventRecord>> {
        self.wait().await?;
        Some(self.read().await)
    }

    /// Moves the cursor without reading.
    pub const fn skip_to(&mut self, seq: u64) {
        self.cursor = seq;
    }
}
