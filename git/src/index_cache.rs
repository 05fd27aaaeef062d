//! Caches the index of each base commit; the least recently used are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::GitError;

pub(crate) const CAPACITY: usize = 32;

#[derive(Debug)]
pub(crate) struct IndexCache {
    folder: PathBuf,
    /// The least recently used first.
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    base: String,
    /// Set once the file exists. Concurrent callers wait for the first one to create it.
    created: Arc<OnceCell<()>>,
}

impl IndexCache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, entries: Mutex::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn file(&self, base: &str) -> PathBuf {
        self.folder.join(base)
    }

    /// Returns the index file of `base`. If it is missing, one caller at a time runs `create`.
    pub(crate) async fn get_or_create<F>(&self, base: &str, create: impl FnOnce() -> F) -> Result<PathBuf, GitError>
    where
        F: Future<Output = Result<(), GitError>>,
    {
        let cell = self.touch(base);
        cell.get_or_try_init(create).await?;
        Ok(self.file(base))
    }

    pub(crate) fn remove(&self, base: &str) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).retain(|entry| entry.base != base);
    }

    /// Moves `base` to the most recently used end, and evicts the oldest entry if the cache is full.
    fn touch(&self, base: &str) -> Arc<OnceCell<()>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match entries.iter().position(|entry| entry.base == base) {
            Some(at) => entries.remove(at),
            None => Entry { base: base.to_owned(), created: Arc::default() },
        };
        let cell = entry.created.clone();
        entries.push(entry);
        if entries.len() > CAPACITY {
            let oldest = entries.remove(0);
            let _ = fs::remove_file(self.file(&oldest.base));
        }
        cell
    }
}
