//! A branch, a commit or a range as a proposal: which commits it means now, and the diff between them.
//!
//! Names and history are asked of the project, where shallow clones and worktrees are known; no config of it can make
//! these commands run anything. The diff is made in the scratch repository, as everywhere.

use domain::diff::is_hidden;
use domain::review::{TargetCommit, TargetKind};

use crate::discovery::{check_branch, check_name};
use crate::process::Job;
use crate::{GitError, Repository};

/// Enough to see what a branch is about.
const MAX_COMMITS: usize = 100;
const MAX_SUBJECT_CHARS: usize = 200;
const MAX_LOG_BYTES: usize = 512 * 1024;
/// Where a branch is expected to go, unless the caller says otherwise.
const DEFAULT_BRANCHES: [&str; 3] = ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];

/// What a target means now, by ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// `None` is the empty tree.
    pub base: Option<String>,
    pub head: String,
    /// Leads from `base` to `head`; empty where they have the same files.
    pub diff: String,
    /// The newest that `head` has and `base` has not.
    pub commits: Vec<TargetCommit>,
    pub commits_total: u64,
}

impl Repository {
    /// Resolves a target and takes its diff. `base` left out: the default branch for a branch, the first parent for a
    /// commit; a range has its own.
    pub async fn pin(&self, kind: TargetKind, name: &str, base: Option<&str>) -> Result<Pinned, GitError> {
        let mut job = self.furnished_job().await?;
        let (base, head) = match kind {
            TargetKind::Branch => self.pin_branch(&mut job, name, base).await?,
            TargetKind::Commit => self.pin_commit(&mut job, name, base).await?,
            TargetKind::Range => self.pin_range(&mut job, name).await?,
        };
        let from = match &base {
            Some(base) => base.clone(),
            None => self.empty_tree(&mut job).await?,
        };
        let diff = self.diff_trees(&mut job, &from, &head).await?;
        let (commits, commits_total) = self.list_commits(&mut job, base.as_deref(), &head).await?;
        Ok(Pinned { base, head, diff, commits, commits_total })
    }

