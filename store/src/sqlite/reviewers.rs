//! Reviewer processes of the pool: running, ended, what they hold, and which seats wait for them.

use super::{Reader, parse_word, reviews::parse_priority, to_id, to_u32, to_u64};
use crate::{
    PoolChange, StoreError,
    rows::{FreeSeat, ProcessIdentity, ProjectQueue, ReviewerEnd, ReviewerRow, ReviewerWork, SeatRow, WaitingReview},
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::PoolEvent,
    pool::scaling::SpawnReason,
    priority::Priority,
    review::Status,
    time::Timestamp,
};
use rusqlite::{Connection, params};

const PUT_REVIEWER: &str = "INSERT INTO reviewers (id, name, runtime, project, why, pid, pid_started, boot_id,
    spawned_at_ms, ended_at_ms, exit, last_words, approvals, rejections, changes_requested, comments, reviewing_ms,
    input_tokens, output_tokens, cost_usd, review, persona)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
    ON CONFLICT (id) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, exit = excluded.exit,
    last_words = excluded.last_words, approvals = excluded.approvals, rejections = excluded.rejections,
    changes_requested = excluded.changes_requested, comments = excluded.comments,
    reviewing_ms = excluded.reviewing_ms, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd";

/// For a reviewer that was started again in a new process.
const REPLACE_PROCESS: &str = "UPDATE reviewers SET pid = ?2, pid_started = ?3, boot_id = ?4 WHERE id = ?1";

const END_REVIEWER_IF_RUNNING: &str =
    "UPDATE reviewers SET ended_at_ms = ?2, exit = ?3 WHERE id = ?1 AND ended_at_ms IS NULL";

const APPEND_POOL_EVENT: &str =
    "INSERT INTO events (seq, kind, actor, at_ms, tick, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

pub(super) const STATEMENTS: &[&str] = &[PUT_REVIEWER, REPLACE_PROCESS, END_REVIEWER_IF_RUNNING, APPEND_POOL_EVENT];

impl Reader {
    /// Reviewers without a recorded end: they run, or a broker that was killed left them behind.
    pub async fn list_running_reviewers(&self) -> Result<Vec<(String, ProcessIdentity)>, StoreError> {
        let rows =
            sqlx::query!("SELECT id, pid, pid_started, boot_id FROM reviewers WHERE ended_at_ms IS NULL ORDER BY id")
                .fetch_all(&self.pool)
                .await?;
        rows.into_iter()
            .map(|row| {
                let (pid, start_time) = (to_u32(row.pid)?, to_u64(row.pid_started)?);
                Ok((row.id, ProcessIdentity { pid, start_time, boot_id: row.boot_id }))
            })
            .collect()
    }

