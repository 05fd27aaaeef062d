//! Runs the user's own git in the user's working tree, to read it and to change it.
//!
//! Unlike [`Repository`](crate::Repository), this sees what the user sees: the user's configuration and refs, and the
//! index that git names to its hooks in `GIT_INDEX_FILE`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::GitError;
use crate::process::{Env, GitCommand, Output};

#[derive(Debug, Clone)]
pub struct UserRepo {
    root: PathBuf,
    env: Env,
    /// Replaces the index of the working tree.
    index: Option<PathBuf>,
}

impl UserRepo {
    /// The working tree that contains `dir`.
    pub async fn find(dir: &Path) -> Result<Self, GitError> {
        let output = Self::at(dir.to_owned()).try_git(["rev-parse", "--show-toplevel"]).await?;
        if output.success && !output.stdout().trim_ascii().is_empty() {
            return Ok(Self::at(output.text().into()));
        }
        Err(GitError::NotARepository { dir: dir.to_owned() })
    }

    /// The working tree that contains `dir`, and the branch that is checked out there, as [`Self::current_branch`] says.
    pub async fn find_with_branch(dir: &Path) -> Result<(Self, Option<String>), GitError> {
        let names = ["rev-parse", "--show-toplevel", "--symbolic-full-name", "HEAD"];
        let output = Self::at(dir.to_owned()).try_git(names).await?;
        let text = output.text();
        if let (true, Some((root, head))) = (output.success, text.rsplit_once('\n')) {
            let branch = head.strip_prefix("refs/heads/").map(str::to_owned);
            return Ok((Self::at(root.into()), branch));
        }
        // A repository without commits, or a folder outside of one.
        let repo = Self::find(dir).await?;
        let branch = repo.current_branch().await?;
        Ok((repo, branch))
    }

    /// Uses `dir` as it is, whether or not it is in a repository.
    pub fn at(dir: PathBuf) -> Self {
        Self { root: dir, env: Env::Caller, index: None }
    }

    /// Like [`Self::at`], and ignores the `GIT_*` variables of the caller, which may point to another repository.
    pub fn without_git_variables(root: &Path) -> Self {
        Self { env: Env::CallerWithoutGitVariables, ..Self::at(root.to_owned()) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// This repository with a copy of its index at `copy`, so that the user's staged changes stay as they are. A
    /// repository without an index starts with an empty one.
    ///
    /// The copy keeps the time of the original. Git compares it with the times of files to find those that may have
    /// changed after they were staged; with a later time it would miss a change of equal size.
    pub async fn with_copied_index(&self, copy: &Path) -> Result<Self, GitError> {
        let failed = |error: std::io::Error| GitError::failed("copying the index", error);
        let original = self.root.join(self.git(["rev-parse", "--git-path", "index"]).await?);
        if original.exists() {
            let modified = original.metadata().and_then(|index| index.modified()).map_err(failed)?;
            std::fs::copy(&original, copy).map_err(failed)?;
            let file = std::fs::File::options().write(true).open(copy).map_err(failed)?;
            file.set_modified(modified).map_err(failed)?;
        }
        Ok(self.with_index(copy))
    }

    /// This repository with another index.
    pub fn with_index(&self, index: &Path) -> Self {
        Self { index: Some(index.to_owned()), ..self.clone() }
    }

    /// This repository, with git running in `folder`. Relative paths are resolved there.
    pub fn in_folder(&self, folder: &Path) -> Self {
        Self { root: folder.to_owned(), ..self.clone() }
    }

    /// The branch that is checked out. `None` if HEAD is detached or this is not a repository.
    pub async fn current_branch(&self) -> Result<Option<String>, GitError> {
        let output = self.try_git(["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
        Ok(Some(output.text()).filter(|branch| output.success && !branch.is_empty()))
    }

    /// The id of the commit that `name` resolves to.
    pub async fn resolve_commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let output = self.try_git(["rev-parse", "--quiet", "--verify", "--end-of-options", &name]).await?;
        Ok(output.success.then(|| output.text()))
    }

    /// The first of `names` that resolves to a commit. Git gives up at an upstream that is not set, so that comes last.
    pub async fn find_first_commit<'n>(&self, names: &[&'n str]) -> Result<Option<&'n str>, GitError> {
        let input: String = names.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
        let mut git = self.command(["cat-file", "--batch-check=%(objecttype)"]);
        let found = run(&mut git, input.as_bytes()).await?.text();
        Ok(names.iter().zip(found.lines()).find(|(_, line)| *line == "commit").map(|(name, _)| *name))
    }

    pub async fn has_commit(&self, id: &str) -> Result<bool, GitError> {
        Ok(self.try_git(["cat-file", "-e", &format!("{id}^{{commit}}")]).await?.success)
    }

    /// The content of `path` in the HEAD commit. A partial clone does not fetch it if it is missing.
    pub async fn read_committed(&self, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let mut git = self.command(["cat-file", "blob", &format!("HEAD:{path}")]).variable("GIT_NO_LAZY_FETCH", "1");
        let output = run(&mut git, &[]).await?;
        Ok(output.success.then(|| output.stdout().to_vec()))
    }

    /// What git is in the middle of in this working tree, with the file that says so.
    pub async fn operation_in_progress(&self) -> Result<Option<(&'static str, &'static str)>, GitError> {
        const OPERATIONS: [(&str, &str); 4] = [
            ("a revert", "REVERT_HEAD"),
            ("a cherry-pick", "CHERRY_PICK_HEAD"),
            ("a merge", "MERGE_HEAD"),
            ("a sequence of commits", "sequencer"),
        ];
        for (operation, file) in OPERATIONS {
            if self.root.join(self.git(["rev-parse", "--git-path", file]).await?).exists() {
                return Ok(Some((operation, file)));
            }
        }
        Ok(None)
    }

    /// Runs git and returns its output without the final newline. If git fails, its stderr is the error.
    pub async fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<String, GitError> {
        Ok(self.git_with_input(args, &[]).await?.text())
    }

    /// Like [`Self::git`], with `stdin`; returns the bytes of the output.
    pub async fn git_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> Result<Output, GitError> {
        let mut git = self.command(args);
        let output = run(&mut git, stdin).await?;
        if output.success { Ok(output) } else { Err(git.failed(output.stderr())) }
    }

    /// Runs a git command whose failure is an answer.
    pub async fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output, GitError> {
        run(&mut self.command(args), &[]).await
    }

    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> GitCommand {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let subcommand = args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default();
        let git = GitCommand::new(format!("git {subcommand}"), Path::new("git"), self.env, &self.root).args(args);
        let git = git.stdout_limit(usize::MAX);
        match &self.index {
            Some(index) => git.variable("GIT_INDEX_FILE", index),
            None => git,
        }
    }
}

async fn run(git: &mut GitCommand, stdin: &[u8]) -> Result<Output, GitError> {
    let mut child = git.spawn()?;
    git.communicate(&mut child, &[stdin]).await
}
