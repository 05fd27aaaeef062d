//! Snapshots: the rows of one review, as its actor is rebuilt from them.

use crate::{
    Reader, StoreError, findings,
    reader::{to_u32, to_u64, word},
};
use domain::{
    consensus::Escalation,
    content::ContentHash,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{
        Answered, AppliesTo, Category, Claim, Decision, DiffCheck, DiffFacts, Event, LastMessage, LastVerdict,
        LoggedEvent, PendingPatch, Proposer, Reservation, Review, Reviewed, Role, Round, Seat, Status,
    },
    time::{Tick, Timestamp},
    verdict::Verdict,
};
use sqlx::SqliteConnection;

impl Reader {
    /// The review as last committed, or `None` if there is no such review.
    pub async fn find_review(&self, id: ReviewId) -> Result<Option<Review>, StoreError> {
        let key = id.to_string();
        // One moment for all rows: a change may be committed between two reads.
        let mut moment = self.pool.begin().await?;
        let row = sqlx::query!(
            "SELECT number, version, status, priority, category, agent_type, agent_role, phase, plan, task, project,
                    proposer_id, round, intent, content_hash, base_commit, patch_id, tree_id, diff_check, applies_to,
                    check_words, request_key, returned, policy, claim_generation, verdict, verdict_reason, verdict_by,
                    approved_hash, escalated_for, cancel_reason, created_at_ms, updated_at_ms, cost, target
             FROM reviews WHERE id = ?",
            key
        )
        .fetch_optional(&mut *moment)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let seats = list_seats(&mut moment, ReviewNumber(row.number)).await?;
        let findings = findings::list_of_review(&mut moment, ReviewNumber(row.number)).await?;
        drop(moment);
        let check = match row.diff_check.as_deref() {
            None => None,
            Some("skipped") => Some(DiffCheck::Skipped),
            Some("applies") => Some(DiffCheck::Applies {
                to: word(row.applies_to.as_deref().unwrap_or_default(), AppliesTo::parse)?,
                tree_id: row.tree_id,
            }),
            Some("fails") => Some(DiffCheck::Fails { words: row.check_words.unwrap_or_default() }),
            Some("unknown") => Some(DiffCheck::Unknown { why: row.check_words.unwrap_or_default() }),
            Some(other) => return Err(StoreError::corrupt(format!("unknown word {other:?}"))),
        };
        let diff = check.map(|check| DiffFacts { base_commit: row.base_commit, patch_id: row.patch_id, check });
        let decision = match (row.verdict, row.verdict_by) {
            (Some(verdict), Some(by)) => {
                Some(Decision { verdict: word(&verdict, Verdict::parse)?, reason: row.verdict_reason, by })
            }
            _ => None,
        };
        Ok(Some(Review {
            id,
            number: ReviewNumber(row.number),
            version: to_u64(row.version)?,
            proposer: Proposer {
                agent_type: row.agent_type,
                agent_role: row.agent_role,
                phase: row.phase,
                plan: row.plan,
                task: row.task,
                project: row.project,
                proposer_id: row.proposer_id,
            },
            category: row.category.map(|category| word(&category, Category::parse)).transpose()?,
            priority: priority(row.priority)?,
            status: word(&row.status, Status::parse)?,
            round: Round {
                number: to_u32(row.round)?,
                content_hash: ContentHash(row.content_hash),
                intent: row.intent,
                diff,
                request_key: row.request_key,
                target: row.target.as_deref().map(serde_json::from_str).transpose()?,
            },
            returned: row.returned != 0,
            seats,
            policy: serde_json::from_str(&row.policy)?,
            claim_generation: to_u32(row.claim_generation)?,
            decision,
            approved_hash: row.approved_hash.map(ContentHash),
            escalated: row.escalated_for.map(|why| word(&why, Escalation::parse)).transpose()?,
            findings,
            cost: to_u64(row.cost)?,
            cancel_reason: row.cancel_reason,
            created_at: Timestamp(row.created_at_ms),
            updated_at: Timestamp(row.updated_at_ms),
        }))
    }