    /// Ended reviewers, the last to end first.
    pub async fn list_ended_reviewers(&self, limit: u32) -> Result<Vec<ReviewerRow>, StoreError> {
        let rows = sqlx::query!(
            "SELECT id, name, runtime, project, why, pid, pid_started, boot_id, spawned_at_ms, ended_at_ms, exit,
                    last_words, approvals, rejections, changes_requested, comments, reviewing_ms, input_tokens,
                    output_tokens, cost_usd, review, persona
             FROM reviewers WHERE ended_at_ms IS NOT NULL ORDER BY ended_at_ms DESC LIMIT ?",
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let last_words = row.last_words.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default();
                let end = row.ended_at_ms.zip(row.exit);
                Ok(ReviewerRow {
                    id: row.id,
                    name: row.name,
                    runtime: row.runtime,
                    project: row.project,
                    why: parse_word(&row.why, SpawnReason::parse)?,
                    seat: row
                        .review
                        .zip(row.persona)
                        .map(|(review, persona)| SeatRow { review: ReviewNumber(review), persona }),
                    process: ProcessIdentity {
                        pid: to_u32(row.pid)?,
                        start_time: to_u64(row.pid_started)?,
                        boot_id: row.boot_id,
                    },
                    spawned_at: Timestamp(row.spawned_at_ms),
                    end: end.map(|(at, exit)| ReviewerEnd { at: Timestamp(at), exit, last_words }),
                    work: ReviewerWork {
                        approvals: to_u64(row.approvals)?,
                        rejections: to_u64(row.rejections)?,
                        changes_requested: to_u64(row.changes_requested)?,
                        comments: to_u64(row.comments)?,
                        reviewing_ms: to_u64(row.reviewing_ms)?,
                        input_tokens: row.input_tokens.map(to_u64).transpose()?,
                        output_tokens: row.output_tokens.map(to_u64).transpose()?,
                        cost_usd: row.cost_usd,
                    },
                })
            })
            .collect()
    }

    /// Whether the pool started this reviewer, in this run of the broker or an earlier one.
    pub async fn is_pool_reviewer(&self, id: &str) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT 1 AS one FROM reviewers WHERE id = ?", id).fetch_optional(&self.pool).await?;
        Ok(row.is_some())
    }

    /// The ids of all reviewers that were ever started.
    pub async fn list_reviewer_ids(&self) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar!("SELECT id FROM reviewers").fetch_all(&self.pool).await?)
    }

    /// Whether a pool ever started a reviewer.
    pub async fn has_reviewers(&self) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT 1 AS one FROM reviewers LIMIT 1").fetch_optional(&self.pool).await?;
        Ok(row.is_some())
    }

    /// Reviews in which `reviewer` holds a seat without having voted. Every such seat has a lease, and leases are few,
    /// so this needs no index by reviewer.
    pub async fn list_claimed_by(&self, reviewer: &str) -> Result<Vec<ReviewId>, StoreError> {
        let rows = sqlx::query!(
            "SELECT r.id FROM seats s INDEXED BY seats_by_lease JOIN reviews r ON r.number = s.review
             WHERE s.lease_ends_tick IS NOT NULL AND s.claimed_by = ?",
            reviewer
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| to_id(&row.id)).collect()
    }

    /// Reviews with a seat reserved for `reviewer`.
    pub async fn list_reserved_for(&self, reviewer: &str) -> Result<Vec<ReviewId>, StoreError> {
        let rows = sqlx::query!(
            "SELECT r.id FROM seats s INDEXED BY seats_by_reservation JOIN reviews r ON r.number = s.review
             WHERE s.reserved_until_tick IS NOT NULL AND s.reserved_for = ?",
            reviewer
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| to_id(&row.id)).collect()
    }

    /// Claims and reservations of pool reviewers that have ended.
    pub async fn list_claims_of_ended_reviewers(&self) -> Result<Vec<(String, ReviewId)>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT s.claimed_by AS "reviewer!", r.id AS "id!" FROM seats s INDEXED BY seats_by_lease
               JOIN reviewers p ON p.id = s.claimed_by AND p.ended_at_ms IS NOT NULL
               JOIN reviews r ON r.number = s.review WHERE s.lease_ends_tick IS NOT NULL
               UNION
               SELECT s.reserved_for, r.id FROM seats s INDEXED BY seats_by_reservation
               JOIN reviewers p ON p.id = s.reserved_for AND p.ended_at_ms IS NOT NULL
               JOIN reviews r ON r.number = s.review WHERE s.reserved_until_tick IS NOT NULL"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(|row| Ok((row.reviewer, to_id(&row.id)?))).collect()
    }

    /// Reviews of a project with a free seat, at most `limit`; started reviews come first. Reserved seats and seats of
    /// the personas in `one_shot` do not count as free.
    pub async fn list_waiting_reviews(
        &self,
        project: Option<&str>,
        one_shot: &[&str],
        limit: u64,
    ) -> Result<Vec<WaitingReview>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let one_shot = serde_json::to_string(one_shot)?;
        let rows = sqlx::query!(
            r#"SELECT count(*) FILTER (WHERE s.claimed_by IS NULL AND s.vote IS NULL AND s.reserved_for IS NULL
                          AND s.persona NOT IN (SELECT value FROM json_each(?3))) AS "seats!: i64",
                      json_group_array(s.claimed_by) FILTER (WHERE s.claimed_by IS NOT NULL) AS "holders!: String"
               FROM (SELECT r.number FROM reviews r INDEXED BY reviews_queue_by_project
                     WHERE r.free_seats > 0 AND r.project IS ?1 AND EXISTS (
                         SELECT 1 FROM seats f WHERE f.review = r.number AND f.claimed_by IS NULL AND f.vote IS NULL
                         AND f.reserved_for IS NULL AND f.persona NOT IN (SELECT value FROM json_each(?3)))
                     LIMIT ?2) w
               JOIN seats s ON s.review = w.number GROUP BY w.number"#,
            project,
            limit,
            one_shot
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| Ok(WaitingReview { seats: to_u64(row.seats)?, holders: serde_json::from_str(&row.holders)? }))
            .collect()
    }

    /// Seats of `personas` in a project that a one-shot reviewer may claim now, at most `limit`, in the order of the
    /// queue. Excludes seats that were given up in this round, and escalated reviews.
    pub async fn list_one_shot_seats(
        &self,
        project: Option<&str>,
        personas: &[&str],
        limit: usize,
    ) -> Result<Vec<FreeSeat>, StoreError> {
        let (limit, personas) = (i64::try_from(limit).unwrap_or(i64::MAX), serde_json::to_string(personas)?);
        let mut seats = Vec::new();
        // One short walk for each status, because the index starts with it.
        for status in Status::ALL.iter().filter(|status| status.is_open()) {
            let status = status.as_str();
            let rows = sqlx::query!(
                "SELECT r.id, r.number, r.priority, s.persona
                 FROM reviews r INDEXED BY reviews_queue_by_project CROSS JOIN seats s ON s.review = r.number
                 WHERE r.free_seats > 0 AND r.project IS ?1 AND r.status = ?2 AND r.escalated_for IS NULL
                 AND s.claimed_by IS NULL AND s.vote IS NULL AND s.reserved_for IS NULL AND s.gave_up IS NULL
                 AND s.persona IN (SELECT value FROM json_each(?3))
                 ORDER BY r.priority, r.number LIMIT ?4",
                project,
                status,
                personas,
                limit
            )
            .fetch_all(&self.pool)
            .await?;
            for row in rows {
                let seat = SeatRow { review: ReviewNumber(row.number), persona: row.persona };
                let (id, project) = (to_id(&row.id)?, project.map(Into::into));
                seats.push(FreeSeat { priority: row.priority, seat, id, project });
            }
        }
        seats.sort_unstable();
        Ok(seats)
    }

    /// What all runs for this seat have cost so far, as far as their clients reported it.
    pub async fn sum_seat_cost(&self, seat: &SeatRow) -> Result<f64, StoreError> {
        let row = sqlx::query!(
            r#"SELECT total(cost_usd) AS "cost!: f64" FROM reviewers WHERE review = ?1 AND persona = ?2"#,
            seat.review.0,
            seat.persona
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(row.cost)
    }

    /// The number of claimable reviews by project and priority, read from the index alone.
    pub async fn count_queue(&self) -> Result<Vec<(Option<String>, Priority, u64)>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT project, priority, count(*) AS "reviews!: i64"
               FROM reviews INDEXED BY reviews_queue_by_project WHERE free_seats > 0 GROUP BY project, priority"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(|row| Ok((row.project, parse_priority(row.priority)?, to_u64(row.reviews)?))).collect()
    }

    /// The queue of each project, read from the index alone.
    pub async fn count_queue_by_project(&self) -> Result<Vec<ProjectQueue>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT project, count(*) FILTER (WHERE status = 'pending') AS "pending!: i64",
                      sum(free_seats) AS "free_seats!: i64"
               FROM reviews INDEXED BY reviews_queue_by_project WHERE free_seats > 0 GROUP BY project"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let (reviews, free_seats) = (to_u64(row.pending)?, to_u64(row.free_seats)?);
                Ok(ProjectQueue { project: row.project, reviews, free_seats })
            })
            .collect()
    }
}

