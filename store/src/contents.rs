//! Texts, by hash. A content never changes, so a cached one is never wrong.

use crate::{Reader, StoreError};
use domain::content::{Content, ContentHash};
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct BySize;

impl Weighter<String, Arc<Content>> for BySize {
    fn weight(&self, hash: &String, content: &Arc<Content>) -> u64 {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let size = hash.len() + content.intent.len() + text(&content.description) + text(&content.diff);
        (size + content.files.len() * 96 + 512) as u64
    }
}

pub(crate) struct ContentCache(Cache<String, Arc<Content>, BySize>);

impl ContentCache {
    pub(crate) fn new(bytes: u64) -> Self {
        // The item estimate only sizes the first allocation.
        Self(Cache::with_weighter(1024, bytes, BySize))
    }
}

impl Reader {
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
        self.remember_content(hash, &content);
        Ok(Some(content))
    }

    /// Saves the first reader of a fresh content the way to the database.
    pub fn remember_content(&self, hash: &ContentHash, content: &Arc<Content>) {
        self.contents.0.insert(hash.0.clone(), Arc::clone(content));
    }
}
