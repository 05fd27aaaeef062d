//! SQL statements that write a review, its events and its findings. All of them are prepared when the database is
//! opened, so a statement that does not match the schema fails at the start and not during a review.

use super::{
    browser_sessions,
    figures::{self, FigureChanges},
    log_indexes, reviewer_pool, webhooks,
};
use crate::{Change, StoreError, write_types::claimed_at};
use domain::{
    content::{Content, ContentHash},
    figures::Worker,
    identity::identity_key,
    ids::VALIDATOR,
    review::{Event, LoggedEvent, Review, VerdictGiven},
    verdict::Verdict,
};
use rusqlite::{Connection, params};
use std::path::Path;

const INSERT_CONTENT_IF_NEW: &str =
    "INSERT INTO contents (hash, intent, description, diff, base_commit, files, flags, diff_note, file_count, added,
    removed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (hash) DO NOTHING";

const INSERT_REVIEW: &str =
    "INSERT INTO reviews (number, body, version, status, queued_seq, free_seats, round, content_hash, approved_hash,
    escalated_for, updated_at_ms, id, project, category, priority, proposer, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

const UPDATE_REVIEW_IF_VERSION: &str =
    "UPDATE reviews SET body = ?2, version = ?3, status = ?4, queued_seq = coalesce(?5, queued_seq), free_seats = ?6,
    round = ?7, content_hash = ?8, approved_hash = ?9, escalated_for = ?10, updated_at_ms = ?11
    WHERE number = ?1 AND version = ?12";

const UPSERT_SEARCH: &str = "INSERT INTO review_search (review, intent, branch) VALUES (?1, ?2, ?3)
    ON CONFLICT (review) DO UPDATE SET intent = excluded.intent, branch = excluded.branch";

const UPSERT_SEAT: &str = "INSERT INTO seats (review, position, persona, body, claimed_by, lease_ends_tick, vote,
    reserved_for, reserved_until_tick) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (review, position) DO UPDATE SET body = excluded.body, claimed_by = excluded.claimed_by,
    lease_ends_tick = excluded.lease_ends_tick, vote = excluded.vote, reserved_for = excluded.reserved_for,
    reserved_until_tick = excluded.reserved_until_tick";

const INSERT_SPELLING_IF_NEW: &str = "INSERT INTO spellings (name, key) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";

const APPEND_EVENT: &str = "INSERT INTO events (seq, review, version, kind, actor, status, round, generation, at_ms,
    tick, payload, waiting_on) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

const UPSERT_ROUND: &str = "INSERT INTO rounds (review, round, content_hash, submitted_at_ms, target)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (review, round) DO UPDATE SET submitted_hash = coalesce(submitted_hash, content_hash),
    content_hash = excluded.content_hash";

const INSERT_VERDICT: &str = "INSERT INTO verdicts (review, id, round, persona, reviewer, generation, verdict, reason,
    summary, metrics, content_hash, at_ms, claimed_at_ms, signature)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

const INSERT_MESSAGE: &str = "INSERT INTO messages (review, id, round, persona, recipient, role, sender, body,
    anchor, metadata, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

const INSERT_PATCH: &str = "INSERT INTO counter_patches (review, id, round, persona, reviewer, diff, status, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7)";

const DECIDE_PATCH_IF_PENDING: &str =
    "UPDATE counter_patches SET status = ?3 WHERE review = ?1 AND id = ?2 AND status = 'pending'";

const DROP_PATCHES_WITHOUT_SEAT: &str = "UPDATE counter_patches SET status = 'dropped'
    WHERE review = ?1 AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM seats WHERE seats.review = ?1 AND seats.patch_id = counter_patches.id)";

const UPSERT_FINDING: &str = "INSERT INTO findings (number, review, verdict, body, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (number) DO UPDATE SET body = excluded.body, updated_at_ms = excluded.updated_at_ms
    WHERE review = excluded.review";

