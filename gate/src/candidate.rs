//! The type for a candidate: a commit, or the staged changes, that the gate decides about.

use git::{CommitRecord, UserRepo};

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

impl From<CommitRecord> for Candidate {
    fn from(CommitRecord { id, tree, parents, subject }: CommitRecord) -> Self {
        Self { commit: Some(id), subject, parents, tree }
    }
}
