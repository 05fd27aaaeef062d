//! What the verdicts of a review took, as far as reviewers say so.

use crate::{Reader, StoreError, reader::to_u32, reader::to_u64};
use domain::ids::ReviewNumber;

/// Of one reviewer in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    pub round: u32,
    pub persona: String,
    pub by: String,
    /// Comments included.
    pub verdicts: u64,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl Reader {
    /// By round, seat and reviewer, oldest first.
    pub async fn list_efforts(&self, number: ReviewNumber) -> Result<Vec<Effort>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT round AS "round!", persona AS "persona!", reviewer AS "reviewer!", count(*) AS "verdicts!: i64",
                      total(metrics ->> '$.duration_ms') AS "duration!: f64",
                      total(metrics ->> '$.cost_usd') AS "cost!: f64",
                      total(metrics ->> '$.input_tokens') AS "input!: f64",
                      total(metrics ->> '$.output_tokens') AS "output!: f64"
               FROM verdicts WHERE review = ? GROUP BY round, persona, reviewer ORDER BY min(id)"#,
            number.0
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(Effort {
                    round: to_u32(row.round)?,
                    persona: row.persona,
                    by: row.reviewer,
                    verdicts: to_u64(row.verdicts)?,
                    duration_ms: whole(row.duration),
                    cost_usd: row.cost,
                    input_tokens: whole(row.input),
                    output_tokens: whole(row.output),
                })
            })
            .collect()
    }
}

/// A sum of what callers say, which may be more than anything that was ever counted.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
pub(crate) const fn whole(sum: f64) -> u64 {
    sum as u64
}
