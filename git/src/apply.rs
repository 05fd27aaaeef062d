//! Applies a diff to a commit, and reports whether it applies and which tree results.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use domain::diff::{ApplyPart, ZeroContext, apply_parts};
use domain::review::{AppliesTo, DiffCheck};

use crate::process::Output;
use crate::session::Session;
use crate::{GitError, Repository};

impl Repository {
    /// Reports whether `diff` applies to the commit `base`: a full id from [`Self::resolve_base`], or `None` for the
    /// empty tree.
    ///
    /// Dropping the future kills git and removes the files that it wrote.
    pub async fn check(&self, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        self.check_size(diff)?;
        self.check_id(base)?;
        let parts = apply_parts(diff);
        let mut session = self.session_with_index().await?;
        if let Some(base) = base {
            self.0.scratch.load_index(&mut session, base).await?;
        }
        for part in &parts {
            if let Some(rejection) = self.apply(&mut session, *part).await? {
                return self.check_worktree(&mut session, *part, diff, rejection).await;
            }
        }
        let tree_id = Some(self.write_tree(&mut session).await?);
        Ok(DiffCheck::Applies { to: AppliesTo::Base, tree_id })
    }

    /// Writes the files of `base`, with `diff` applied, into the empty folder `to`. A diff that does not apply is an
    /// error.
    ///
    /// Symlinks become plain files that contain their target, so that no path in the copy leads out of it.
    pub async fn check_out(&self, base: Option<&str>, diff: Option<&str>, to: &Path) -> Result<(), GitError> {
        let mut session = self.session_with_index().await?;
        self.fill_index(&mut session, base, diff).await?;
        let git = self.scratch("copying the files").work_tree(to);
        let git = git.args(["-c", "core.symlinks=false", "checkout-index", "--all", "--force"]);
        let output = session.run(git, &[]).await?;
        if output.success { Ok(()) } else { Err(GitError::failed("copying the files", output.stderr())) }
    }

    /// Computes git's stable patch id, which is equal for diffs that differ only in line numbers and white space.
    ///
    /// Returns `None` if the text has no change, or the changes of several mails.
    pub async fn patch_id(&self, diff: &str) -> Result<Option<String>, GitError> {
        self.check_size(diff)?;
        let mut session = self.session().await?;
        let git = self.scratch("computing the patch id").args(["patch-id", "--stable"]);
        let output = session.run(git, &with_final_newline(diff)).await?;
        if !output.success {
            return Err(GitError::failed("computing the patch id", output.stderr()));
        }
        let text = output.text();
        let id = (text.lines().count() == 1).then(|| text.split(' ').next()).flatten();
        Ok(id.map(str::to_owned))
    }

    /// Fills the session's index with `base`, or empties it, and applies `diff`.
    pub(crate) async fn fill_index(
        &self,
        session: &mut Session,
        base: Option<&str>,
        diff: Option<&str>,
    ) -> Result<(), GitError> {
        self.check_id(base)?;
        self.check_size(diff.unwrap_or_default())?;
        match base {
            Some(base) => self.0.scratch.load_index(session, base).await?,
            None => match fs::remove_file(session.index()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(GitError::failed("emptying the index", error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        for part in diff.map(apply_parts).unwrap_or_default() {
            if let Some(message) = self.apply(session, part).await? {
                return Err(GitError::DoesNotApply { message });
            }
        }
        Ok(())
    }

    pub(crate) async fn write_tree(&self, session: &mut Session) -> Result<String, GitError> {
        // A partial clone may lack some of the borrowed objects; the tree id does not depend on them.
        let git = self.scratch("writing the tree").args(["write-tree", "--missing-ok"]);
        let output = session.run(git, &[]).await?;
        let id = output.text();
        if !output.success || !self.0.layout.is_id(&id) {
            return Err(GitError::failed("writing the tree", output.stderr()));
        }
        Ok(id)
    }

    /// Applies to the private index. Returns git's message if it rejects the diff.
    async fn apply(&self, session: &mut Session, part: ApplyPart<'_>) -> Result<Option<String>, GitError> {
        let certain = part.zero_context == ZeroContext::Certain;
        let rejection = self.apply_once(session, part, certain).await?;
        if rejection.is_none() || part.zero_context != ZeroContext::Possible {
            return Ok(rejection);
        }
        // The hunk was not a whole file after all. Git leaves the index unchanged when it rejects a diff.
        let second_rejection = self.apply_once(session, part, true).await?;
        Ok(second_rejection.and(rejection))
    }

    async fn apply_once(
        &self,
        session: &mut Session,
        part: ApplyPart<'_>,
        zero_context: bool,
    ) -> Result<Option<String>, GitError> {
        let git = self.scratch("applying the diff").args(["apply", "--cached"]);
        let git = git.args(apply_options(part, zero_context));
        find_rejection(&session.run(git, &with_final_newline(part.text)).await?)
    }

    /// Tries the working tree of a trusted repository after `rejection` by the base.
    ///
    /// Git reads the working tree through the scratch repository, so no filter runs here either.
    async fn check_worktree(
        &self,
        session: &mut Session,
        part: ApplyPart<'_>,
        diff: &str,
        rejection: String,
    ) -> Result<DiffCheck, GitError> {
        if self.0.trusted && !self.0.layout.bare {
            let git = self.scratch("checking the working tree").work_tree(self.root()).args(["apply", "--check"]);
            let git = git.args(apply_options(part, part.zero_context != ZeroContext::No));
            if find_rejection(&session.run(git, &with_final_newline(diff)).await?)?.is_none() {
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
