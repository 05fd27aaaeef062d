//! Writes a commit into a repository and moves a branch to it, without its hooks, filters and settings.
//!
//! The commit is made in the scratch repository, from a diff that the caller has checked. Only its objects are copied.

use std::fs;
use std::path::PathBuf;

use crate::repository::Session;
use crate::{GitError, Repository};

/// Writes that must survive a crash. Objects of the scratch repository need not.
const DURABLE: [&str; 4] = ["-c", "core.fsync=committed,reference", "-c", "core.looseCompression=-1"];

/// The name and email address of an author or committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
}

/// A commit that applies a diff to one parent.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    pub parent: &'a str,
    pub diff: &'a str,
    /// The tree that the diff must produce.
    pub tree: &'a str,
    pub author: &'a Person,
    pub committer: &'a Person,
    pub message: &'a str,
}

/// A move of a branch from one commit to another.
#[derive(Debug, Clone, Copy)]
pub struct BranchUpdate<'a> {
    /// Without `refs/heads/`.
    pub branch: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub committer: &'a Person,
    /// The line in the reflog.
    pub reason: &'a str,
}

impl Repository {
    /// The commit that a local branch points at.
    pub async fn find_branch(&self, name: &str) -> Result<Option<String>, GitError> {
        let ref_name = format!("refs/heads/{name}");
        let mut session = self.session().await?;
        let git = session.registered("reading the branch").args(["check-ref-format", &ref_name]);
        if !session.try_run(git, &[]).await?.success {
            return Ok(None);
        }
        Ok(session.find_commit_with_git(&ref_name).await?.ok())
    }

    /// The working trees in which a branch is checked out.
    pub async fn working_trees_on(&self, branch: &str) -> Result<Vec<PathBuf>, GitError> {
        let mut session = self.session().await?;
        let git = session.registered("listing the working trees").stdout_limit(usize::MAX);
        let output = session.run(git.args(["worktree", "list", "--porcelain", "-z"]), &[]).await?;
        let text = output.text();
        let wanted = format!("branch refs/heads/{branch}");
        // One entry ends with an empty field.
        let entries = text.split("\0\0").map(|entry| entry.split('\0').collect::<Vec<_>>());
        let on_branch = entries.filter(|fields| fields.contains(&wanted.as_str()) && !fields.contains(&"bare"));
        let folders = on_branch.filter_map(|fields| fields.first()?.strip_prefix("worktree ").map(PathBuf::from));
        Ok(folders.filter(|folder| folder.is_dir()).collect())
    }

    /// Whether some working tree is in the middle of a rebase of this branch, which would move it again.
    pub fn is_being_rebased(&self, branch: &str) -> bool {
        let wanted = format!("refs/heads/{branch}");
        let common = &self.0.layout.common_dir;
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let git_dirs = linked.map(|entry| entry.path()).chain([common.clone()]);
        let mut rebased =
            git_dirs.flat_map(|dir| ["rebase-merge", "rebase-apply"].map(|name| dir.join(name).join("head-name")));
        rebased.any(|file| fs::read_to_string(file).is_ok_and(|name| name.trim_end() == wanted))
    }

    /// Writes a commit. Its objects are in the repository afterwards, but no branch has it.
    pub async fn write_commit(&self, commit: &NewCommit<'_>) -> Result<String, GitError> {
        let (id, pack) = self.build_commit(commit).await?;
        let mut session = self.session().await?;
        let git = session.registered("writing the commit").args(DURABLE).args(["unpack-objects", "-q"]);
        session.run(git, &[&pack]).await?;
        Ok(id)
    }

    /// The id of the commit, and a pack of the objects that the repository lacks.
    async fn build_commit(&self, commit: &NewCommit<'_>) -> Result<(String, Vec<u8>), GitError> {
        self.0.check_size(commit.diff)?;
        self.0.check_id(Some(commit.parent))?;
        let mut session = self.session_with_index().await?;
        session.fill_index(Some(commit.parent), Some(commit.diff)).await?;
        let tree = session.write_tree().await?;
        if tree != commit.tree {
            return Err(GitError::failed(
                "writing the commit",
                format!("expected the tree {}, got {tree}", commit.tree),
            ));
        }
        let git = session.scratch("writing the commit").args(["commit-tree", "-p", commit.parent, "-F", "-", &tree]);
        let git =
            git.variable("GIT_AUTHOR_NAME", &commit.author.name).variable("GIT_AUTHOR_EMAIL", &commit.author.email);
        let git = with_committer(git, commit.committer);
        let id = session.run(git, &[commit.message.as_bytes()]).await?.text();
        let git = session.scratch("packing the commit").stdout_limit(usize::MAX);
        let revisions = format!("{id}\n^{}\n", commit.parent);
        let git = git.args(["pack-objects", "--revs", "--stdout", "--quiet"]);
        let pack = session.run(git, &[revisions.as_bytes()]).await?;
        Ok((id, pack.stdout().to_vec()))
    }

    /// Moves a branch, if it is still where the caller saw it. Returns whether it was.
    pub async fn move_branch(&self, update: &BranchUpdate<'_>) -> Result<bool, GitError> {
        let ref_name = format!("refs/heads/{}", update.branch);
        let mut session = self.session().await?;
        let git = session.registered("moving the branch").args(DURABLE);
        let git = with_committer(
            git.args(["update-ref", "-m", update.reason, &ref_name, update.to, update.from]),
            update.committer,
        );
        let output = session.try_run(git, &[]).await?;
        if output.success {
            return Ok(true);
        }
        match session.find_commit_with_git(&ref_name).await? {
            Ok(now) if now == update.from => Err(GitError::failed("moving the branch", output.stderr())),
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// The commits that commits between `excluded` and `tip` say they revert.
    pub async fn list_reverted(&self, tip: &str, excluded: &[String]) -> Result<Vec<String>, GitError> {
        const LINE: &str = "This reverts commit ";
        let mut session: Session<'_> = self.session().await?;
        let excluded = excluded.iter().map(|id| format!("^{id}"));
        let git = session.scratch("listing reverts").stdout_limit(usize::MAX);
        let git = git.args(["rev-list", "--no-commit-header", "--format=%B", "--max-count=300"]);
        let git = git.args([format!("--grep=^{LINE}"), tip.to_owned()]).args(excluded).args(["--"]);
        let output = session.run(git, &[]).await?;
        let id = |rest: &str| rest.chars().take_while(char::is_ascii_hexdigit).collect();
        Ok(output.text().lines().filter_map(|line| line.strip_prefix(LINE)).map(id).collect())
    }
}

fn with_committer(git: crate::process::GitCommand, committer: &Person) -> crate::process::GitCommand {
    git.variable("GIT_COMMITTER_NAME", &committer.name).variable("GIT_COMMITTER_EMAIL", &committer.email)
}
