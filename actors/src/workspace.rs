//! A copy of the project for one reviewer and one review: the base with the change applied. Never the author's
//! own folder, which may have moved on and which a reviewer has no business in.

use crate::{Context, error::BrokerError};
use domain::{ids::ReviewNumber, review::Review};
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio::task::JoinHandle;

/// The folder a reviewer of the pool works in.
pub(crate) fn home(folder: &Path, reviewer: &str) -> PathBuf {
    all(folder).join(reviewer)
}

/// The folders of all reviewers.
pub(crate) fn all(folder: &Path) -> PathBuf {
    folder.join("work")
}

/// Each claim has one of its own, so that the end of one cannot take another's away.
pub(crate) fn of_claim(folder: &Path, reviewer: &str, number: ReviewNumber, generation: u32) -> PathBuf {
    home(folder, reviewer).join(format!("{number}.{generation}"))
}

/// A folder for the owner only.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes a folder when there is time.
pub(crate) fn remove(folder: PathBuf) -> JoinHandle<()> {
    tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "a reviewer's folder cannot be removed");
        }
        Ok(()) | Err(_) => {}
    })
}

impl Context {
    /// Makes the copy for a claim that `reviewer` has just been given. `None` where there is nothing to copy: the
    /// review belongs to no project, or the operator has set a folder for all reviewers.
    pub(crate) async fn check_out(&self, review: &Review, reviewer: &str) -> Result<Option<PathBuf>, BrokerError> {
        let pool = &self.settings.pool;
        let Ok(repository) = self.projects.repository(review.proposer.project.as_deref()) else { return Ok(None) };
        if pool.workspace.is_some() {
            return Ok(None);
        }
        let content = self.find_content(&review.round.content_hash).await?;
        let failed = |why: String| BrokerError::CheckFailed { why };
        let base = match &review.round.diff {
            Some(diff) => diff.base_commit.clone(),
            None => repository.resolve_base(None).await.map_err(|error| failed(error.to_string()))?,
        };
        let claim = review.seats.iter().filter(|seat| seat.is_held_by(reviewer)).find_map(|seat| seat.claim.as_ref());
        let Some(claim) = claim else { return Ok(None) };
        let folder = of_claim(&pool.folder, reviewer, review.number, claim.generation);
        // The answer was lost, and it asks again.
        if folder.exists() {
            return Ok(Some(folder));
        }
        // Under another name until it is whole; a repeat of the claim may come in between.
        let draft = folder.with_extension(format!("{}.{}", claim.generation, uuid::Uuid::new_v4().simple()));
        let at = |error: io::Error| failed(format!("{}: {error}", folder.display()));
        make(&draft).map_err(at)?;
        let diff = content.diff.as_deref();
        let copied = repository.check_out(base.as_deref(), diff, &draft).await;
        let copied = copied.map_err(|error| failed(error.to_string()));
        let kept = match copied {
            Ok(()) => tokio::fs::rename(&draft, &folder).await.map_err(at),
            Err(error) => Err(error),
        };
        if kept.is_err() {
            remove(draft);
            // Somebody else's repeat was quicker.
            return if folder.exists() { Ok(Some(folder)) } else { kept.map(|()| None) };
        }
        Ok(Some(folder))
    }
}
