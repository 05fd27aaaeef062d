//! Group commit: many changes in one transaction. If it fails, each change is tried alone.

use super::{reviewers, statements, webhooks, writer::Counters};
use crate::{Change, CommitReply, PoolChange, StoreError, WebhookChange};
use domain::review::{Event, LoggedEvent, Review};
use rusqlite::{Connection, TransactionBehavior};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};
use tokio::sync::watch;

pub(super) struct GroupCommit {
    pub(super) connection: Connection,
    pub(super) last_seq: u64,
    pub(super) committed: watch::Sender<u64>,
    pub(super) queued: watch::Sender<u64>,
    /// Closes the feed's `alive` channel when dropped.
    pub(super) _alive: watch::Sender<()>,
    pub(super) counters: Arc<Counters>,
}

impl GroupCommit {
    /// Commits all changes in one transaction. If that fails, commits them one by one to find those at fault.
    pub(super) fn commit(&mut self, changes: &mut Vec<(Change, CommitReply)>) {
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
    pub(super) fn write_pool_change(&mut self, change: &PoolChange) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        reviewers::write(&transaction, change, self.last_seq + 1)?;
        transaction.commit()?;
        if change.event.is_some() {
            self.last_seq += 1;
            self.committed.send_replace(self.last_seq);
        }
        Ok(())
    }

    /// Writes a change to a webhook in a transaction of its own. Returns the number of rows that changed.
    pub(super) fn write_webhook_change(&mut self, change: &WebhookChange) -> Result<u64, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let changed = webhooks::write(&transaction, change)?;
        transaction.commit()?;
        Ok(changed)
    }

    pub(super) fn close(self) {
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
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut seq = self.last_seq;
        let mut last_queued = None;
        let mut count = 0;
        for change in changes {
            last_queued = write_change(&transaction, change, seq)?.or(last_queued);
            seq += change.events.len() as u64;
            count += 1;
        }
        let started = Instant::now();
        transaction.commit()?;
        self.counters.sync.observe(started.elapsed().as_secs_f64());
        self.last_seq = seq;
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
fn write_change(connection: &Connection, change: &Change, before: u64) -> Result<Option<u64>, StoreError> {
    let Some(first) = change.events.first() else {
        return Err(StoreError::Write("the change has no event".into()));
    };
    let queued = (before + 1..).zip(&change.events).filter(|(_, recorded)| enters_queue(recorded, &change.review));
    let last_queued = queued.map(|(seq, _)| seq).last();
    if let Some(content) = &change.content {
        statements::insert_content(connection, &change.review.round.content_hash, content)?;
    }
    if matches!(first.event, Event::Proposed(_)) {
        statements::insert_review(connection, change, before + change.events.len() as u64)?;
    } else {
        statements::update_review_if_version(connection, change, first.version - 1, last_queued)?;
    }
    statements::upsert_seats(connection, change)?;
    for ((seq, recorded), payload) in (before + 1..).zip(&change.events).zip(&change.payloads) {
        statements::append_event(connection, change, recorded, payload, seq)?;
        statements::write_event_rows(connection, change, recorded)?;
    }
    statements::upsert_findings(connection, change)?;
    Ok(last_queued)
}

/// Whether this event, which led to `review`, made a seat claimable.
fn enters_queue(recorded: &LoggedEvent, review: &Review) -> bool {
    match &recorded.event {
        Event::Proposed(_) | Event::Revised { .. } | Event::ClaimEnded { .. } | Event::ReservationEnded { .. } => true,
        Event::MessageAdded { requeued, .. } => requeued.is_some(),
        Event::CounterPatchAccepted { freed, .. } => !freed.is_empty(),
        // While git checked the diff for this claim, other claims had to retry.
        Event::Claimed { .. } => review.free_seats().next().is_some(),
        Event::VerdictGiven(given) => given.reopens,
        Event::FindingUpdated(updated) => updated.lease_ends.is_some(),
        Event::AutoRejected { .. }
        | Event::CounterPatchRejected { .. }
        | Event::Cancelled { .. }
        | Event::Closed { .. } => false,
    }
}
