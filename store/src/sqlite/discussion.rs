//! Queries for the rounds, messages, verdicts and counter-patches of a review, and for the tokens and cost that its
//! verdicts report.

use super::{Reader, parse_all, parse_word, to_u32, to_u64};
use crate::{
    StoreError,
    query_types::{CounterPatchRow, Page, RoundRow},
};
use domain::{
    credential::Authority,
    ids::ReviewNumber,
    query_types::{Iteration, Message, ReviewerEffort},
    review::{Recipient, ReviewVersion},
    time::Timestamp,
    verdict::Verdict,
};

fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Reader {
    /// The rounds of a review, oldest first.
    pub async fn list_rounds(&self, number: ReviewNumber) -> Result<Vec<RoundRow>, StoreError> {
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object('number', round, 'content_hash', content_hash, 'submitted_hash', submitted_hash,
                                  'target', json(target), 'submitted_at', submitted_at_ms) AS "json!: String"
               FROM rounds WHERE review = ? ORDER BY round"#,
            number.0
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&rows)
    }

    /// Messages with an id above `after` and at most `version`, oldest first.
    pub async fn list_messages(
        &self,
        ReviewVersion { number, version }: ReviewVersion,
        round: Option<u32>,
        after: u64,
        limit: u32,
    ) -> Result<Page<Message>, StoreError> {
        let version = to_i64(version);
        let after = to_i64(after);
        let one_more = i64::from(limit) + 1;
        let rows = sqlx::query!(
            "SELECT id, round, persona, recipient, role, sender, body, anchor, metadata, at_ms FROM messages
             WHERE review = ?1 AND id > ?2 AND id <= ?3 AND (?4 IS NULL OR round = ?4) ORDER BY id LIMIT ?5",
            number.0,
            after,
            version,
            round,
            one_more
        )
        .fetch_all(&self.pool)
        .await?;
        let more = rows.len() > limit as usize;
        let items = rows
            .into_iter()
            .take(limit as usize)
            .map(|row| {
                Ok(Message {
                    id: to_u64(row.id)?,
                    round: to_u32(row.round)?,
                    persona: row.persona,
                    to: row.recipient.as_deref().map(|word| parse_word(word, Recipient::parse)).transpose()?,
                    sender_role: parse_word(&row.role, Authority::parse)?,
                    caller_id: row.sender,
                    body: row.body,
                    body_total: None,
                    anchor: row.anchor.as_deref().map(serde_json::from_str).transpose()?,
                    metadata: row.metadata.as_deref().map(serde_json::from_str).transpose()?,
                    at: Timestamp(row.at_ms).into(),
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        let next_cursor = items.last().filter(|_| more).map(|last| last.id.to_string());
        Ok(Page { items, next_cursor })
    }

    /// The verdicts of one round, newest first.
    pub async fn list_verdicts(
        &self,
        review: ReviewVersion,
        round: u32,
        limit: u32,
    ) -> Result<Vec<Iteration>, StoreError> {
        self.list_verdicts_of(review, round, true, limit).await
    }

    /// The last verdict of a round that is not a comment.
    pub async fn find_last_vote(&self, review: ReviewVersion, round: u32) -> Result<Option<Iteration>, StoreError> {
        Ok(self.list_verdicts_of(review, round, false, 1).await?.pop())
    }

    async fn list_verdicts_of(
        &self,
        ReviewVersion { number, version }: ReviewVersion,
        round: u32,
        comments: bool,
        limit: u32,
    ) -> Result<Vec<Iteration>, StoreError> {
        let version = to_i64(version);
        let rows = sqlx::query!(
            "SELECT id, round, persona, reviewer, verdict, reason, summary, metrics, at_ms
             FROM verdicts WHERE review = ?1 AND round = ?2 AND (?3 OR verdict <> 'comment') AND id <= ?5
             ORDER BY id DESC LIMIT ?4",
            number.0,
            round,
            comments,
            limit,
            version
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(Iteration {
                    verdict_id: to_u64(row.id)?,
                    round: to_u32(row.round)?,
                    persona: row.persona,
                    reviewer_id: row.reviewer,
                    verdict: parse_word(&row.verdict, Verdict::parse)?,
                    reason: row.reason,
                    summary: row.summary,
                    metrics: row.metrics.as_deref().map(serde_json::from_str).transpose()?,
                    at: Timestamp(row.at_ms).into(),
                })
            })
            .collect()
    }

    /// The last counter-patch offered in a round, from any seat or from one.
    pub async fn find_last_counter_patch(
        &self,
        ReviewVersion { number, version }: ReviewVersion,
        round: u32,
        persona: Option<&str>,
    ) -> Result<Option<CounterPatchRow>, StoreError> {
        let version = to_i64(version);
        let row = sqlx::query!(
            "SELECT id, round, persona, reviewer, diff, status, at_ms FROM counter_patches
             WHERE review = ?1 AND round = ?2 AND (?3 IS NULL OR persona = ?3) AND id <= ?4 ORDER BY id DESC LIMIT 1",
            number.0,
            round,
            persona,
            version
        )
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| {
            Ok(CounterPatchRow {
                id: to_u64(row.id)?,
                round: to_u32(row.round)?,
                persona: row.persona,
                by: row.reviewer,
                diff: row.diff,
                status: row.status,
                at: Timestamp(row.at_ms),
            })
        })
        .transpose()
    }

    /// The diff of one counter-patch.
    pub async fn find_counter_patch_diff(&self, number: ReviewNumber, id: u64) -> Result<Option<String>, StoreError> {
        let id = to_i64(id);
        let row = sqlx::query!("SELECT diff FROM counter_patches WHERE review = ? AND id = ?", number.0, id)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| row.diff))
    }

    /// What the verdicts of a review cost, by round, seat and reviewer, oldest first.
    pub async fn list_review_costs(
        &self,
        ReviewVersion { number, version }: ReviewVersion,
    ) -> Result<Vec<ReviewerEffort>, StoreError> {
        let version = to_i64(version);
        let rows = sqlx::query_scalar!(
            r#"SELECT json_object('round', round, 'persona', persona, 'reviewer_id', reviewer, 'verdicts', count(*),
                                  'duration_ms', CAST(total(metrics ->> '$.duration_ms') AS INTEGER),
                                  'cost_usd', total(metrics ->> '$.cost_usd'),
                                  'input_tokens', CAST(total(metrics ->> '$.input_tokens') AS INTEGER),
                                  'output_tokens', CAST(total(metrics ->> '$.output_tokens') AS INTEGER))
                          AS "json!: String"
               FROM verdicts WHERE review = ? AND id <= ? GROUP BY round, persona, reviewer ORDER BY min(id)"#,
            number.0,
            version
        )
        .fetch_all(&self.pool)
        .await?;
        parse_all(&rows)
    }
}
