//! Open reviews and the feedback that waits for their proposers.

use super::ReadOnlyStore;
use crate::{
    StoreError,
    sqlite::{parse_word, to_u64},
};
use domain::{ids::ReviewNumber, review::Status, time::Timestamp};

/// Most reviews listed. More would fill an agent's context.
const MAX_OPEN: i64 = 50;

/// An open review, and what in it waits for its proposer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReview {
    pub number: ReviewNumber,
    pub status: Status,
    pub intent: String,
    pub reason: Option<String>,
    pub project: Option<String>,
    pub base: Option<String>,
    /// The proposer's name, or else its agent type.
    pub proposer: String,
    pub updated_at: Timestamp,
    /// The review's version at the latest verdict, message or counter-patch of a reviewer.
    pub feedback_version: u64,
    /// In some seat the last message is the reviewer's.
    pub has_open_message: bool,
    /// A counter-patch is neither accepted nor rejected.
    pub has_open_patch: bool,
}

impl ReadOnlyStore {
    /// Reviews that have not ended and changed since then; newest first.
    pub async fn list_open_reviews(&mut self, since: Timestamp) -> Result<Vec<OpenReview>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT r.number, r.status, r.intent, r.verdict_reason, r.project, r.base_commit, r.updated_at_ms,
                      coalesce(r.proposer_id, r.agent_type) AS "proposer!",
                      max(coalesce((SELECT max(id) FROM verdicts v WHERE v.review = r.number), 0),
                          coalesce((SELECT max(id) FROM messages m
                                    WHERE m.review = r.number AND m.role = 'reviewer'), 0),
                          coalesce((SELECT max(id) FROM counter_patches p WHERE p.review = r.number), 0))
                          AS "feedback_version!: i64",
                      EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.last_message_role = 'reviewer'
                              AND s.last_message_round = r.round) AS "has_open_message!: bool",
                      EXISTS (SELECT 1 FROM counter_patches p WHERE p.review = r.number AND p.status = 'pending')
                          AS "has_open_patch!: bool"
               FROM reviews r
               WHERE r.status IN ('pending', 'claimed', 'in_review', 'changes_requested', 'approved', 'rejected')
                 AND r.updated_at_ms >= ?1
               ORDER BY r.number DESC LIMIT ?2"#,
            since.0,
            MAX_OPEN
        )
        .fetch_all(&mut self.0)
        .await?;
        let reviews = rows.into_iter().map(|row| {
            Ok(OpenReview {
                number: ReviewNumber(row.number),
                status: parse_word(&row.status, Status::parse)?,
                intent: row.intent,
                reason: row.verdict_reason,
                project: row.project,
                base: row.base_commit,
                proposer: row.proposer,
                updated_at: Timestamp(row.updated_at_ms),
                feedback_version: to_u64(row.feedback_version)?,
                has_open_message: row.has_open_message,
                has_open_patch: row.has_open_patch,
            })
        });
        reviews.collect()
    }
}
