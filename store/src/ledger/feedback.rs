//! Open reviews, as their proposer should hear of them.

use super::Ledger;
use crate::{
    StoreError,
    reader::{to_u64, word},
};
use domain::{ids::ReviewNumber, review::Status, time::Timestamp};

/// More would fill an agent's context, and nobody keeps so many in hand.
const MAX_OPEN: i64 = 50;

/// An open review, and what in it waits for an answer of its proposer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    pub number: ReviewNumber,
    pub status: Status,
    pub intent: String,
    pub reason: Option<String>,
    pub project: Option<String>,
    pub base: Option<String>,
    /// Its proposer, by the name it gave, else by what it is.
    pub proposer: String,
    pub updated_at: Timestamp,
    /// The event that brought the latest verdict, message or counter-patch of a reviewer.
    pub said: u64,
    /// The reviewer has had the last word in some seat.
    pub message: bool,
    /// A counter-patch is neither accepted nor rejected.
    pub patch: bool,
}

impl Ledger {
    /// Reviews that are not over and were touched since then; newest first.
    pub async fn list_open(&mut self, since: Timestamp) -> Result<Vec<Feedback>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT r.number, r.status, r.intent, r.verdict_reason, r.project, r.base_commit, r.updated_at_ms,
                      coalesce(r.proposer_id, r.agent_type) AS "proposer!",
                      max(coalesce((SELECT max(id) FROM verdicts v WHERE v.review = r.number), 0),
                          coalesce((SELECT max(id) FROM messages m
                                    WHERE m.review = r.number AND m.role = 'reviewer'), 0),
                          coalesce((SELECT max(id) FROM counter_patches p WHERE p.review = r.number), 0))
                          AS "said!: i64",
                      EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.last_message_role = 'reviewer'
                              AND s.last_message_round = r.round) AS "message!: bool",
                      EXISTS (SELECT 1 FROM counter_patches p WHERE p.review = r.number AND p.status = 'pending')
                          AS "patch!: bool"
               FROM reviews r
               WHERE r.status IN ('pending', 'claimed', 'in_review', 'changes_requested', 'approved', 'rejected')
                 AND r.updated_at_ms >= ?1
               ORDER BY r.number DESC LIMIT ?2"#,
            since.0,
            MAX_OPEN
        )
        .fetch_all(&mut self.0)
        .await?;
        let feedback = rows.into_iter().map(|row| {
            Ok(Feedback {
                number: ReviewNumber(row.number),
                status: word(&row.status, Status::parse)?,
                intent: row.intent,
                reason: row.verdict_reason,
                project: row.project,
                base: row.base_commit,
                proposer: row.proposer,
                updated_at: Timestamp(row.updated_at_ms),
                said: to_u64(row.said)?,
                message: row.message,
                patch: row.patch,
            })
        });
        feedback.collect()
    }
}
