//! Which feedback a session has already been blocked for. Stored in a file per session inside `.git`.

use anyhow::Context as _;
use domain::content::digest;
use git::UserRepo;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Files of sessions that were idle for longer are deleted.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// The sequence number of the latest feedback seen, per review.
pub(super) struct SeenFeedback {
    file: PathBuf,
    reviews: BTreeMap<String, u64>,
}

impl SeenFeedback {
    pub(super) async fn load(repo: &UserRepo, session: &str) -> anyhow::Result<Self> {
        let folder = repo.root().join(repo.git(["rev-parse", "--git-path", "countersign/seen-feedback"]).await?);
        let file = folder.join(format!("{}.json", digest(&[session])));
        let reviews = fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
        Ok(Self { file, reviews: reviews.unwrap_or_default() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reviews.is_empty()
    }

    pub(super) fn contains(&self, review: &str, feedback: u64) -> bool {
        self.reviews.get(review).is_some_and(|seen| *seen >= feedback)
    }

    /// Saves to disk. Call it before the agent is blocked: feedback that is not saved would block again and again.
    pub(super) fn save(&mut self, feedback: impl IntoIterator<Item = (String, u64)>) -> anyhow::Result<()> {
        self.reviews.extend(feedback);
        let folder = self.file.parent().context("the file for seen feedback has no folder")?;
        fs::create_dir_all(folder)?;
        remove_expired(folder);
        let draft = self.file.with_extension(format!("{}", std::process::id()));
        fs::write(&draft, serde_json::to_vec(&self.reviews)?)?;
        fs::rename(&draft, &self.file).context("cannot save which feedback was seen")
    }
}

fn remove_expired(folder: &Path) {
    let is_expired = |file: &fs::DirEntry| {
        let changed = file.metadata().and_then(|meta| meta.modified()).ok();
        changed.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > RETENTION)
    };
    for file in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_expired) {
        let _ = fs::remove_file(file.path());
    }
}