/// `seq` is the number of the change's event, if it has one.
pub(super) fn write(connection: &Connection, change: &PoolChange, seq: u64) -> Result<(), StoreError> {
    if let Some(row) = &change.reviewer {
        put_reviewer(connection, row)?;
        if let Some(PoolEvent::ReviewerRetried { .. }) = &change.event {
            let process = &row.process;
            let process = params![row.id, process.pid, process.start_time, process.boot_id];
            connection.prepare_cached(REPLACE_PROCESS)?.execute(process)?;
        }
    }
    let Some(event) = &change.event else { return Ok(()) };
    // For a reviewer of an earlier run the caller has no row, only its end.
    if let (PoolEvent::ReviewerTerminated { reviewer, exit, .. }, None) = (event, &change.reviewer) {
        connection.prepare_cached(END_REVIEWER_IF_RUNNING)?.execute(params![reviewer, change.at.0, exit])?;
    }
    let payload = serde_json::to_string(event)?;
    let row = params![seq, event.kind().as_str(), event.reviewer(), change.at.0, change.tick.0, payload];
    connection.prepare_cached(APPEND_POOL_EVENT)?.execute(row)?;
    Ok(())
}

fn put_reviewer(connection: &Connection, row: &ReviewerRow) -> Result<(), StoreError> {
    let ReviewerWork {
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
        row.process.start_time,
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
