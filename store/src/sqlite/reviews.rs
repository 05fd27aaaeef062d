//! Queries that load a review, so that its actor can start, and that load the content of a round by its hash.

use super::{Reader, parse_all};
use crate::StoreError;
use domain::{
    content::{Content, ContentHash},
    ids::ReviewId,
    review::Review,
};
use quick_cache::{Weighter, sync::Cache};
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
        let id = id.to_string();
        // One transaction for all rows, because a change may be committed between two reads.
        let mut transaction = self.pool.begin().await?;
        let row =
            sqlx::query!("SELECT number, body FROM reviews WHERE id = ?", id).fetch_optional(&mut *transaction).await?;
        let Some(row) = row else { return Ok(None) };
        let seats = sqlx::query_scalar!("SELECT body FROM seats WHERE review = ? ORDER BY position", row.number)
            .fetch_all(&mut *transaction)
            .await?;
        let findings = sqlx::query_scalar!("SELECT body FROM findings WHERE review = ? ORDER BY number", row.number)
            .fetch_all(&mut *transaction)
            .await?;
        drop(transaction);
        Ok(Some(Review {
            seats: parse_all(&seats)?,
            findings: parse_all(&findings)?,
            ..serde_json::from_str(&row.body)?
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

#[cfg(test)]
#[path = "reviews_tests.rs"]
mod tests;
