//! The index of each base commit, read once and kept for the bases used last.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::GitError;

pub(crate) const KEPT: usize = 32;

#[derive(Debug)]
pub(crate) struct Bases {
    folder: PathBuf,
    /// The least recently used first.
    known: Mutex<Vec<Base>>,
}

#[derive(Debug)]
struct Base {
    id: String,
    /// Filled when the file is there; those who come while it is being read wait for it.
    read: Arc<OnceCell<()>>,
}

impl Bases {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn file(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// The index of `id`; `read` makes it, for one caller at a time, where there is none.
    pub(crate) async fn get_or_read<F>(&self, id: &str, read: impl FnOnce() -> F) -> Result<PathBuf, GitError>
    where
        F: Future<Output = Result<(), GitError>>,
    {
        let cell = self.touch(id);
        cell.get_or_try_init(read).await?;
        Ok(self.file(id))
    }

    pub(crate) fn forget(&self, id: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|base| base.id != id);
    }

    fn touch(&self, id: &str) -> Arc<OnceCell<()>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let base = match known.iter().position(|base| base.id == id) {
            Some(at) => known.remove(at),
            None => Base { id: id.to_owned(), read: Arc::default() },
        };
        let cell = base.read.clone();
        known.push(base);
        if known.len() > KEPT {
            let oldest = known.remove(0);
            let _ = fs::remove_file(self.file(&oldest.id));
        }
        cell
    }
}
