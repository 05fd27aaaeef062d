//! Resolves a branch, commit or range to commits and to the diff between them.
//!
//! Names and history are read in the registered repository, only with git commands that never run a program from its
//! configuration. A diff can run one (textconv, external diff), so diffs are computed in the broker's scratch
//! repository, which borrows the objects but not the configuration.

use std::time::Duration;

use domain::review::{ReviewTarget, TargetCommit, TargetKind, TargetName};
use domain::text::is_hidden;
use tokio::time::timeout;

use crate::discovery::{check_branch, check_name};
use crate::engine::{Declined, Engine};
use crate::history::CommitRecord;
use crate::repository::Session;
use crate::{GitError, Repository};

/// More commits are counted but not listed.
const MAX_COMMITS: usize = 100;
const MAX_SUBJECT_CHARS: usize = 200;
const MAX_LOG_BYTES: usize = 512 * 1024;
/// The base of a branch if the caller does not name one: the first of these that exists.
const DEFAULT_BRANCHES: [&str; 3] = ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];

impl Repository {
    /// Resolves a target and computes the diff from its base to its head, which is empty if their files are identical.
    /// Without a base, a branch is compared with the default branch and a commit with its first parent.
    pub async fn resolve_target(&self, requested: &TargetName) -> Result<(ReviewTarget, String), GitError> {
        let mut session = self.session_with_index().await?;
        let (name, base) = (requested.name.as_str(), requested.base_name.as_deref());
        let (base, head) = match requested.kind {
            TargetKind::Branch => session.resolve_branch(name, base).await?,
            TargetKind::Commit => session.resolve_commit(name, base).await?,
            TargetKind::Range => session.resolve_range(name).await?,
        };
        let diff = session.diff_trees(base.as_deref(), &head).await?;
        let (commits, commits_total) = session.list_commits(base.as_deref(), &head).await?;
        Ok((ReviewTarget { requested: requested.clone(), base, head, commits, commits_total }, diff))
    }
}

/// How long a look at a branch may wait for other work of the engine.
const BRANCH_TIMEOUT: Duration = Duration::from_secs(1);

impl Repository {
    /// The commit that a branch points at now, if that can be read without running git. `None` also if the branch is gone.
    pub async fn branch_head(&self, name: &str) -> Option<String> {
        check_branch(name).ok()?;
        let names = branch_refs(name);
        let find = move |engine: &Engine| {
            let mut heads = names.iter().map(|name| engine.resolve(name));
            heads.find(Result::is_ok).unwrap_or(Err(Declined("no such branch")))
        };
        timeout(BRANCH_TIMEOUT, self.0.ask_engine(find)).await.ok()?
    }
}

/// The full names that a branch may have: a local one comes first.
fn branch_refs(name: &str) -> Vec<String> {
    if name.starts_with("refs/heads/") || name.starts_with("refs/remotes/") {
        return vec![name.to_owned()];
    }
    vec![format!("refs/heads/{name}"), format!("refs/remotes/{name}")]
}

/// A resolved base, if there is one, and head.
type Ends = (Option<String>, String);

