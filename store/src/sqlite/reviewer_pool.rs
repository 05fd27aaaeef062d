//! Queries for the pool's reviewer processes: those that run or have ended, the claims they hold, and the seats that
//! wait for one.

use super::{Reader, parse_all, parse_word, to_id, to_u64};
use crate::{
    PoolChange, StoreError,
    query_types::{DedicatedReviewer, FreeSeat, PoolPause, ProjectQueue, ReviewerRow, SeatRow, WaitingReview},
};
use domain::{
    event_kind::EventKind,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::Status,
    reviewer_pool::PoolEvent,
    time::Timestamp,
};
use rusqlite::{Connection, params};

/// Only a reviewer that is started again (?3) gets a new process. Other writers may know an older one.
const UPSERT_REVIEWER: &str = "INSERT INTO reviewers (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE
    SET body = iif(?3, excluded.body, json_set(excluded.body, '$.process', body -> '$.process'))";

const END_REVIEWER_IF_RUNNING: &str = "UPDATE reviewers
    SET body = json_set(body, '$.end', json_object('at', ?2, 'exit', ?3, 'last_words', json_array()))
    WHERE id = ?1 AND ended_at_ms IS NULL";

const APPEND_POOL_EVENT: &str =
    "INSERT INTO events (seq, kind, actor, at_ms, tick, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

pub(super) const STATEMENTS: &[&str] = &[UPSERT_REVIEWER, END_REVIEWER_IF_RUNNING, APPEND_POOL_EVENT];

impl Reader {
    /// Reviewers without a recorded end: they run, or a broker that was killed left them behind.
    pub async fn list_running_reviewers(&self) -> Result<Vec<ReviewerRow>, StoreError> {
        let bodies = sqlx::query_scalar!("SELECT body FROM reviewers WHERE ended_at_ms IS NULL ORDER BY id")
            .fetch_all(&self.pool)
            .await?;
        parse_all(&bodies)
    }

