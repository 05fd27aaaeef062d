//! The type for a candidate: a commit, or the staged changes, that the gate decides about.

use std::fs;

use git::UserRepo;

use crate::GateError;

/// A commit, or the commit that the staged changes would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// `None` before the commit exists.
    pub commit: Option<String>,
    pub subject: String,
    /// Empty for a root commit, several for a merge.
    pub parents: Vec<String>,
    pub tree: String,
}

impl Candidate {
    /// What `git commit` would commit now. In a hook, git names the index in `GIT_INDEX_FILE`.
    pub async fn staged(repo: &UserRepo) -> Result<Self, GateError> {
        let mut parents: Vec<String> = repo.resolve_commit("HEAD").await?.into_iter().collect();
        let merge_head = repo.git(["rev-parse", "--git-path", "MERGE_HEAD"]).await?;
        if let Ok(heads) = fs::read_to_string(repo.root().join(merge_head)) {
            parents.extend(heads.lines().map(str::to_owned));
        }
        let tree = repo.git(["write-tree"]).await.map_err(GateError::Staged)?;
        Ok(Self { commit: None, subject: String::new(), parents, tree })
    }

    /// This tree as an amendment of the last commit. Git does not tell its hooks that a commit is amended.
    pub async fn as_amendment(&self, repo: &UserRepo) -> Result<Option<Self>, GateError> {
        let [head] = self.parents.as_slice() else { return Ok(None) };
        let last = Self::from_commit(repo, head).await?;
        Ok(Some(Self { parents: last.parents, ..self.clone() }))
    }

    pub async fn from_commit(repo: &UserRepo, name: &str) -> Result<Self, GateError> {
        let unknown = || GateError::UnknownCommit(name.to_owned());
        let id = repo.resolve_commit(name).await?.ok_or_else(unknown)?;
        let commits = Self::list(repo, &["--no-walk", &id]).await?;
        commits.into_iter().next().ok_or_else(unknown)
    }

    /// The commits that `git rev-list` prints for `args`, parents before children.
    pub async fn list(repo: &UserRepo, args: &[&str]) -> Result<Vec<Self>, GateError> {
        let options = ["rev-list", "--topo-order", "--reverse", "--no-commit-header", "--format=%H%x00%T%x00%P%x00%s"];
        let output = repo.git(options.iter().chain(args).chain(&["--"])).await?;
        let parse = |line: &str| Self::parse(line).ok_or_else(|| GateError::UnexpectedLine(line.to_owned()));
        output.lines().map(parse).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, '\0').map(str::to_owned);
        let (commit, tree, parents, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let parents = parents.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        Some(Self { commit: Some(commit), subject, parents, tree })
    }
}
