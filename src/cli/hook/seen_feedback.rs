//! ActionKind a session has been told already, kept beside the repository's own files.

use anyhow::Context as _;
use domain::content::digest;
use git::UserRepo;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Sessions that have not stopped for so long will not.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// By review: the feedback that was told last.
pub(super) struct SeenFeedback {
    file: PathBuf,
    reviews: BTreeMap<String, u64>,
}

impl SeenFeedback {
    pub(super) async fn of(repo: &UserRepo, session: &str) -> anyhow::Result<Self> {
        let folder = repo.root().join(repo.git(["rev-parse", "--git-path", "countersign/told"]).await?);
        let file = folder.join(format!("{}.json", digest(&[session])));
        let reviews = fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
        Ok(Self { file, reviews: reviews.unwrap_or_default() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reviews.is_empty()
    }

    pub(super) fn has(&self, review: &str, said: u64) -> bool {
        self.reviews.get(review).is_some_and(|told| *told >= said)
    }

    /// On disk before anybody is told: what is not remembered would be told again and again.
    pub(super) fn remember(&mut self, told: impl IntoIterator<Item = (String, u64)>) -> anyhow::Result<()> {
        self.reviews.extend(told);
        let folder = self.file.parent().context("no folder to remember in")?;
        fs::create_dir_all(folder)?;
        forget_old(folder);
        let beside = self.file.with_extension(format!("{}", std::process::id()));
        fs::write(&beside, serde_json::to_vec(&self.reviews)?)?;
        fs::rename(&beside, &self.file).context("cannot remember what was told")
    }
}

fn forget_old(folder: &Path) {
    let is_old = |file: &fs::DirEntry| {
        let changed = file.metadata().and_then(|meta| meta.modified()).ok();
        changed.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > KEPT)
    };
    for file in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_old) {
        let _ = fs::remove_file(file.path());
    }
}