    /// The proposal a review began with.
    pub async fn find_first_event(&self, number: ReviewNumber) -> Result<Option<Event>, StoreError> {
        let row = sqlx::query!("SELECT payload FROM events WHERE review = ? AND version = 1", number.0)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| serde_json::from_str(&row.payload)).transpose()?)
    }

    /// A review's whole log, oldest first.
    pub async fn list_events(&self, number: ReviewNumber) -> Result<Vec<LoggedEvent>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT version AS "version!", at_ms, payload FROM events WHERE review = ? ORDER BY version"#,
            number.0
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let event = serde_json::from_str(&row.payload)?;
                Ok(LoggedEvent { at: Timestamp(row.at_ms), version: to_u64(row.version)?, event })
            })
            .collect()
    }
}

pub(crate) fn priority(rank: i64) -> Result<Priority, StoreError> {
    Priority::ALL
        .iter()
        .copied()
        .find(|priority| priority.rank() == rank)
        .ok_or_else(|| StoreError::corrupt(format!("unknown priority {rank}")))
}

async fn list_seats(moment: &mut SqliteConnection, number: ReviewNumber) -> Result<Vec<Seat>, StoreError> {
    let rows = sqlx::query!(
        "SELECT persona, claimed_by, claim_generation, claimed_at_ms, lease_ends_tick, vote, reserved_for,
                reserved_until_tick, patch_id, patch_by, last_message_id, last_message_role, last_message_round,
                last_message_digest, answered_message_id, answered_message_digest, last_verdict,
                last_verdict_generation, last_verdict_digest, reviewed_round, reviewed_hash, gave_up
         FROM seats WHERE review = ? ORDER BY position",
        number.0
    )
    .fetch_all(moment)
    .await?;
    rows.into_iter()
        .map(|row| {
            let claim = match (row.claimed_by, row.claim_generation, row.claimed_at_ms) {
                (Some(by), Some(generation), Some(at)) => Some(Claim {
                    by,
                    generation: to_u32(generation)?,
                    at: Timestamp(at),
                    lease_ends: row.lease_ends_tick.map(Tick),
                }),
                _ => None,
            };
            let reservation = row.reserved_for.zip(row.reserved_until_tick);
            let patch = match row.patch_id.zip(row.patch_by) {
                Some((id, by)) => Some(PendingPatch { id: to_u64(id)?, by }),
                None => None,
            };
            let answers = match row.answered_message_id.zip(row.answered_message_digest) {
                Some((id, digest)) => Some(Answered { id: to_u64(id)?, digest }),
                None => None,
            };
            let spoken = row.last_message_id.zip(row.last_message_role);
            let last_message = match spoken.zip(row.last_message_round.zip(row.last_message_digest)) {
                Some(((id, role), (round, digest))) => Some(LastMessage {
                    id: to_u64(id)?,
                    role: word(&role, Role::parse)?,
                    round: to_u32(round)?,
                    digest,
                    answers,
                }),
                None => None,
            };
            let last_verdict = match (row.last_verdict, row.last_verdict_generation, row.last_verdict_digest) {
                (Some(verdict), Some(generation), Some(digest)) => Some(LastVerdict {
                    generation: to_u32(generation)?,
                    verdict: word(&verdict, Verdict::parse)?,
                    digest,
                }),
                _ => None,
            };
            let reviewed = match row.reviewed_round.zip(row.reviewed_hash) {
                Some((round, hash)) => Some(Reviewed { round: to_u32(round)?, content_hash: ContentHash(hash) }),
                None => None,
            };
            Ok(Seat {
                persona: row.persona,
                claim,
                vote: row.vote.map(|vote| word(&vote, Verdict::parse)).transpose()?,
                reservation: reservation.map(|(reviewer, until)| Reservation { reviewer, until: Tick(until) }),
                patch,
                last_message,
                last_verdict,
                reviewed,
                gave_up: row.gave_up,
            })
        })
        .collect()
}
