//! Applies a diff to a commit in the scratch repository, and reports whether it applies and which tree results.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use domain::diff::{ApplyPart, ZeroContext, apply_parts};
use domain::review::{AppliesTo, DiffCheck, HeadCheck};

use crate::process::Output;
use crate::repository::Session;
use crate::{GitError, Repository};

impl Repository {
    /// Reports whether `diff` applies to the commit `base`: a full id from [`Self::resolve_base`], or `None` for the
    /// empty tree.
    ///
    /// Dropping the future kills git and removes the files that it wrote.
    pub async fn check(&self, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        self.0.check_size(diff)?;
        self.0.check_id(base)?;
        let mut session = self.session_with_index().await?;
        session.fill_index(base, None).await?;
        for part in apply_parts(diff) {
            if let Some(rejection) = session.apply(part, Direction::Forward).await? {
                return session.check_worktree(part, diff, rejection).await;
            }
        }
        let tree_id = Some(session.write_tree().await?);
        Ok(DiffCheck::Applies { to: AppliesTo::Base, tree_id })
    }

    /// Reports whether `diff` applies to HEAD, and how many commits HEAD has that `base` does not have. `None` if HEAD
    /// is `base` or does not name a commit.
    ///
    /// If HEAD is `base`, git only resolves HEAD.
    pub async fn check_head(&self, base: Option<&str>, diff: &str) -> Result<Option<HeadCheck>, GitError> {
        self.0.check_size(diff)?;
        self.0.check_id(base)?;
        let mut session = self.session_with_index().await?;
        let Ok(commit) = session.find_commit("HEAD").await? else { return Ok(None) };
        if base == Some(commit.as_str()) {
            return Ok(None);
        }
        let behind = session.count_commits(base, &commit).await?;
        let (check, contains) = match session.fill_index(Some(&commit), Some(diff)).await {
            Ok(()) => (DiffCheck::Applies { to: AppliesTo::Base, tree_id: Some(session.write_tree().await?) }, false),
            Err(GitError::DoesNotApply { message }) => {
                (DiffCheck::Fails { message }, session.is_contained(&commit, diff).await?)
            }
            // Its objects are missing, so there is nothing to compare with.
            Err(GitError::UnknownBase { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(HeadCheck { commit, behind, check, contains }))
    }

    /// Writes the files of `base`, with `diff` applied, into the empty folder `to`. A diff that does not apply is an
    /// error.
    ///
    /// Symlinks become plain files that contain their target, so that no path in the copy leads out of it.
    pub async fn check_out(&self, base: Option<&str>, diff: Option<&str>, to: &Path) -> Result<(), GitError> {
        let mut session = self.session_with_index().await?;
        session.fill_index(base, diff).await?;
        let git = session.scratch("copying the files").work_tree(to);
        session.run(git.args(["-c", "core.symlinks=false", "checkout-index", "--all", "--force"]), &[]).await?;
        Ok(())
    }

    /// Computes git's stable patch id, which is equal for diffs that differ only in line numbers and white space.
    ///
    /// Returns `None` if the text has no change, or the changes of several mails.
    pub async fn patch_id(&self, diff: &str) -> Result<Option<String>, GitError> {
        self.0.check_size(diff)?;
        let mut session = self.session().await?;
        let git = session.scratch("computing the patch id").args(["patch-id", "--stable"]);
        let text = session.run(git, &with_final_newline(diff)).await?.text();
        let id = (text.lines().count() == 1).then(|| text.split(' ').next()).flatten();
        Ok(id.map(str::to_owned))
    }
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Forward,
    /// Takes the changes back.
    Reverse,
}

impl Session<'_> {
    /// Fills the index with `base`, or empties it, and applies `diff`.
    pub(crate) async fn fill_index(&mut self, base: Option<&str>, diff: Option<&str>) -> Result<(), GitError> {
        self.repo.check_id(base)?;
        self.repo.check_size(diff.unwrap_or_default())?;
        match base {
            Some(base) => self.load_index(base).await?,
            None => match fs::remove_file(self.index()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(GitError::failed("emptying the index", error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        for part in diff.map(apply_parts).unwrap_or_default() {
            if let Some(message) = self.apply(part, Direction::Forward).await? {
                return Err(GitError::DoesNotApply { message });
            }
        }
        Ok(())
    }

    /// Whether `commit` has the changes of `diff`, so that they can be taken back.
    async fn is_contained(&mut self, commit: &str, diff: &str) -> Result<bool, GitError> {
        self.fill_index(Some(commit), None).await?;
        for part in apply_parts(diff).into_iter().rev() {
            if self.apply(part, Direction::Reverse).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) async fn write_tree(&mut self) -> Result<String, GitError> {
        // A partial clone may lack some of the borrowed objects; the tree id does not depend on them.
        let git = self.scratch("writing the tree").args(["write-tree", "--missing-ok"]);
        let output = self.run(git, &[]).await?;
        let id = output.text();
        if self.repo.layout.is_id(&id) { Ok(id) } else { Err(GitError::failed("writing the tree", output.stderr())) }
    }

    /// Applies to the private index. Returns git's message if it rejects the diff.
    async fn apply(&mut self, part: ApplyPart<'_>, direction: Direction) -> Result<Option<String>, GitError> {
        let certain = part.zero_context == ZeroContext::Certain;
        let rejection = self.apply_once(part, direction, certain).await?;
        if rejection.is_none() || part.zero_context != ZeroContext::Possible {
            return Ok(rejection);
        }
        // The hunk was not a whole file after all. Git leaves the index unchanged when it rejects a diff.
        let second_rejection = self.apply_once(part, direction, true).await?;
        Ok(second_rejection.and(rejection))
    }

    async fn apply_once(
        &mut self,
        part: ApplyPart<'_>,
        direction: Direction,
        zero_context: bool,
    ) -> Result<Option<String>, GitError> {
        let git = self.scratch("applying the diff").args(["apply", "--cached"]);
        let git = match direction {
            Direction::Forward => git,
            Direction::Reverse => git.args(["--reverse"]),
        };
        let git = git.args(apply_options(part, zero_context));
        find_rejection(&self.try_run(git, &with_final_newline(part.text)).await?)
    }

    /// Tries the working tree of a trusted repository after `rejection` by the base.
    ///
    /// Git reads the working tree through the scratch repository, so no filter runs here either.
    async fn check_worktree(
        &mut self,
        part: ApplyPart<'_>,
        diff: &str,
        rejection: String,
    ) -> Result<DiffCheck, GitError> {
        if self.repo.trusted && !self.repo.layout.bare {
            let git =
                self.scratch("checking the working tree").work_tree(&self.repo.layout.root).args(["apply", "--check"]);
            let git = git.args(apply_options(part, part.zero_context != ZeroContext::No));
            if find_rejection(&self.try_run(git, &with_final_newline(diff)).await?)?.is_none() {
                return Ok(DiffCheck::Applies { to: AppliesTo::Worktree, tree_id: None });
            }
        }
        Ok(DiffCheck::Fails { message: rejection })
    }
}

fn apply_options(part: ApplyPart<'_>, zero_context: bool) -> [&'static str; 4] {
    let strip = if part.strip == 0 { "-p0" } else { "-p1" };
    let context = if zero_context { "--unidiff-zero" } else { "--no-unidiff-zero" };
    ["--whitespace=nowarn", strip, context, "-"]
}

/// `None` if git applied the whole diff.
fn find_rejection(output: &Output) -> Result<Option<String>, GitError> {
    let message = output.stderr();
    // At a corrupt binary patch git stops, keeps the patches before it and exits with status 0.
    if output.success && !output.reported_error() {
        return Ok(None);
    }
    // `fatal:` reports trouble that the diff did not cause.
    if output.killed || message.lines().any(|line| line.starts_with("fatal: ")) {
        return Err(GitError::failed("git apply", message));
    }
    Ok(Some(message))
}

/// Agents often trim a diff. Git calls a last line without newline corrupt, and an empty line ends a binary patch.
fn with_final_newline(diff: &str) -> [&[u8]; 2] {
    let end: &[u8] = if diff.ends_with('\n') { b"" } else { b"\n\n" };
    [diff.as_bytes(), end]
}