const SAVE_BOOT: &str =
    "INSERT INTO boots (boot_id, offset_ms, first_seen_ms) VALUES (?1, ?2, ?3) ON CONFLICT (boot_id) DO NOTHING";

const ALL: &[&str] = &[
    INSERT_CONTENT_IF_NEW,
    INSERT_REVIEW,
    UPSERT_SEARCH,
    UPDATE_REVIEW_IF_VERSION,
    UPSERT_SEAT,
    INSERT_SPELLING_IF_NEW,
    APPEND_EVENT,
    UPSERT_ROUND,
    INSERT_VERDICT,
    INSERT_MESSAGE,
    INSERT_PATCH,
    DECIDE_PATCH_IF_PENDING,
    DROP_PATCHES_WITHOUT_SEAT,
    UPSERT_FINDING,
    SAVE_BOOT,
];

pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: an acknowledged change survives a power loss, not only a crash.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let figures = figures::statements();
    let others = [
        webhooks::STATEMENTS,
        reviewer_pool::STATEMENTS,
        browser_sessions::STATEMENTS,
        &figures,
        &log_indexes::STATEMENTS,
    ];
    let statements = || ALL.iter().chain(others.into_iter().flatten());
    connection.set_prepared_statement_cache_capacity(statements().count() * 2);
    for sql in statements() {
        connection.prepare_cached(sql)?;
    }
    Ok(connection)
}

/// Stores a content under the hash of its round. Hashing it again here would delay every caller.
pub(super) fn insert_content(connection: &Connection, hash: &ContentHash, content: &Content) -> Result<(), StoreError> {
    connection.prepare_cached(INSERT_CONTENT_IF_NEW)?.execute(params![
        hash.0,
        content.intent,
        content.description,
        content.diff,
        content.base_commit,
        serde_json::to_string(&content.files)?,
        serde_json::to_string(&content.flags)?,
        content.diff_note,
        content.files.len(),
        content.files.iter().map(|file| u64::from(file.added)).sum::<u64>(),
        content.files.iter().map(|file| u64::from(file.removed)).sum::<u64>(),
    ])?;
    Ok(())
}

pub(super) fn insert_review(connection: &Connection, change: &Change, queued_seq: u64) -> Result<(), StoreError> {
    let review = &change.review;
    connection.prepare_cached(INSERT_REVIEW)?.execute(params![
        review.number.0,
        change.body,
        review.version,
        review.status.as_str(),
        queued_seq,
        review.free_seats().count(),
        review.round.number,
        review.round.content_hash.0,
        review.approved_hash.as_ref().map(|hash| &hash.0),
        review.escalated.map(|escalated| escalated.why.as_str()),
        review.updated_at.0,
        review.id.to_string(),
        review.proposer.project,
        review.category.map(|category| category.as_str()),
        review.priority.rank(),
        review.proposer.identity(),
        review.created_at.0,
    ])?;
    insert_spelling(connection, review.proposer.identity())
}

/// Stores how a name is written, unless it is written like its key. Most names are.
fn insert_spelling(connection: &Connection, name: &str) -> Result<(), StoreError> {
    let key = identity_key(name);
    if key != name {
        connection.prepare_cached(INSERT_SPELLING_IF_NEW)?.execute(params![name, key])?;
    }
    Ok(())
}

/// Replaces the snapshot that the command was decided from. Fails if the database has another version.
pub(super) fn update_review_if_version(
    connection: &Connection,
    change: &Change,
    version: u64,
    queued_seq: Option<u64>,
) -> Result<(), StoreError> {
    let review = &change.review;
    let changed = connection.prepare_cached(UPDATE_REVIEW_IF_VERSION)?.execute(params![
        review.number.0,
        change.body,
        review.version,
        review.status.as_str(),
        queued_seq,
        review.free_seats().count(),
        review.round.number,
        review.round.content_hash.0,
        review.approved_hash.as_ref().map(|hash| &hash.0),
        review.escalated.map(|escalated| escalated.why.as_str()),
        review.updated_at.0,
        version,
    ])?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::Write(format!("{} is not at version {version} in the database", review.number))),
    }
}

