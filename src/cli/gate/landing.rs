//! What is about to land, or has: a tree and what it stands on.

use crate::cli::render::clipped;
use anyhow::{Context as _, anyhow};
use git::UserRepo;
use std::fs;

const SUBJECT_CHARS: usize = 60;

/// A commit, or one in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Landing {
    /// `None` before it is committed.
    pub commit: Option<String>,
    pub subject: String,
    /// None: a first commit. Several: a merge.
    pub parents: Vec<String>,
    pub tree: String,
}

impl Landing {
    /// What a commit would take now. In a hook that is what git says by `GIT_INDEX_FILE`.
    pub(in crate::cli) async fn staged(repo: &UserRepo) -> anyhow::Result<Self> {
        let mut parents: Vec<String> = head(repo).await?.into_iter().collect();
        let merging = repo.git(["rev-parse", "--git-path", "MERGE_HEAD"]).await?;
        if let Ok(heads) = fs::read_to_string(repo.root().join(merging)) {
            parents.extend(heads.lines().map(str::to_owned));
        }
        let tree = repo.git(["write-tree"]).await.context("what is staged cannot be read")?;
        Ok(Self { commit: None, subject: String::new(), parents, tree })
    }

    /// The same tree in the place of the last commit: git does not tell its hooks that a commit is amended.
    pub(in crate::cli) async fn amending(&self, repo: &UserRepo) -> anyhow::Result<Option<Self>> {
        let [head] = self.parents.as_slice() else { return Ok(None) };
        let last = Self::commit(repo, head).await?;
        Ok(Some(Self { parents: last.parents, ..self.clone() }))
    }

    pub(in crate::cli) async fn commit(repo: &UserRepo, name: &str) -> anyhow::Result<Self> {
        let commit = format!("{name}^{{commit}}");
        let id = repo.try_git(["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).await?;
        if !id.success {
            return Err(anyhow!("there is no commit {name:?}"));
        }
        let found = Self::list(repo, &["--no-walk", &id.text()]).await?;
        found.into_iter().next().with_context(|| format!("there is no commit {name:?}"))
    }

    /// The commits that `git rev-list` gives, parents before children.
    pub(in crate::cli) async fn list(repo: &UserRepo, args: &[&str]) -> anyhow::Result<Vec<Self>> {
        let format = ["rev-list", "--topo-order", "--reverse", "--no-commit-header", "--format=%H%x00%T%x00%P%x00%s"];
        let listed = repo.git(format.iter().chain(args).chain(&["--"])).await?;
        let commit = |line: &str| {
            let mut parts = line.splitn(4, '\0');
            let mut part = || parts.next().map(str::to_owned);
            let (commit, tree, parents, subject) = (part()?, part()?, part()?, part()?);
            let parents = parents.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
            Some(Self { commit: Some(commit), subject, parents, tree })
        };
        let read = listed.lines().map(|line| commit(line).ok_or_else(|| anyhow!("git rev-list: unexpected {line:?}")));
        read.collect()
    }

    pub(in crate::cli) fn name(&self) -> String {
        match &self.commit {
            None => "what is staged".to_owned(),
            Some(id) => format!("commit {} ({})", short(id), clipped(&self.subject, SUBJECT_CHARS)),
        }
    }
}

/// `None` before the first commit.
pub(in crate::cli) async fn head(repo: &UserRepo) -> anyhow::Result<Option<String>> {
    let head = repo.try_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await?;
    Ok(head.success.then(|| head.text()))
}

pub(in crate::cli) fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}
