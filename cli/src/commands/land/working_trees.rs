//! The working trees in which the target branch is checked out. They follow the branch if nothing in them is lost.

use crate::render::clipped;
use anyhow::anyhow;
use git::{GitError, Repository, UserRepo};
use std::path::Path;

/// Git in these working trees runs without hooks. Filters run, as in every checkout: they write the files, not the commit.
const WITHOUT_HOOKS: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
const MESSAGE_CHARS: usize = 300;
/// Their names must fit into one command line.
const PATHS_AT_ONCE: usize = 200;

/// A move of the branch, and the files that differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub paths: &'a [String],
}

/// A working tree that can follow.
pub(super) struct WorkingTree {
    repo: UserRepo,
    /// The files are the approved content already, so that only the index has to follow.
    is_there: bool,
}

/// The working trees of the branch, or why one of them cannot follow.
pub(super) async fn check(
    git: &Repository,
    branch: &str,
    update: Move<'_>,
) -> anyhow::Result<Result<Vec<WorkingTree>, String>> {
    if git.is_being_rebased(branch) {
        return Ok(Err(format!("git is in the middle of a rebase of {branch}; finish or abort it first")));
    }
    let mut trees = Vec::new();
    for folder in git.working_trees_on(branch).await? {
        let repo = UserRepo::without_git_variables(&folder);
        if let Some((operation, file)) = repo.operation_in_progress().await? {
            let folder = folder.display();
            return Ok(Err(format!(
                "git is in the middle of {operation} in {folder} ({file}); finish or abort it first"
            )));
        }
        match check_one(repo, update).await? {
            Ok(tree) => trees.push(tree),
            Err(message) => {
                let (folder, message) = (folder.display(), clipped(&message, MESSAGE_CHARS));
                return Ok(Err(format!(
                    "{folder} has {branch} checked out, with changes that would be overwritten ({message}); commit or \
                     stash them first"
                )));
            }
        }
    }
    Ok(Ok(trees))
}

async fn check_one(repo: UserRepo, update: Move<'_>) -> anyhow::Result<Result<WorkingTree, String>> {
    let folder = tempfile::tempdir().map_err(|error| anyhow!("cannot create a scratch folder: {error}"))?;
    let copy = repo.with_copied_index(&folder.path().join("index")).await?;
    let message = match (follow(&copy, update, Mode::Try).await?, first_ignored(&copy, update.paths).await?) {
        (Ok(()), None) => return Ok(Ok(WorkingTree { repo, is_there: false })),
        (Err(message), _) => message,
        (Ok(()), Some(file)) => format!("the ignored file {file} is in the way"),
    };
    // The proposer may have the approved change in its files, not staged.
    let added = add_files(&copy, update.paths).await?;
    if added && follow(&copy, update, Mode::Try).await?.is_ok() {
        return Ok(Ok(WorkingTree { repo, is_there: true }));
    }
    Ok(Err(message))
}

impl WorkingTree {
    pub(super) fn folder(&self) -> &Path {
        self.repo.root()
    }

    /// Brings the index and the files from the old commit of the branch to the new one.
    pub(super) async fn follow(&self, update: Move<'_>) -> anyhow::Result<()> {
        if self.is_there {
            add_files(&self.repo, update.paths).await?;
        }
        match follow(&self.repo, update, Mode::Do).await? {
            Ok(()) => Ok(()),
            Err(message) => {
                let (folder, Move { from, to, .. }) = (self.folder().display(), update);
                let message = clipped(&message, MESSAGE_CHARS);
                Err(anyhow!(
                    "the files in {folder} could not follow the branch: {message}; when that is fixed, run there: git \
                     read-tree -m -u {from} {to}"
                ))
            }
        }
    }
}

/// A file of the change that is here, and that git would overwrite because `.gitignore` names it.
async fn first_ignored(repo: &UserRepo, paths: &[String]) -> Result<Option<String>, GitError> {
    for paths in paths.chunks(PATHS_AT_ONCE) {
        let options = ["--literal-pathspecs", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
        let paths = paths.iter().map(String::as_str);
        let output = repo.try_git(WITHOUT_HOOKS.into_iter().chain(options).chain(paths)).await?;
        let listed = String::from_utf8_lossy(output.stdout()).into_owned();
        if let Some(file) = listed.split('\0').find(|file| !file.is_empty()) {
            return Ok(Some(file.to_owned()));
        }
    }
    Ok(None)
}

enum Mode {
    Try,
    Do,
}

/// Git's message, if the files or the index have changes that would be lost.
async fn follow(repo: &UserRepo, update: Move<'_>, mode: Mode) -> Result<Result<(), String>, GitError> {
    // Files that were touched but not changed.
    repo.try_git(WITHOUT_HOOKS.into_iter().chain(["update-index", "-q", "--refresh"])).await?;
    let dry_run = match mode {
        Mode::Try => Some("-n"),
        Mode::Do => None,
    };
    let options = ["read-tree", "-m", "-u"].into_iter().chain(dry_run).chain([update.from, update.to]);
    let output = repo.try_git(WITHOUT_HOOKS.into_iter().chain(options)).await?;
    Ok(if output.success { Ok(()) } else { Err(output.stderr()) })
}

/// Takes these files into the index as they are. Returns whether git could.
async fn add_files(repo: &UserRepo, paths: &[String]) -> Result<bool, GitError> {
    let input: Vec<u8> = paths.iter().flat_map(|path| path.bytes().chain([0])).collect();
    let options = ["update-index", "--add", "--remove", "-z", "--stdin"];
    Ok(repo.git_with_input(WITHOUT_HOOKS.into_iter().chain(options), &input).await.is_ok())
}
