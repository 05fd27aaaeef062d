//! Reads the files in which a project writes down its conventions, for reviewers of every persona: those at its root and
//! the nearest ones above each changed file.

use super::Submissions;
use crate::BrokerError;
use domain::{content::Content, query_types::ConventionsFile, review::Review};
use git::Repository;
use quick_cache::sync::Cache;
use std::{collections::HashSet, sync::Arc};

const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The most folders that are searched for one review.
const MAX_FOLDERS: usize = 24;
/// The most files that a reviewer gets.
const MAX_FILES: usize = 8;
/// Folders of commits that are remembered, and the most text of one.
const CACHED_FOLDERS: usize = 128;
const MAX_CACHED_BYTES: usize = 64 << 10;

/// The files in a folder of a commit. They never change, and are the same in every repository that has the commit.
pub(crate) struct ConventionsCache(Cache<(String, String), Arc<[ConventionsFile]>>);

impl Default for ConventionsCache {
    fn default() -> Self {
        Self(Cache::new(CACHED_FOLDERS))
    }
}

impl ConventionsCache {
    async fn in_folder(
        &self,
        repository: &Repository,
        base: &str,
        folder: &str,
    ) -> Result<Arc<[ConventionsFile]>, BrokerError> {
        let key = (base.to_owned(), folder.to_owned());
        if let Some(files) = self.0.get(&key) {
            return Ok(files);
        }
        let files: Arc<[_]> = in_folder(repository, base, folder).await?.into();
        if files.iter().map(|file| file.text.len()).sum::<usize>() <= MAX_CACHED_BYTES {
            self.0.insert(key, Arc::clone(&files));
        }
        Ok(files)
    }
}

impl Submissions {
    /// The files as they are before the change, so that a change cannot choose the rules that it is judged by. Empty if
    /// the review has no repository.
    pub(crate) async fn conventions(&self, review: &Review, content: &Content) -> Vec<ConventionsFile> {
        let Ok(repository) = self.repository(review) else { return Vec::new() };
        match Box::pin(self.shared.until_shutdown(find(&self.conventions, &repository, content))).await {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(review.id = %review.id, %error, "cannot read the conventions of a project");
                Vec::new()
            }
        }
    }
}

async fn find(
    cache: &ConventionsCache,
    repository: &Repository,
    content: &Content,
) -> Result<Vec<ConventionsFile>, BrokerError> {
    let base = match &content.diff {
        Some(_) => content.base_commit.clone(),
        None => repository.resolve_base(None).await?,
    };
    let Some(base) = base else { return Ok(Vec::new()) };
    let mut files = cache.in_folder(repository, &base, "").await?.to_vec();
    let mut searched = HashSet::from([""]);
    for file in &content.files {
        let mut folder = parent(&file.path);
        // A folder that was searched before has the nearest files of this one too.
        while searched.len() < MAX_FOLDERS && searched.insert(folder) {
            let found = cache.in_folder(repository, &base, folder).await?;
            files.extend(found.iter().cloned());
            if !found.is_empty() {
                break;
            }
            folder = parent(folder);
        }
    }
    files.truncate(MAX_FILES);
    Ok(files)
}

async fn in_folder(repository: &Repository, base: &str, folder: &str) -> Result<Vec<ConventionsFile>, BrokerError> {
    let mut files = Vec::new();
    for name in NAMES {
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let bytes = repository.read_committed_file(base, &path).await?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        // A symbolic link to the other file contains its name.
        if !text.is_empty() && !NAMES.contains(&text.as_str()) {
            files.push(ConventionsFile { path, text });
        }
    }
    Ok(files)
}

/// The folder of a path; empty for the root.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