impl Session<'_> {
    async fn resolve_branch(&mut self, name: &str, base: Option<&str>) -> Result<Ends, GitError> {
        check_branch(name).map_err(|why| GitError::bad_target(name, why))?;
        let names = branch_refs(name);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let head = self.find_first(&names).await?;
        let head = head.ok_or_else(|| GitError::bad_target(name, "no such branch"))?;
        let against = match base {
            Some(base) => self.find_base(base).await?,
            None => {
                let why = "the repository has neither origin/HEAD nor main nor master; give target.base";
                let found = self.find_first(&DEFAULT_BRANCHES).await?;
                found.ok_or_else(|| GitError::bad_target(name, why))?
            }
        };
        let unrelated = "it has no common ancestor with its base; give a commit or a range instead";
        let fork = self.merge_base(&against, &head).await?.ok_or_else(|| GitError::bad_target(name, unrelated))?;
        Ok((Some(fork), head))
    }

    /// The commit of the first of `names` that exists.
    async fn find_first(&mut self, names: &[&str]) -> Result<Option<String>, GitError> {
        for name in names {
            if let Ok(id) = self.find_commit(name).await? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    async fn resolve_commit(&mut self, name: &str, base: Option<&str>) -> Result<Ends, GitError> {
        let head = self.find_target_commit(name, name).await?;
        let base = match base {
            Some(base) => Some(self.find_base(base).await?),
            None => self.first_parent(name, &head).await?,
        };
        Ok((base, head))
    }

    async fn resolve_range(&mut self, name: &str) -> Result<Ends, GitError> {
        let (from, to, symmetric) = match (name.split_once("..."), name.split_once("..")) {
            (Some((from, to)), _) => (from, to, true),
            (None, Some((from, to))) => (from, to, false),
            (None, None) => return Err(GitError::bad_target(name, "a range is written A..B or A...B")),
        };
        let from = self.find_target_commit(name, from).await?;
        let to = self.find_target_commit(name, to).await?;
        if !symmetric {
            return Ok((Some(from), to));
        }
        let fork = self.merge_base(&from, &to).await?;
        let fork = fork.ok_or_else(|| GitError::bad_target(name, "its ends have no common ancestor"))?;
        Ok((Some(fork), to))
    }

    /// A commit named in a target, or an end of a range.
    async fn find_target_commit(&mut self, target: &str, name: &str) -> Result<String, GitError> {
        check_name(name).map_err(|why| GitError::bad_target(target, &format!("{name:?}: {why}")))?;
        let found = self.find_commit(name).await?;
        found.map_err(|message| GitError::bad_target(target, &format!("no commit {name}: {message}")))
    }

    async fn find_base(&mut self, name: &str) -> Result<String, GitError> {
        check_name(name).map_err(|why| GitError::BadBase { base: name.to_owned(), why })?;
        let found = self.find_commit(name).await?;
        found.map_err(|message| GitError::UnknownBase { base: name.to_owned(), message })
    }

    /// Reads the parent from the commit object. In a shallow clone, git reports the oldest commit as a root commit.
    async fn first_parent(&mut self, target: &str, commit: &str) -> Result<Option<String>, GitError> {
        let id = commit.to_owned();
        let engine = move |engine: &Engine| engine.first_parent(&id);
        let parent = self.repo.ask("parents", engine, self.first_parent_with_git(commit)).await?;
        let Some(parent) = parent else { return Ok(None) };
        let found = self.find_commit(&parent).await?;
        let missing = |_| GitError::bad_target(target, "its parent is not in this clone; give target.base");
        found.map(Some).map_err(missing)
    }

    async fn first_parent_with_git(&mut self, commit: &str) -> Result<Option<String>, GitError> {
        let git = self.registered("reading the commit").args(["cat-file", "commit", commit]);
        let text = self.run(git, &[]).await?.text();
        let header = text.lines().take_while(|line| !line.is_empty());
        Ok(header.filter_map(|line| line.strip_prefix("parent ")).next().map(str::to_owned))
    }

    async fn merge_base(&mut self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let (from, to) = (one.to_owned(), other.to_owned());
        let engine = move |engine: &Engine| engine.merge_base(&from, &to).map(Some);
        self.repo.ask("common ancestor", engine, self.merge_base_with_git(one, other)).await
    }

    pub(crate) async fn merge_base_with_git(&mut self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let git = self.registered("looking for the common ancestor").args(["merge-base", one, other]);
        let output = self.try_run(git, &[]).await?;
        let id = output.text();
        match (output.success && self.repo.layout.is_id(&id), output.stderr()) {
            (true, _) => Ok(Some(id)),
            (false, message) if message.is_empty() && !output.killed => Ok(None),
            (false, message) => Err(GitError::failed("looking for the common ancestor", message)),
        }
    }

    async fn list_commits(&mut self, base: Option<&str>, head: &str) -> Result<(Vec<TargetCommit>, u64), GitError> {
        let (from, to) = (base.map(str::to_owned), head.to_owned());
        let engine = move |engine: &Engine| {
            let from = from.ok_or(Declined("a whole history"))?;
            let all = engine.commits_since(&from, &to)?;
            Ok((shown(&all), all.len() as u64))
        };
        self.repo.ask("commits", engine, self.list_commits_with_git(base, head)).await
    }

    pub(crate) async fn list_commits_with_git(
        &mut self,
        base: Option<&str>,
        head: &str,
    ) -> Result<(Vec<TargetCommit>, u64), GitError> {
        let range = base.map_or_else(|| head.to_owned(), |base| format!("{base}..{head}"));
        let max_count = format!("--max-count={MAX_COMMITS}");
        let git = self.registered("listing the commits").stdout_limit(MAX_LOG_BYTES);
        let git = git.args(["rev-list", "--topo-order", "--encoding=UTF-8", "--format=%s", &max_count, &range, "--"]);
        let list = self.run(git, &[]).await?;
        let total = self.count_commits(base, head).await?;
        Ok((parse_log(&String::from_utf8_lossy(list.stdout())), total))
    }

    /// The number of commits in `head` that are not in `base`.
    pub(crate) async fn count_commits(&mut self, base: Option<&str>, head: &str) -> Result<u64, GitError> {
        let range = base.map_or_else(|| head.to_owned(), |base| format!("{base}..{head}"));
        let git = self.registered("counting the commits").args(["rev-list", "--count", &range, "--"]);
        let count = self.run(git, &[]).await?.text();
        count.parse().map_err(|_| GitError::failed("counting the commits", count))
    }
}

/// Each commit is a line `commit ID` and a line with its subject.
fn parse_log(output: &str) -> Vec<TargetCommit> {
    let lines: Vec<&str> = output.lines().collect();
    let commit = |pair: &[&str]| match pair {
        [id, subject] => {
            Some(TargetCommit { id: id.strip_prefix("commit ")?.to_owned(), subject: display_subject(subject) })
        }
        _ => None,
    };
    lines.chunks(2).filter_map(commit).collect()
}

/// The commits that a target lists.
pub(crate) fn shown(commits: &[CommitRecord]) -> Vec<TargetCommit> {
    let commit =
        |commit: &CommitRecord| TargetCommit { id: commit.id.clone(), subject: display_subject(&commit.subject) };
    commits.iter().take(MAX_COMMITS).map(commit).collect()
}

/// Truncates the subject and replaces invisible characters.
fn display_subject(subject: &str) -> String {
    let visible = |c: char| if is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c };
    let mut text: String = subject.chars().take(MAX_SUBJECT_CHARS).map(visible).collect();
    if subject.chars().nth(MAX_SUBJECT_CHARS).is_some() {
        text.push('…');
    }
    text
}