pub(super) fn upsert_seats(connection: &Connection, change: &Change) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(UPSERT_SEAT)?;
    for (position, body) in &change.seats {
        let Some(seat) = change.review.seats.get(*position) else { continue };
        let (claim, reservation) = (seat.claim.as_ref(), seat.reservation.as_ref());
        let claimed_by = claim.map(|claim| claim.by.as_str());
        for name in [claimed_by, seat.assigned.as_deref()].into_iter().flatten() {
            insert_spelling(connection, name)?;
        }
        statement.execute(params![
            change.review.number.0,
            position,
            seat.persona,
            body,
            claimed_by,
            claim.and_then(|claim| claim.lease_ends).map(|tick| tick.0),
            seat.vote.map(Verdict::as_str),
            reservation.map(|reservation| reservation.reviewer.as_str()).or(seat.assigned.as_deref()),
            reservation.map(|reservation| reservation.until.0),
        ])?;
    }
    Ok(())
}

/// Writes what people search the review by.
fn upsert_search(connection: &Connection, review: &Review) -> Result<(), StoreError> {
    let intent = review.round.intent.to_lowercase();
    connection.prepare_cached(UPSERT_SEARCH)?.execute(params![review.number.0, intent, review.branch])?;
    Ok(())
}

pub(super) fn append_event(
    connection: &Connection,
    change: &Change,
    recorded: &LoggedEvent,
    payload: &str,
    seq: u64,
) -> Result<(), StoreError> {
    let review = &change.review;
    connection.prepare_cached(APPEND_EVENT)?.execute(params![
        seq,
        review.number.0,
        recorded.version,
        recorded.event.kind().as_str(),
        recorded.event.actor(),
        review.status.as_str(),
        review.round.number,
        review.claim_generation,
        recorded.at.0,
        change.tick.0,
        payload,
        change.waiting_on,
    ])?;
    Ok(())
}

/// Writes the rows beside the snapshot that an event adds or changes.
pub(super) fn write_event_rows(
    connection: &Connection,
    change: &Change,
    recorded: &LoggedEvent,
    figures: &mut FigureChanges,
) -> Result<(), StoreError> {
    let review = change.review.number.0;
    match &recorded.event {
        Event::Proposed(proposed) => {
            upsert_search(connection, &change.review)?;
            upsert_round(connection, change, proposed.round.number, recorded)
        }
        Event::Revised { round, .. } => {
            upsert_search(connection, &change.review)?;
            upsert_round(connection, change, round.number, recorded)?;
            drop_patches(connection, change)
        }
        Event::VerdictGiven(given) => {
            let worker = Worker { persona: given.persona.clone(), reviewer: given.by.clone() };
            figures.count_review_of(connection, change, &worker)?;
            insert_verdict(connection, change, recorded, given)
        }
        Event::MessageAdded { persona, to, role, by, round, body, anchor, metadata, requeued, .. } => {
            let anchor = anchor.as_ref().map(serde_json::to_string).transpose()?;
            let metadata = metadata.as_ref().map(ToString::to_string);
            connection.prepare_cached(INSERT_MESSAGE)?.execute(params![
                review,
                recorded.version,
                round,
                persona,
                to.map(|to| to.as_str()),
                role.as_str(),
                by,
                body,
                anchor,
                metadata,
                recorded.at.0,
            ])?;
            if requeued.is_some() { drop_patches(connection, change) } else { Ok(()) }
        }
        Event::CounterPatchAccepted { patch, .. } => {
            decide_patch(connection, review, *patch, "accepted")?;
            upsert_round(connection, change, change.review.round.number, recorded)?;
            drop_patches(connection, change)
        }
        Event::Rebased { .. } => upsert_round(connection, change, change.review.round.number, recorded),
        Event::CounterPatchRejected { patch, .. } => decide_patch(connection, review, *patch, "rejected"),
        Event::AutoRejected { message, generation, .. } => {
            let round = &change.review.round;
            connection.prepare_cached(INSERT_VERDICT)?.execute(params![
                review,
                recorded.version,
                round.number,
                VALIDATOR,
                VALIDATOR,
                generation,
                Verdict::ChangesRequested.as_str(),
                message,
                None::<&str>,
                None::<&str>,
                round.content_hash.0,
                recorded.at.0,
                None::<i64>,
                None::<&str>,
            ])?;
            drop_patches(connection, change)
        }
        Event::ClaimEnded { .. } | Event::Cancelled { .. } | Event::Closed { .. } => drop_patches(connection, change),
        Event::Claimed { .. }
        | Event::ReservationEnded { .. }
        | Event::ClaimRenewed { .. }
        | Event::SeatAdded { .. }
        | Event::FindingUpdated(_) => Ok(()),
    }
}

