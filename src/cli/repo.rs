//! The user's own repository, asked through the user's own git.
//!
//! Unlike the broker's checks this is meant to see what the user sees: the index of a commit in the making, which
//! git tells its hooks by variables, the user's settings, the user's refs. So the environment is left as it is.

use anyhow::{Context as _, anyhow};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{io::AsyncWriteExt as _, process::Command};

#[derive(Debug, Clone)]
pub(super) struct Repo {
    root: PathBuf,
    /// Beside those of the environment.
    variables: Vec<(&'static str, PathBuf)>,
    /// Without git's own variables of the environment, which may name another repository.
    is_apart: bool,
}

/// What git printed, and whether it was content.
#[derive(Debug)]
pub(super) struct Said {
    pub success: bool,
    pub out: Vec<u8>,
    words: String,
}

impl Said {
    /// What git complained of.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Without the newline at its end.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches('\n').to_owned()
    }
}

impl Repo {
    /// The one that `dir` is in.
    pub(super) async fn find(dir: &Path) -> anyhow::Result<Self> {
        let here = Self::at(dir.to_owned());
        let said = here.try_git(["rev-parse", "--show-toplevel"]).await?;
        if said.success && !said.out.trim_ascii().is_empty() {
            return Ok(Self::at(said.text().into()));
        }
        Err(anyhow!("{} is not in a git repository; go to one, or name it with --repo", dir.display()))
    }

    /// Any folder, whether or not a repository is there.
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { root: dir, variables: Vec::new(), is_apart: false }
    }

    /// The branch that is checked out; none where HEAD is detached, or nothing is a repository.
    pub(super) async fn branch(&self) -> anyhow::Result<Option<String>> {
        let said = self.try_git(["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
        Ok(Some(said.text()).filter(|branch| said.success && !branch.is_empty()))
    }

    /// The commit that a name stands for, if it stands for one.
    pub(super) async fn commit(&self, name: &str) -> anyhow::Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let said = self.try_git(["rev-parse", "--quiet", "--verify", "--end-of-options", &name]).await?;
        Ok(said.success.then(|| said.text()))
    }

    /// One of our own making, with nothing of what the environment says of another.
    pub(super) fn apart(root: &Path) -> Self {
        Self { root: root.to_owned(), variables: Vec::new(), is_apart: true }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The same with an index of our own, so that nothing is staged that the user has not staged.
    pub(super) fn with_index(&self, index: &Path) -> Self {
        let mut other = self.clone();
        other.variables.push(("GIT_INDEX_FILE", index.to_owned()));
        other
    }

    /// The same asked from one of its folders, by which relative paths are read.
    pub(super) fn within(&self, folder: &Path) -> Self {
        Self { root: folder.to_owned(), ..self.clone() }
    }

    pub(super) async fn has_commit(&self, id: &str) -> anyhow::Result<bool> {
        Ok(self.try_git(["cat-file", "-e", &format!("{id}^{{commit}}")]).await?.success)
    }

    /// What git prints, without the newline at its end; an error in its words if it fails.
    pub(super) async fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> anyhow::Result<String> {
        Ok(self.git_with(args, &[]).await?.text())
    }

    /// The same with something to read, and the bytes as they are.
    pub(super) async fn git_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> anyhow::Result<Said> {
        let args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let said = self.run(&args, stdin).await?;
        let first = args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default();
        if said.success { Ok(said) } else { Err(anyhow!("git {first}: {}", said.words)) }
    }

    /// For questions to which a failure is an answer.
    pub(super) async fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> anyhow::Result<Said> {
        let args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        self.run(&args, &[]).await
    }

    async fn run(&self, args: &[std::ffi::OsString], stdin: &[u8]) -> anyhow::Result<Said> {
        let mut command = Command::new("git");
        if self.is_apart {
            for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
                command.env_remove(name);
            }
        }
        command.args(args).current_dir(&self.root).envs(self.variables.iter().cloned()).kill_on_drop(true);
        // Nobody sits there to answer, and nobody is meant to wait for a pager.
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_PAGER", "cat");
        // A commit is what it is, and not what a ref of this repository puts in its place.
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot run git; is it installed?")?;
        let mut input = child.stdin.take();
        let feed = async {
            if let Some(mut input) = input.take() {
                // Git may end before it has read all; what it says tells more than a broken pipe.
                let _ = input.write_all(stdin).await;
            }
        };
        let (ended, ()) = tokio::join!(child.wait_with_output(), feed);
        let ended = ended.context("cannot run git")?;
        let words = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Ok(Said { success: ended.status.success(), out: ended.stdout, words })
    }
}