    /// Ended reviewers, the last to end first. A dedicated reviewer that comes back is not among them.
    /// `after`: when the last reviewer of the previous page ended, and its id. Also returns how many have ended.
    pub async fn list_ended_reviewers(
        &self,
        after: Option<(i64, &str)>,
        limit: u32,
    ) -> Result<(Vec<ReviewerRow>, u64), StoreError> {
        let (before_ms, id) = after.unwrap_or((i64::MAX, ""));
        let bodies = sqlx::query_scalar!(
            "SELECT body FROM reviewers
             WHERE ended_at_ms IS NOT NULL AND session IS NOT 'open' AND (ended_at_ms, id) < (?, ?)
             ORDER BY ended_at_ms DESC, id DESC LIMIT ?",
            before_ms,
            id,
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        let total = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!: i64" FROM reviewers WHERE ended_at_ms IS NOT NULL AND session IS NOT 'open'"#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok((parse_all(&bodies)?, to_u64(total)?))
    }

    pub async fn find_reviewer(&self, id: &str) -> Result<Option<ReviewerRow>, StoreError> {
        let body =
            sqlx::query_scalar!("SELECT body FROM reviewers WHERE id = ?", id).fetch_optional(&self.pool).await?;
        Ok(parse_all(body.as_slice())?.pop())
    }

    /// Dedicated reviewers that are neither finished nor stopped, running or not.
    pub async fn list_dedicated_reviewers(&self) -> Result<Vec<DedicatedReviewer>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT p.body, r.status AS "status!", r.body ->> '$.branch' AS "branch: String"
               FROM reviewers p INDEXED BY reviewers_with_session JOIN reviews r ON r.number = p.review
               WHERE p.session = 'open' ORDER BY r.number, p.id"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let status = parse_word(&row.status, Status::parse)?;
                Ok(DedicatedReviewer { row: serde_json::from_str(&row.body)?, status, branch: row.branch })
            })
            .collect()
    }

    /// Dedicated reviewers whose process does not run and whose review has ended, and has not changed after
    /// `unchanged_since`.
    pub async fn list_sessions_of_ended_reviews(
        &self,
        unchanged_since: Timestamp,
    ) -> Result<Vec<ReviewerRow>, StoreError> {
        let bodies = sqlx::query_scalar!(
            "SELECT p.body FROM reviewers p INDEXED BY reviewers_with_session JOIN reviews r ON r.number = p.review
             WHERE p.session = 'open' AND p.ended_at_ms IS NOT NULL AND r.updated_at_ms <= ?1
             AND (r.status = 'closed' OR r.status = 'cancelled' OR r.status = 'rejected')",
            unchanged_since.0
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&bodies)
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

    /// When the pool was paused and by whom, if no operator has resumed it since.
    pub async fn find_pool_pause(&self) -> Result<Option<PoolPause>, StoreError> {
        let last = sqlx::query!(
            r#"SELECT kind, at_ms, payload ->> '$.by' AS "by: String" FROM (
                   SELECT * FROM (SELECT * FROM events INDEXED BY events_of_the_pool
                                  WHERE review IS NULL AND kind = 'pool_paused' ORDER BY seq DESC LIMIT 1)
                   UNION ALL
                   SELECT * FROM (SELECT * FROM events INDEXED BY events_of_the_pool
                                  WHERE review IS NULL AND kind = 'pool_resumed' ORDER BY seq DESC LIMIT 1))
               ORDER BY seq DESC LIMIT 1"#
        )
        .fetch_optional(&self.pool)
        .await?;
        let paused = last.filter(|last| last.kind == EventKind::PoolPaused.as_str());
        Ok(paused.map(|last| PoolPause { at: Timestamp(last.at_ms), by: last.by }))
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

    /// Reviews of a project with a free seat of these personas, or (`only` is false) of all others, at most `limit`; started
    /// reviews come first. Reserved seats do not count as free.
    pub async fn list_waiting_reviews(
        &self,
        project: Option<&str>,
        personas: &[&str],
        only: bool,
        limit: u64,
    ) -> Result<Vec<WaitingReview>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let personas = serde_json::to_string(personas)?;
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object(
                   'seats', count(*) FILTER (WHERE s.claimed_by IS NULL AND s.vote IS NULL AND s.reserved_for IS NULL
                                             AND (s.persona IN (SELECT value FROM json_each(?3))) = ?4),
                   'holders', json_group_array(s.claimed_by) FILTER (WHERE s.claimed_by IS NOT NULL))
                   AS "json!: String"
               FROM (SELECT r.number FROM reviews r INDEXED BY reviews_queue_by_project
                     WHERE r.free_seats > 0 AND r.project IS ?1 AND EXISTS (
                         SELECT 1 FROM seats f WHERE f.review = r.number AND f.claimed_by IS NULL AND f.vote IS NULL
                         AND f.reserved_for IS NULL AND (f.persona IN (SELECT value FROM json_each(?3))) = ?4)
                     LIMIT ?2) w
               JOIN seats s ON s.review = w.number GROUP BY w.number"#,
            project,
            limit,
            personas,
            only
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&rows)
    }

    /// Seats of `personas` in a project that a one-shot reviewer may claim now, at most `limit`, in the order of the
    /// queue. Excludes seats that were given up in this round, and reviews that wait for
    /// an operator for another reason.
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
                r#"SELECT r.id, r.number AS "number!", r.priority, s.persona
                 FROM reviews r INDEXED BY reviews_queue_by_project CROSS JOIN seats s ON s.review = r.number
                 WHERE r.free_seats > 0 AND r.project IS ?1 AND r.status = ?2
                 AND (r.escalated_for IS NULL OR r.escalated_for = 'could_not_review'
                      OR r.body ->> '$.escalated.answered')
                 AND s.claimed_by IS NULL AND s.vote IS NULL AND s.reserved_for IS NULL AND s.gave_up IS NULL
                 AND s.persona IN (SELECT value FROM json_each(?3))
                 ORDER BY r.priority, r.number LIMIT ?4"#,
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

    /// Seats of `personas` in a project in which it is the turn of their dedicated reviewers, at most `limit` of each
    /// status, in the order of the queue. [`domain::waiting_on`] is the rule; this finds the seats that it may apply to.
    pub async fn list_dedicated_seats(
        &self,
        project: Option<&str>,
        personas: &[&str],
        limit: usize,
    ) -> Result<Vec<FreeSeat>, StoreError> {
        let (limit, personas) = (i64::try_from(limit).unwrap_or(i64::MAX), serde_json::to_string(personas)?);
        let mut seats = Vec::new();
        let mut add = |id: &str, number: i64, priority: i64, persona: String| {
            let (seat, project) = (SeatRow { review: ReviewNumber(number), persona }, project.map(Into::into));
            seats.push(FreeSeat { priority, seat, id: to_id(id)?, project });
            Ok::<(), StoreError>(())
        };
        for status in Status::ALL.iter().filter(|status| status.is_open()) {
            let status = status.as_str();
            // A reserved seat whose reviewer has asked or offered something waits for the proposer.
            let free = sqlx::query!(
                r#"SELECT r.id, r.number AS "number!", r.priority, s.persona
                 FROM reviews r INDEXED BY reviews_queue_by_project CROSS JOIN seats s ON s.review = r.number
                 LEFT JOIN reviewers p ON p.id = s.persona || '-R-' || r.number
                 WHERE r.free_seats > 0 AND r.project IS ?1 AND r.status = ?2
                 AND (r.escalated_for IS NULL OR r.body ->> '$.escalated.answered')
                 AND s.claimed_by IS NULL AND s.vote IS NULL AND s.gave_up IS NULL
                 AND (s.reserved_for IS NULL OR (s.reserved_for = s.persona || '-R-' || r.number
                      AND (s.body ->> '$.asked_reviewer' IS NOT NULL
                           OR (s.body ->> '$.asked_proposer' IS NULL AND s.body ->> '$.patch.status' IS NOT 'pending'))))
                 AND p.session IS NOT 'stopped' AND s.persona IN (SELECT value FROM json_each(?3))
                 ORDER BY r.priority, r.number LIMIT ?4"#,
                project,
                status,
                personas,
                limit
            )
            .fetch_all(&self.pool)
            .await?;
            for row in free {
                add(&row.id, row.number, row.priority, row.persona)?;
            }
        }
        // Reviewers that have voted and are asked something.
        let asked = sqlx::query!(
            r#"SELECT r.id, r.number AS "number!", r.priority, s.persona
             FROM reviewers p INDEXED BY reviewers_with_session
             JOIN reviews r ON r.number = p.review JOIN seats s ON s.review = r.number AND s.claimed_by = p.id
             WHERE p.session = 'open' AND p.ended_at_ms IS NOT NULL AND r.project IS ?1
             AND (r.escalated_for IS NULL OR r.body ->> '$.escalated.answered')
             AND (r.status = 'claimed' OR r.status = 'in_review' OR r.status = 'changes_requested'
                  OR r.status = 'approved')
             AND s.body ->> '$.asked_reviewer' IS NOT NULL AND s.persona IN (SELECT value FROM json_each(?2))
             ORDER BY r.priority, r.number LIMIT ?3"#,
            project,
            personas,
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        for row in asked {
            add(&row.id, row.number, row.priority, row.persona)?;
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
        let priority = |rank: i64| Priority::ALL.iter().copied().find(|priority| priority.rank() == rank);
        let unknown = |rank: i64| StoreError::corrupt(format!("unknown priority {rank}"));
        rows.into_iter()
            .map(|row| {
                let priority = priority(row.priority).ok_or_else(|| unknown(row.priority))?;
                Ok((row.project, priority, to_u64(row.reviews)?))
            })
            .collect()
    }

    /// The queue of each project, read from the index alone.
    pub async fn count_queue_by_project(&self) -> Result<Vec<ProjectQueue>, StoreError> {
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object('project', project, 'reviews', count(*) FILTER (WHERE status = 'pending'),
                                  'free_seats', sum(free_seats)) AS "json!: String"
               FROM reviews INDEXED BY reviews_queue_by_project WHERE free_seats > 0 GROUP BY project"#
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&rows)
    }
}

/// `seq` is the number of the change's event, if it has one.
pub(super) fn write(connection: &Connection, change: &PoolChange, seq: u64) -> Result<(), StoreError> {
    if let Some(row) = &change.reviewer {
        let is_restarted =
            matches!(change.event, Some(PoolEvent::ReviewerSpawned { .. } | PoolEvent::ReviewerRetried { .. }));
        let body = serde_json::to_string(row)?;
        connection.prepare_cached(UPSERT_REVIEWER)?.execute(params![row.id, body, is_restarted])?;
    }
    let Some(event) = &change.event else { return Ok(()) };
    // For a reviewer of an earlier run the caller has no row, only its end.
    if let (PoolEvent::ReviewerTerminated { reviewer, exit, .. }, None) = (event, &change.reviewer) {
        connection.prepare_cached(END_REVIEWER_IF_RUNNING)?.execute(params![reviewer, change.at.0, exit])?;
    }
    let payload = serde_json::to_string(event)?;
    let row = params![seq, event.kind().as_str(), event.actor(), change.at.0, change.tick.0, payload];
    connection.prepare_cached(APPEND_POOL_EVENT)?.execute(row)?;
    Ok(())
}