/// Writes the findings that a change touches. A finding keeps the verdict that raised it.
pub(super) fn upsert_findings(connection: &Connection, change: &Change) -> Result<(), StoreError> {
    if change.findings.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(UPSERT_FINDING)?;
    let review = &change.review;
    for (number, body) in &change.findings {
        let written = statement.execute(params![number, review.number.0, review.version, body, review.updated_at.0])?;
        if written == 0 {
            return Err(StoreError::Write(format!("finding {number} belongs to another review")));
        }
    }
    Ok(())
}

fn upsert_round(
    connection: &Connection,
    change: &Change,
    number: u32,
    recorded: &LoggedEvent,
) -> Result<(), StoreError> {
    let (review, hash) = (change.review.number.0, &change.review.round.content_hash.0);
    let target = change.review.round.target.as_ref().map(serde_json::to_string).transpose()?;
    connection.prepare_cached(UPSERT_ROUND)?.execute(params![review, number, hash, recorded.at.0, target])?;
    Ok(())
}

fn insert_verdict(
    connection: &Connection,
    change: &Change,
    recorded: &LoggedEvent,
    given: &VerdictGiven,
) -> Result<(), StoreError> {
    let review = change.review.number.0;
    let VerdictGiven { round, persona, by, .. } = given;
    let metrics = given.metrics.as_ref().map(serde_json::to_string).transpose()?;
    let claimed_at = claimed_at(&change.review, persona).map(|at| at.0);
    connection.prepare_cached(INSERT_VERDICT)?.execute(params![
        review,
        recorded.version,
        round,
        persona,
        by,
        given.generation,
        given.verdict.as_str(),
        given.reason,
        given.summary,
        metrics,
        given.content_hash.0,
        recorded.at.0,
        claimed_at,
        given.signature.as_ref().map(serde_json::to_string).transpose()?,
    ])?;
    if given.offers_patch {
        let diff = change.patch.as_deref().ok_or_else(|| StoreError::Write("the counter-patch has no text".into()))?;
        let row = params![review, recorded.version, round, persona, by, diff, recorded.at.0];
        connection.prepare_cached(INSERT_PATCH)?.execute(row)?;
        drop_patches(connection, change)?;
    }
    Ok(())
}

fn decide_patch(connection: &Connection, review: i64, id: u64, status: &str) -> Result<(), StoreError> {
    connection.prepare_cached(DECIDE_PATCH_IF_PENDING)?.execute(params![review, id, status])?;
    Ok(())
}

/// Marks pending counter-patches as dropped if no seat refers to them any more.
fn drop_patches(connection: &Connection, change: &Change) -> Result<(), StoreError> {
    if change.had_pending_patch || change.patch.is_some() {
        connection.prepare_cached(DROP_PATCHES_WITHOUT_SEAT)?.execute([change.review.number.0])?;
    }
    Ok(())
}

pub(super) fn save_boot(connection: &Connection, boot_id: &str, offset_ms: i64, now_ms: i64) -> Result<(), StoreError> {
    connection.prepare_cached(SAVE_BOOT)?.execute(params![boot_id, offset_ms, now_ms])?;
    Ok(())
}
