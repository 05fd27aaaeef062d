//! What is written of reviewer processes: their row, and an event in the one log.

use crate::{
    StoreError,
    reviewers::{ReviewerRow, Work},
};
use domain::{
    pool::PoolEvent,
    time::{Tick, Timestamp},
};
use rusqlite::{Connection, params};

/// One step of the pool.
#[derive(Debug, Clone)]
pub struct PoolChange {
    pub at: Timestamp,
    pub tick: Tick,
    /// The row to add or bring up to date.
    pub reviewer: Option<ReviewerRow>,
    pub event: Option<PoolEvent>,
}

const PUT_REVIEWER: &str = "INSERT INTO reviewers (id, name, runtime, project, why, pid, pid_started, boot_id,
    spawned_at_ms, ended_at_ms, exit, last_words, approvals, rejections, changes_requested, comments, reviewing_ms,
    input_tokens, output_tokens, cost_usd, review, persona)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
    ON CONFLICT (id) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, exit = excluded.exit,
    last_words = excluded.last_words, approvals = excluded.approvals, rejections = excluded.rejections,
    changes_requested = excluded.changes_requested, comments = excluded.comments,
    reviewing_ms = excluded.reviewing_ms, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd";

/// Of one whose second process this is.
const MOVE_REVIEWER: &str = "UPDATE reviewers SET pid = ?2, pid_started = ?3, boot_id = ?4 WHERE id = ?1";

const END_REVIEWER_IF_RUNNING: &str =
    "UPDATE reviewers SET ended_at_ms = ?2, exit = ?3 WHERE id = ?1 AND ended_at_ms IS NULL";

const APPEND_POOL_EVENT: &str =
    "INSERT INTO events (seq, kind, actor, at_ms, tick, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

pub(super) const ALL: &[&str] = &[PUT_REVIEWER, MOVE_REVIEWER, END_REVIEWER_IF_RUNNING, APPEND_POOL_EVENT];

/// Writes the step; `seq` is the place of its event, if it has one.
pub(super) fn write(connection: &Connection, change: &PoolChange, seq: u64) -> Result<(), StoreError> {
    if let Some(row) = &change.reviewer {
        put_reviewer(connection, row)?;
        if let Some(PoolEvent::ReviewerRetried { .. }) = &change.event {
            let process = &row.process;
            let process = params![row.id, process.pid, process.started, process.boot_id];
            connection.prepare_cached(MOVE_REVIEWER)?.execute(process)?;
        }
    }
    let Some(event) = &change.event else { return Ok(()) };
    // A reviewer of an earlier run has no row to bring along: only its end is new.
    if let (PoolEvent::ReviewerTerminated { reviewer, exit, .. }, None) = (event, &change.reviewer) {
        connection.prepare_cached(END_REVIEWER_IF_RUNNING)?.execute(params![reviewer, change.at.0, exit])?;
    }
    let payload = serde_json::to_string(event)?;
    let row = params![seq, event.kind(), event.reviewer(), change.at.0, change.tick.0, payload];
    connection.prepare_cached(APPEND_POOL_EVENT)?.execute(row)?;
    Ok(())
}

fn put_reviewer(connection: &Connection, row: &ReviewerRow) -> Result<(), StoreError> {
    let Work {
        approvals,
        rejections,
        changes_requested,
        comments,
        reviewing_ms,
        input_tokens,
        output_tokens,
        cost_usd,
    } = &row.work;
    let end = row.end.as_ref();
    let last_words = end.map(|end| serde_json::to_string(&end.last_words)).transpose()?;
    connection.prepare_cached(PUT_REVIEWER)?.execute(params![
        row.id,
        row.name,
        row.runtime,
        row.project,
        row.why.as_str(),
        row.process.pid,
        row.process.started,
        row.process.boot_id,
        row.spawned_at.0,
        end.map(|end| end.at.0),
        end.map(|end| &end.exit),
        last_words,
        approvals,
        rejections,
        changes_requested,
        comments,
        reviewing_ms,
        input_tokens,
        output_tokens,
        cost_usd,
        row.seat.as_ref().map(|seat| seat.review.0),
        row.seat.as_ref().map(|seat| seat.persona.as_str()),
    ])?;
    Ok(())
}
