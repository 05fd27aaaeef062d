//! One transaction for many changes, and what happens when it fails.

use super::{Change, Committed, Counters, Done, HookChange, PoolChange, hooks, pool, statements};
use crate::StoreError;
use domain::review::{Event, LoggedEvent, Review};
use rusqlite::{Connection, TransactionBehavior};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};
use tokio::sync::watch;

pub(super) struct Batcher {
    pub(super) connection: Connection,
    pub(super) last_seq: u64,
    pub(super) committed: watch::Sender<u64>,
    pub(super) queued: watch::Sender<u64>,
    /// Closes with the rest.
    pub(super) _alive: watch::Sender<()>,
    pub(super) counters: Arc<Counters>,
}

/// Where a batch, or a change, left the log.
#[derive(Clone, Copy)]
struct Written {
    last_seq: u64,
    last_queued: Option<u64>,
}

impl Batcher {
    /// Commits all, or finds out one by one which of them cannot be.
    pub(super) fn commit(&mut self, changes: &mut Vec<(Change, Done)>) {
        if changes.is_empty() {
            return;
        }
        match self.write(changes.iter().map(|(change, _)| change)) {
            Ok(answers) => {
                for ((_, done), answer) in changes.drain(..).zip(answers) {
                    self.answer(done, Ok(answer));
                }
            }
            Err(error) if changes.len() == 1 => {
                for (change, done) in changes.drain(..) {
                    tracing::warn!(review.id = %change.review.id, %error, "change not saved");
                    self.answer(done, Err(error.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(changes = changes.len(), %error, "batch not saved, trying its changes one by one");
                for (change, done) in changes.drain(..) {
                    let answer = self.write(std::iter::once(&change)).and_then(|answers| {
                        answers.into_iter().next().ok_or_else(|| StoreError::Write("nothing was written".into()))
                    });
                    self.answer(done, answer);
                }
            }
        }
    }

    /// A step of the pool, in a transaction of its own.
    pub(super) fn record(&mut self, change: &PoolChange) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        pool::write(&transaction, change, self.last_seq + 1)?;
        transaction.commit()?;
        if change.event.is_some() {
            self.last_seq += 1;
            self.committed.send_replace(self.last_seq);
        }
        Ok(())
    }

    /// A step of a webhook, in a transaction of its own: how many rows it touched.
    pub(super) fn note(&mut self, change: &HookChange) -> Result<u64, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let touched = hooks::write(&transaction, change)?;
        transaction.commit()?;
        Ok(touched)
    }

    pub(super) fn close(self) {
        // Leaves a database of one file behind; a failure only costs the next start a moment.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
    }

    fn answer(&self, done: Done, answer: Result<Committed, StoreError>) {
        self.counters.waiting.fetch_sub(1, Relaxed);
        let _ = done.send(answer);
    }

    /// One transaction. Waiters are woken before callers are answered, so a caller that then waits
    /// does not hear of its own change.
    fn write<'a>(&mut self, changes: impl Iterator<Item = &'a Change>) -> Result<Vec<Committed>, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::new();
        let mut seq = self.last_seq;
        let mut last_queued = None;
        for change in changes {
            let written = write_change(&transaction, change, seq)?;
            seq = written.last_seq;
            last_queued = written.last_queued.or(last_queued);
            answers.push(Committed { last_seq: seq });
        }
        let synced = Instant::now();
        transaction.commit()?;
        self.counters.sync.observe(synced.elapsed().as_secs_f64());
        self.last_seq = seq;
        self.counters.commits.fetch_add(1, Relaxed);
        self.counters.changes.fetch_add(answers.len() as u64, Relaxed);
        self.committed.send_replace(seq);
        if let Some(queued) = last_queued {
            self.queued.send_replace(queued);
        }
        Ok(answers)
    }
}

fn write_change(connection: &Connection, change: &Change, before: u64) -> Result<Written, StoreError> {
    let Some(first) = change.events.first() else {
        return Err(StoreError::Write("a change without an event".into()));
    };
    let mut last_queued = None;
    for (seq, recorded) in (before + 1..).zip(&change.events) {
        if enters_queue(recorded, &change.review) {
            last_queued = Some(seq);
        }
    }
    let last_seq = before + change.events.len() as u64;
    if let Some(content) = &change.content {
        statements::keep_content(connection, &change.review.round.content_hash, content)?;
    }
    if matches!(first.event, Event::Proposed(_)) {
        statements::insert_review(connection, &change.review, last_seq)?;
        statements::insert_seats(connection, &change.review)?;
    } else {
        statements::update_review_if_version(connection, change, first.version - 1, last_queued)?;
        statements::update_seats(connection, &change.review)?;
    }
    for ((seq, recorded), payload) in (before + 1..).zip(&change.events).zip(&change.payloads) {
        statements::append_event(connection, change, recorded, payload, seq)?;
        statements::put_record_of(connection, change, recorded)?;
    }
    statements::put_findings(connection, change)?;
    Ok(Written { last_seq, last_queued })
}

/// After this event, which made `review`, somebody may claim who could not before it.
fn enters_queue(recorded: &LoggedEvent, review: &Review) -> bool {
    match &recorded.event {
        Event::Proposed(_) | Event::Revised { .. } | Event::ClaimEnded { .. } | Event::ReservationEnded { .. } => true,
        Event::MessageAdded { requeued, .. } => requeued.is_some(),
        Event::CounterPatchAccepted { freed, .. } => !freed.is_empty(),
        // Others were told to try again while git looked at the diff for this one.
        Event::Claimed { .. } => review.free_seats().next().is_some(),
        // In logs of the first release a vote that undid a decision is known by the new lease, which no other gives.
        Event::VerdictGiven { verdict, lease_ends, reopens, .. } => {
            *reopens || (verdict.is_vote() && lease_ends.is_some())
        }
        Event::FindingUpdated(updated) => updated.lease_ends.is_some(),
        Event::AutoRejected { .. }
        | Event::CounterPatchRejected { .. }
        | Event::Cancelled { .. }
        | Event::Closed { .. } => false,
    }
}
