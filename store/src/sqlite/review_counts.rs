//! Queries that count reviews by status, with the filters of a list of reviews.

use super::{
    Reader,
    identity_spellings::Spellings,
    parse_word,
    review_filter::{Walk, push_filter},
    to_u64,
};
use crate::{
    StoreError,
    query_types::{ReviewCounts, ReviewFilter},
};
use domain::review::Status;
use sqlx::{QueryBuilder, Row as _, Sqlite};

impl Reader {
    /// Counts the reviews that match any of `filters`, which have no status and no review in common.
    pub async fn count_reviews(&self, filters: &[ReviewFilter]) -> Result<ReviewCounts, StoreError> {
        let mut counts = ReviewCounts::default();
        // In one transaction, so that the numbers belong together.
        let mut transaction = self.pool.begin().await?;
        for filter in filters {
            let spellings = Spellings::read(&mut transaction, filter).await?;
            for row in select_by_status(filter, &spellings).build().fetch_all(&mut *transaction).await? {
                let status = parse_word(row.try_get("status")?, Status::parse)?;
                *counts.by_status.entry(status).or_default() += to_u64(row.try_get("count")?)?;
            }
            let escalated = select_escalated(filter, &spellings).build().fetch_one(&mut *transaction).await?;
            counts.escalated += to_u64(escalated.try_get("count")?)?;
        }
        transaction.rollback().await?;
        Ok(counts)
    }
}

fn select_by_status(filter: &ReviewFilter, spellings: &Spellings) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT r.status AS status, count(*) AS count");
    push_filter(&mut sql, Walk::of_count(filter), filter, spellings);
    sql.push(" GROUP BY r.status");
    sql
}

/// As [`domain::review::Review::escalation`].
fn select_escalated(filter: &ReviewFilter, spellings: &Spellings) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT count(*) AS count");
    push_filter(&mut sql, Walk::Reviews(Some("reviews_escalated")), filter, spellings);
    sql.push(
        " AND r.escalated_for IS NOT NULL AND r.body ->> '$.escalated.answered' = 0
          AND (r.status = 'pending' OR r.status = 'claimed' OR r.status = 'in_review' OR r.status = 'changes_requested')",
    );
    sql
}

#[cfg(test)]
#[path = "review_counts_tests.rs"]
mod tests;
