//! Creates and removes the folders in which reviewer processes work: for each claim a copy of the project, the base
//! commit with the proposed change applied. A reviewer never works in the author's folder, which may have changed
//! since.

use crate::{error::BrokerError, submission::Submissions};
use domain::{ids::ReviewNumber, review::Review};
use git::CopyKind;
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio::task::JoinHandle;

/// The folder of one reviewer. `folder` is the one for the folders of all reviewers, here and below.
pub(crate) fn reviewer_folder(folder: &Path, reviewer: &str) -> PathBuf {
    root(folder).join(reviewer)
}

/// Contains the folders of all reviewers.
pub(crate) fn root(folder: &Path) -> PathBuf {
    folder.join("work")
}

/// Copies that are being written. No reviewer may change them.
pub(crate) fn drafts(folder: &Path) -> PathBuf {
    folder.join("drafts")
}

/// The private folders of a reviewer in a sandbox. Not in the folder that it works in, where its model looks around.
pub(crate) fn private_folder(folder: &Path, reviewer: &str) -> PathBuf {
    private_root(folder).join(reviewer)
}

/// Contains the private folders of all reviewers.
pub(crate) fn private_root(folder: &Path) -> PathBuf {
    folder.join("private")
}

/// The copy for one claim. Each claim has its own, so that the end of a claim removes only that copy.
pub(crate) fn claim_folder(folder: &Path, reviewer: &str, number: ReviewNumber, generation: u32) -> PathBuf {
    reviewer_folder(folder, reviewer).join(format!("{number}.{generation}"))
}

/// Creates a folder that only its owner can read.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes a folder in the background. A folder of the same name can be created at once, as the next turn of a dedicated
/// reviewer does.
pub(crate) fn remove(folder: &Path) {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".removed-{}", uuid::Uuid::new_v4().simple()));
    let removed = folder.with_file_name(name);
    match std::fs::rename(folder, &removed) {
        Ok(()) => drop(delete(removed)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => drop(delete(folder.to_owned())),
    }
}

/// Deletes a folder where it is, on a thread for blocking work.
pub(crate) fn delete(folder: PathBuf) -> JoinHandle<()> {
    tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "cannot remove the folder of a reviewer");
        }
        Ok(()) | Err(_) => {}
    })
}

impl Submissions {
    /// Makes the copy for a claim of `reviewer`. `None` if there is nothing to copy: the review belongs to no project, or
    /// pool.workspace names a folder for all reviewers.
    pub(crate) async fn check_out(&self, review: &Review, reviewer: &str) -> Result<Option<PathBuf>, BrokerError> {
        let pool = &self.shared.settings.pool;
        let Ok(repository) = self.repository(review) else { return Ok(None) };
        if pool.workspace.is_some() {
            return Ok(None);
        }
        let content = self.shared.find_content(&review.round.content_hash).await?;
        let base = match &review.round.diff {
            Some(diff) => diff.base_commit.clone(),
            None => repository.resolve_base(None).await?,
        };
        let claim = review.seats.iter().filter(|seat| seat.is_held_by(reviewer)).find_map(|seat| seat.claim.as_ref());
        let Some(claim) = claim else { return Ok(None) };
        let folder = claim_folder(&pool.work_dir, reviewer, review.number, claim.generation);
        // The reviewer repeats its claim, for example because the answer was lost.
        if folder.exists() {
            return Ok(Some(folder));
        }
        // Written elsewhere until it is complete: a repeated claim may run at the same time, and a reviewer that may change
        // its folder could lead git out of it with a link.
        let draft = drafts(&pool.work_dir).join(uuid::Uuid::new_v4().simple().to_string());
        let at = |error: io::Error| BrokerError::CheckFailed { why: format!("{}: {error}", folder.display()) };
        create(&draft).map_err(at)?;
        let diff = content.diff.as_deref();
        let kind = match pool.has_writable_copy(review.proposer.project.as_deref()) {
            true => CopyKind::Repository,
            false => CopyKind::Files,
        };
        let kept = match repository.check_out(base.as_deref(), diff, &draft, kind).await {
            Ok(()) => tokio::fs::rename(&draft, &folder).await.map_err(at),
            Err(error) => Err(error.into()),
        };
        if kept.is_err() {
            remove(&draft);
            // A repeated claim may have completed its copy first.
            return if folder.exists() { Ok(Some(folder)) } else { kept.map(|()| None) };
        }
        Ok(Some(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::{create, remove};
    use std::fs;

    #[tokio::test]
    async fn a_folder_can_be_created_again_while_it_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("security-R-1");
        for _ in 0..50 {
            create(&folder.join("R-1.1")).unwrap();
            remove(&folder);
        }
        create(&folder).unwrap();
        fs::write(folder.join("kept"), "").unwrap();
        let count = || fs::read_dir(root.path()).unwrap().count();
        while count() > 1 {
            tokio::task::yield_now().await;
        }
        assert!(folder.join("kept").exists());
    }
}
