//! Snapshots: the rows of one review, from which its actor is rebuilt. Contents by hash.

use super::{Reader, findings, parse_word, to_u32, to_u64};
use crate::StoreError;
use domain::{
    consensus::Escalation,
    content::{Content, ContentHash},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{
        Answered, AppliesTo, Category, Claim, Decision, DiffCheck, DiffFacts, LastMessage, LastVerdict, PendingPatch,
        Proposer, Reservation, Review, Reviewed, Role, Round, Seat, Status,
    },
    time::{Tick, Timestamp},
    verdict::Verdict,
};
use quick_cache::{Weighter, sync::Cache};
use sqlx::SqliteConnection;
use std::sync::Arc;

/// Weighs a content by its approximate size in memory.
#[derive(Clone)]
struct BySize;

impl Weighter<String, Arc<Content>> for BySize {
    fn weight(&self, hash: &String, content: &Arc<Content>) -> u64 {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let size = hash.len() + content.intent.len() + text(&content.description) + text(&content.diff);
        (size + content.files.len() * 96 + 512) as u64
    }
}

/// Recently used contents. A content never changes, so a cached one is never stale.
pub(crate) struct ContentCache(Cache<String, Arc<Content>, BySize>);

impl ContentCache {
    pub(super) fn new(bytes: u64) -> Self {
        // The item estimate only sizes the first allocation.
        Self(Cache::with_weighter(1024, bytes, BySize))
    }
}

impl Reader {
    /// The review as last committed.
    pub async fn find_review(&self, id: ReviewId) -> Result<Option<Review>, StoreError> {
        let key = id.to_string();
        // One transaction for all rows, because a change may be committed between two reads.
        let mut transaction = self.pool.begin().await?;
        let row = sqlx::query!(
            "SELECT number, version, status, priority, category, agent_type, agent_role, phase, plan, task, project,
                    proposer_id, round, intent, content_hash, base_commit, patch_id, tree_id, diff_check, applies_to,
                    check_message, request_key, returned, policy, claim_generation, verdict, verdict_reason, verdict_by,
                    approved_hash, escalated_for, cancel_reason, created_at_ms, updated_at_ms, cost, target
             FROM reviews WHERE id = ?",
            key
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let seats = list_seats(&mut transaction, ReviewNumber(row.number)).await?;
        let findings = findings::list_review_findings(&mut transaction, ReviewNumber(row.number)).await?;
        drop(transaction);
        let check = match row.diff_check.as_deref() {
            None => None,
            Some("skipped") => Some(DiffCheck::Skipped),
            Some("applies") => Some(DiffCheck::Applies {
                to: parse_word(row.applies_to.as_deref().unwrap_or_default(), AppliesTo::parse)?,
                tree_id: row.tree_id,
            }),
            Some("fails") => Some(DiffCheck::Fails { message: row.check_message.unwrap_or_default() }),
            Some("unknown") => Some(DiffCheck::Unknown { why: row.check_message.unwrap_or_default() }),
            Some(other) => return Err(StoreError::corrupt(format!("unknown value {other:?}"))),
        };
        let diff = check.map(|check| DiffFacts { base_commit: row.base_commit, patch_id: row.patch_id, check });
        let decision = match (row.verdict, row.verdict_by) {
            (Some(verdict), Some(by)) => {
                Some(Decision { verdict: parse_word(&verdict, Verdict::parse)?, reason: row.verdict_reason, by })
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
            category: row.category.map(|category| parse_word(&category, Category::parse)).transpose()?,
            priority: parse_priority(row.priority)?,
            status: parse_word(&row.status, Status::parse)?,
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
            escalated: row.escalated_for.map(|why| parse_word(&why, Escalation::parse)).transpose()?,
            findings,
            cost_micro_usd: to_u64(row.cost)?,
            cancel_reason: row.cancel_reason,
            created_at: Timestamp(row.created_at_ms),
            updated_at: Timestamp(row.updated_at_ms),
        }))
    }

    pub async fn find_content(&self, hash: &ContentHash) -> Result<Option<Arc<Content>>, StoreError> {
        if let Some(content) = self.contents.0.get(&hash.0) {
            return Ok(Some(content));
        }
        let row = sqlx::query!(
            "SELECT intent, description, diff, base_commit, files, flags, diff_note FROM contents WHERE hash = ?",
            hash.0
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let content = Arc::new(Content {
            intent: row.intent,
            description: row.description,
            diff: row.diff,
            base_commit: row.base_commit,
            files: serde_json::from_str(&row.files)?,
            flags: serde_json::from_str(&row.flags)?,
            diff_note: row.diff_note,
        });
        self.cache_content(hash, &content);
        Ok(Some(content))
    }

    /// Adds a new content to the cache, so that its first reader does not go to the database.
    pub fn cache_content(&self, hash: &ContentHash, content: &Arc<Content>) {
        self.contents.0.insert(hash.0.clone(), Arc::clone(content));
    }
}

pub(super) fn parse_priority(rank: i64) -> Result<Priority, StoreError> {
    Priority::ALL
        .iter()
        .copied()
        .find(|priority| priority.rank() == rank)
        .ok_or_else(|| StoreError::corrupt(format!("unknown priority {rank}")))
}

async fn list_seats(transaction: &mut SqliteConnection, number: ReviewNumber) -> Result<Vec<Seat>, StoreError> {
    let rows = sqlx::query!(
        "SELECT persona, claimed_by, claim_generation, claimed_at_ms, lease_ends_tick, vote, reserved_for,
                reserved_until_tick, patch_id, patch_by, last_message_id, last_message_role, last_message_round,
                last_message_digest, answered_message_id, answered_message_digest, last_verdict,
                last_verdict_generation, last_verdict_digest, reviewed_round, reviewed_hash, gave_up
         FROM seats WHERE review = ? ORDER BY position",
        number.0
    )
    .fetch_all(transaction)
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
                    role: parse_word(&role, Role::parse)?,
                    round: to_u32(round)?,
                    digest,
                    answers,
                }),
                None => None,
            };
            let last_verdict = match (row.last_verdict, row.last_verdict_generation, row.last_verdict_digest) {
                (Some(verdict), Some(generation), Some(digest)) => Some(LastVerdict {
                    generation: to_u32(generation)?,
                    verdict: parse_word(&verdict, Verdict::parse)?,
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
                vote: row.vote.map(|vote| parse_word(&vote, Verdict::parse)).transpose()?,
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

#[cfg(test)]
#[path = "reviews_tests.rs"]
mod tests;
