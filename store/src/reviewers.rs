//! Reviewer processes: who runs, who ran, and what they hold.

use crate::reviews::priority;
use crate::{
    Reader, StoreError,
    reader::{to_id, to_u32, to_u64, word},
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::scaling::SpawnReason,
    priority::Priority,
    review::Status,
    time::Timestamp,
};

/// A reviewer process, running or not, with what it has done.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewerRow {
    pub id: String,
    pub name: String,
    pub runtime: String,
    pub project: Option<String>,
    pub why: SpawnReason,
    /// The one it was started for; of an agent, which finds its own, there is none.
    pub seat: Option<SeatRow>,
    pub process: ProcessRow,
    pub spawned_at: Timestamp,
    pub end: Option<ReviewerEnd>,
    pub work: Work,
}

impl ReviewerRow {
    /// By its id, or its short name.
    pub fn is_called(&self, given: &str) -> bool {
        self.id == given || self.name == given
    }
}

/// A seat of a review.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeatRow {
    pub review: ReviewNumber,
    pub persona: String,
}

/// A seat that waits for a one-shot reviewer. They sort as the queue does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeSeat {
    priority: i64,
    pub seat: SeatRow,
    pub id: ReviewId,
    pub project: Option<String>,
}

/// Which process of which boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    pub pid: u32,
    pub started: u64,
    pub boot_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerEnd {
    pub at: Timestamp,
    pub exit: String,
    /// The last lines of its output, where it failed.
    pub last_words: Vec<String>,
}

/// What a reviewer has done, as measured by the broker; tokens and cost as its client reported them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    pub approvals: u64,
    pub rejections: u64,
    pub changes_requested: u64,
    pub comments: u64,
    /// From claim to vote, all of them together.
    pub reviewing_ms: u64,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl Work {
    /// Reviews it has voted on.
    pub const fn completed(&self) -> u64 {
        self.approvals + self.rejections + self.changes_requested
    }

    pub fn average_ms(&self) -> Option<u64> {
        self.reviewing_ms.checked_div(self.completed())
    }
}

/// A review that waits for reviewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Seats that anybody may take who has none.
    pub seats: u64,
    /// Who has one, whether or not it has voted.
    pub holders: Vec<String>,
}

/// What waits in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub project: Option<String>,
    /// Those that nobody has begun.
    pub reviews: u64,
    /// Of these and of those that others have begun.
    pub free_seats: u64,
}

impl Reader {
    /// Those whose end nobody has noted: running, or left behind by a broker that was killed.
    pub async fn list_running_reviewers(&self) -> Result<Vec<(String, ProcessRow)>, StoreError> {
        let rows =
            sqlx::query!("SELECT id, pid, pid_started, boot_id FROM reviewers WHERE ended_at_ms IS NULL ORDER BY id")
                .fetch_all(&self.pool)
                .await?;
        rows.into_iter()
            .map(|row| {
                let (pid, started) = (to_u32(row.pid)?, to_u64(row.pid_started)?);
                Ok((row.id, ProcessRow { pid, started, boot_id: row.boot_id }))
            })
            .collect()
    }

    /// Those that have ended, the last to end first.
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
                    why: word(&row.why, SpawnReason::parse)?,
                    seat: row
                        .review
                        .zip(row.persona)
                        .map(|(review, persona)| SeatRow { review: ReviewNumber(review), persona }),
                    process: ProcessRow {
                        pid: to_u32(row.pid)?,
                        started: to_u64(row.pid_started)?,
                        boot_id: row.boot_id,
                    },
                    spawned_at: Timestamp(row.spawned_at_ms),
                    end: end.map(|(at, exit)| ReviewerEnd { at: Timestamp(at), exit, last_words }),
                    work: Work {
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

    /// Whether a pool of this broker, in this run or an earlier one, has started this reviewer.
    pub async fn is_pool_reviewer(&self, id: &str) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT 1 AS one FROM reviewers WHERE id = ?", id).fetch_optional(&self.pool).await?;
        Ok(row.is_some())
    }

    /// All that there ever were.
    pub async fn list_reviewer_ids(&self) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar!("SELECT id FROM reviewers").fetch_all(&self.pool).await?)
    }

    /// Whether there has ever been a pool.
    pub async fn has_reviewers(&self) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT 1 AS one FROM reviewers LIMIT 1").fetch_optional(&self.pool).await?;
        Ok(row.is_some())
    }

    /// Reviews in which `reviewer` holds a seat it has not voted for. Every such seat has a lease, and leases are
    /// few, so no index by reviewer has to be kept up.
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

    /// Reviews that are kept for `reviewer`, who was asked to look again.
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

    /// Everything that reviewers of a pool hold, or is kept for them, although they have ended.
    pub async fn list_left_by_pool(&self) -> Result<Vec<(String, ReviewId)>, StoreError> {
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

    /// Reviews of a project with seats that wait for anybody, at most `limit`: more make no difference, and a long
    /// queue takes time. Those that others have begun come first. A seat that is kept for somebody does not wait,
    /// nor does one of the personas that one-shot reviewers serve.
    pub async fn list_waiting(
        &self,
        project: Option<&str>,
        one_shot: &[&str],
        limit: u64,
    ) -> Result<Vec<Waiting>, StoreError> {
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
            .map(|row| Ok(Waiting { seats: to_u64(row.seats)?, holders: serde_json::from_str(&row.holders)? }))
            .collect()
    }

    /// Seats of these personas in a project that a one-shot reviewer may take now, at most `limit`, in the order of the
    /// queue. Not those that one has given up on in this round, and none of a review that a person has to look at.
    pub async fn list_one_shot_seats(
        &self,
        project: Option<&str>,
        personas: &[&str],
        limit: usize,
    ) -> Result<Vec<FreeSeat>, StoreError> {
        let (limit, personas) = (i64::try_from(limit).unwrap_or(i64::MAX), serde_json::to_string(personas)?);
        let mut seats = Vec::new();
        // One short walk for each, since the index begins with the status.
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

    /// What all runs for this seat have cost so far, as far as their clients said.
    pub async fn cost_of_seat(&self, seat: &SeatRow) -> Result<f64, StoreError> {
        let row = sqlx::query!(
            r#"SELECT total(cost_usd) AS "cost!: f64" FROM reviewers WHERE review = ?1 AND persona = ?2"#,
            seat.review.0,
            seat.persona
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(row.cost)
    }

    /// How many reviews can be claimed, by project and priority, from the index alone.
    pub async fn count_queue(&self) -> Result<Vec<(Option<String>, Priority, u64)>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT project, priority, count(*) AS "reviews!: i64"
               FROM reviews INDEXED BY reviews_queue_by_project WHERE free_seats > 0 GROUP BY project, priority"#
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(|row| Ok((row.project, priority(row.priority)?, to_u64(row.reviews)?))).collect()
    }

    /// What waits in each project, from the index alone.
    pub async fn count_pending(&self) -> Result<Vec<Pending>, StoreError> {
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
                Ok(Pending { project: row.project, reviews, free_seats })
            })
            .collect()
    }
}
