//! Writes copies of a repository for reviewers: the files of a base commit with a diff applied, and for a copy in which tests
//! run, a repository of its own.
//!
//! That repository shares nothing with the registered one: no objects, refs, hooks or settings.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use crate::repository::Session;
use crate::{GitError, Repository};

/// How many commits before the change the history of a copy has.
const MAX_HISTORY: usize = 50;
/// The branch of the copy, which is at the base.
const BRANCH: &str = "refs/heads/review";

/// What a copy contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    Files,
    /// Files and a repository whose HEAD is the base: the change is not committed.
    Repository,
}

impl Repository {
    /// Writes the files of `base`, with `diff` applied, into the empty folder `to`. A diff that does not apply is an
    /// error.
    ///
    /// Symlinks become plain files that contain their target, so that no path in the copy leads out of it.
    pub async fn check_out(
        &self,
        base: Option<&str>,
        diff: Option<&str>,
        to: &Path,
        kind: CopyKind,
    ) -> Result<(), GitError> {
        self.0.check_size(diff.unwrap_or_default())?;
        let mut session = self.session_with_index().await?;
        if kind == CopyKind::Repository {
            session.copy_repository(base, &to.join(".git")).await?;
        }
        session.fill_index(base, diff).await?;
        let git = session.scratch("copying the files").work_tree(to);
        session.run(git.args(["-c", "core.symlinks=false", "checkout-index", "--all", "--force"]), &[]).await?;
        Ok(())
    }
}

impl Session<'_> {
    /// Writes a repository with the last commits up to `base`.
    async fn copy_repository(&mut self, base: Option<&str>, to: &Path) -> Result<(), GitError> {
        let failed = |error: io::Error| GitError::failed("copying the repository", error);
        for folder in ["objects/info", "objects/pack", "refs/heads"] {
            fs::create_dir_all(to.join(folder)).map_err(failed)?;
        }
        let format = match self.repo.layout.format.as_str() {
            "sha1" => "\trepositoryformatversion = 0\n".to_owned(),
            other => format!("\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {other}\n[core]\n"),
        };
        let config = format!("[core]\n{format}\tbare = false\n\tsymlinks = false\n[gc]\n\tauto = 0\n");
        fs::write(to.join("config"), config).map_err(failed)?;
        if let Some(base) = base {
            let (input, shallow) = self.list_recent_history(base).await?;
            let git = self.scratch("copying the history").args(["pack-objects", "--quiet", "--revs"]);
            self.run(git.args([to.join("objects/pack/pack")]), &[input.as_bytes()]).await?;
            if !shallow.is_empty() {
                fs::write(to.join("shallow"), shallow).map_err(failed)?;
            }
            self.load_index(base).await?;
            fs::copy(self.index(), to.join("index")).map_err(failed)?;
            fs::write(to.join(BRANCH), format!("{base}\n")).map_err(failed)?;
        }
        // Written last: its presence means that the repository is complete.
        fs::write(to.join("HEAD"), format!("ref: {BRANCH}\n")).map_err(failed)
    }

    /// The input of `git pack-objects --revs` for the last commits up to `base`, and the file `shallow` that lets the history
    /// end there.
    async fn list_recent_history(&mut self, base: &str) -> Result<(String, String), GitError> {
        let max = format!("--max-count={MAX_HISTORY}");
        let git = self.registered("listing the history").stdout_limit(usize::MAX);
        let output = self.run(git.args(["rev-list", "--parents", &max, base, "--"]), &[]).await?;
        let text = output.text();
        let commits: HashSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        // Git hides the parents of commits at which the history of the registered repository ends.
        let ends = fs::read_to_string(self.repo.layout.common_dir.join("shallow")).unwrap_or_default();
        let ends: HashSet<&str> = ends.lines().collect();
        let (mut input, mut shallow) = (String::new(), String::new());
        for line in text.lines() {
            let mut ids = line.split(' ');
            let Some(id) = ids.next() else { continue };
            if ends.contains(id) || !ids.all(|parent| commits.contains(parent)) {
                input.push_str(&format!("--shallow {id}\n"));
                shallow.push_str(&format!("{id}\n"));
            }
        }
        input.push_str(&format!("{base}\n"));
        Ok((input, shallow))
    }
}