    async fn pin_branch(
        &self,
        job: &mut Job,
        name: &str,
        base: Option<&str>,
    ) -> Result<(Option<String>, String), GitError> {
        check_branch(name).map_err(|why| GitError::bad_target(name, why))?;
        let places = match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/remotes/")) {
            (None, None) => vec![format!("refs/heads/{name}"), format!("refs/remotes/{name}")],
            (Some(_), _) | (_, Some(_)) => vec![name.to_owned()],
        };
        let mut head = None;
        for place in &places {
            head = match head {
                None => self.find_commit(job, place).await?.ok(),
                found @ Some(_) => found,
            };
        }
        let head = head.ok_or_else(|| GitError::bad_target(name, "there is no such branch"))?;
        let against = match base {
            Some(base) => self.find_base(job, base).await?,
            None => self.default_branch(job, name).await?,
        };
        let words = "it has no commit in common with its base; give a commit or a range instead";
        let fork = self.merge_base(job, &against, &head).await?.ok_or_else(|| GitError::bad_target(name, words))?;
        Ok((Some(fork), head))
    }

    async fn pin_commit(
        &self,
        job: &mut Job,
        name: &str,
        base: Option<&str>,
    ) -> Result<(Option<String>, String), GitError> {
        let head = self.find_end(job, name, name).await?;
        let base = match base {
            Some(base) => Some(self.find_base(job, base).await?),
            None => self.first_parent(job, name, &head).await?,
        };
        Ok((base, head))
    }

    async fn pin_range(&self, job: &mut Job, name: &str) -> Result<(Option<String>, String), GitError> {
        let (from, to, symmetric) = match (name.split_once("..."), name.split_once("..")) {
            (Some((from, to)), _) => (from, to, true),
            (None, Some((from, to))) => (from, to, false),
            (None, None) => return Err(GitError::bad_target(name, "a range is written A..B or A...B")),
        };
        let from = self.find_end(job, name, from).await?;
        let to = self.find_end(job, name, to).await?;
        if !symmetric {
            return Ok((Some(from), to));
        }
        let fork = self.merge_base(job, &from, &to).await?;
        let fork = fork.ok_or_else(|| GitError::bad_target(name, "its ends have no commit in common"))?;
        Ok((Some(fork), to))
    }

    /// A commit named in a target, or an end of a range.
    async fn find_end(&self, job: &mut Job, target: &str, name: &str) -> Result<String, GitError> {
        check_name(name).map_err(|why| GitError::bad_target(target, &format!("{name:?}: {why}")))?;
        let found = self.find_commit(job, name).await?;
        found.map_err(|words| GitError::bad_target(target, &format!("no commit {name}: {words}")))
    }

    async fn find_base(&self, job: &mut Job, name: &str) -> Result<String, GitError> {
        check_name(name).map_err(|why| GitError::BadBase { base: name.to_owned(), why })?;
        let found = self.find_commit(job, name).await?;
        found.map_err(|words| GitError::UnknownBase { base: name.to_owned(), words })
    }

    async fn default_branch(&self, job: &mut Job, target: &str) -> Result<String, GitError> {
        for name in DEFAULT_BRANCHES {
            if let Ok(id) = self.find_commit(job, name).await? {
                return Ok(id);
            }
        }
        let words = "the repository has neither origin/HEAD nor main nor master; give target.base";
        Err(GitError::bad_target(target, words))
    }

    /// The parents as the commit itself names them: a shallow clone would call its oldest commit a first one.
    async fn first_parent(&self, job: &mut Job, target: &str, commit: &str) -> Result<Option<String>, GitError> {
        let git = self.in_project("reading the commit").args(["cat-file", "commit", commit]);
        let read = job.run(git, &[]).await?;
        if !read.success {
            return Err(GitError::failed("reading the commit", read.words()));
        }
        let text = read.line();
        let header = text.lines().take_while(|line| !line.is_empty());
        let Some(parent) = header.filter_map(|line| line.strip_prefix("parent ")).next() else { return Ok(None) };
        let found = self.find_commit(job, parent).await?;
        let missing = |_| GitError::bad_target(target, "its parent is not in this clone; give target.base");
        found.map(Some).map_err(missing)
    }

    async fn merge_base(&self, job: &mut Job, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let git = self.in_project("looking for the common commit").args(["merge-base", one, other]);
        let found = job.run(git, &[]).await?;
        let id = found.line();
        match (found.success && self.0.project.is_id(&id), found.words()) {
            (true, _) => Ok(Some(id)),
            (false, words) if words.is_empty() && !found.killed => Ok(None),
            (false, words) => Err(GitError::failed("looking for the common commit", words)),
        }
    }

    pub(crate) async fn empty_tree(&self, job: &mut Job) -> Result<String, GitError> {
        self.fill_index(job, None, None).await?;
        self.write_tree(job).await
    }

    async fn list_commits(
        &self,
        job: &mut Job,
        base: Option<&str>,
        head: &str,
    ) -> Result<(Vec<TargetCommit>, u64), GitError> {
        let range = base.map_or_else(|| head.to_owned(), |base| format!("{base}..{head}"));
        let most = format!("--max-count={MAX_COMMITS}");
        let git = self.in_project("listing the commits").keep(MAX_LOG_BYTES);
        let git = git.args(["rev-list", "--topo-order", "--encoding=UTF-8", "--format=%s", &most, &range, "--"]);
        let listed = job.run(git, &[]).await?;
        let git = self.in_project("counting the commits").args(["rev-list", "--count", &range, "--"]);
        let counted = job.run(git, &[]).await?;
        match (listed.success && counted.success, counted.line().parse()) {
            (true, Ok(total)) => Ok((read_log(&String::from_utf8_lossy(listed.printed())), total)),
            (true | false, Ok(_) | Err(_)) => Err(GitError::failed("listing the commits", listed.words())),
        }
    }
}

/// Reads a line `commit ID` and a line with the subject for each.
fn read_log(printed: &str) -> Vec<TargetCommit> {
    let lines: Vec<&str> = printed.lines().collect();
    let commit = |pair: &[&str]| match pair {
        [id, subject] => Some(TargetCommit { id: id.strip_prefix("commit ")?.to_owned(), subject: shown(subject) }),
        _ => None,
    };
    lines.chunks(2).filter_map(commit).collect()
}

/// Short, and without what would not show or would show as something else.
fn shown(subject: &str) -> String {
    let plain = |c: char| if c.is_control() || is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = subject.chars().take(MAX_SUBJECT_CHARS).map(plain).collect();
    if subject.chars().nth(MAX_SUBJECT_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
