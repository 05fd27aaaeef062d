//! Finds the git repository that contains a folder by looking at files, without running git. Later git commands get the
//! exact paths.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::GitError;

/// The repository that a client of the broker works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRepo {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// The object folder, which all working trees of a repository share.
    pub objects: PathBuf,
}

impl ClientRepo {
    /// The repository that contains `dir`.
    pub fn find(dir: &Path) -> Option<Self> {
        let RepoLayout { root, objects, .. } = find(dir).ok()?;
        Some(Self { root, objects })
    }

    /// The working tree of the main repository, if this is a linked one.
    pub fn main_tree(&self) -> PathBuf {
        let git_dir = self.objects.parent().filter(|folder| folder.file_name().is_some_and(|name| name == ".git"));
        git_dir.and_then(Path::parent).unwrap_or(&self.root).to_owned()
    }

    /// Whether this process's user owns the working tree and the objects.
    pub fn belongs_to_user(&self) -> bool {
        let user = nix::unistd::geteuid().as_raw();
        [&self.root, &self.objects].into_iter().all(|folder| fs::metadata(folder).is_ok_and(|meta| meta.uid() == user))
    }
}

/// A repository with its git folder, found by its files. The settings of the repository, which any process in it can
/// write, have no part in this.
#[derive(Debug, Clone)]
pub struct RepoLocation {
    pub(crate) layout: RepoLayout,
}

impl RepoLocation {
    /// The repository that contains `dir`.
    pub fn find(dir: &Path) -> Result<Self, GitError> {
        Ok(Self { layout: find(dir)? })
    }

    /// The repository with this git folder, as git names it to a hook that it runs in `dir`.
    pub fn from_git_dir(git_dir: &Path, dir: &Path) -> Result<Self, GitError> {
        let git_dir = dir.join(git_dir);
        let git_dir = fs::canonicalize(&git_dir).ok().filter(|folder| is_git_dir(folder));
        let git_dir = git_dir.ok_or_else(|| GitError::NotARepository { dir: dir.to_owned() })?;
        // The working tree that leads to this git folder: of the main repository, a linked one, or a submodule.
        let linked = fs::read_to_string(git_dir.join("gitdir")).ok().map(|file| PathBuf::from(file.trim_end()));
        let main = (git_dir.file_name().is_some_and(|name| name == ".git")).then(|| git_dir.clone());
        let root = linked.or(main).and_then(|dot_git| Some(dot_git.parent()?.to_owned())).filter(|root| root.is_dir());
        if let Some(root) = root {
            return Ok(Self { layout: layout(&root, git_dir, false) });
        }
        let around =
            find(dir).ok().filter(|layout| fs::canonicalize(&layout.git_dir).is_ok_and(|found| found == git_dir));
        Ok(Self { layout: around.unwrap_or_else(|| layout(&git_dir.clone(), git_dir, true)) })
    }

    /// Reads objects from these folders too: those of a push that is not accepted yet.
    pub fn with_incoming_objects(mut self, folders: Vec<PathBuf>) -> Self {
        self.layout.incoming_objects = folders;
        self
    }

    /// The top folder of the working tree, or the git folder of a bare repository.
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    /// The git folder of this working tree.
    pub fn git_dir(&self) -> &Path {
        &self.layout.git_dir
    }

    /// The object folder, which all working trees of a repository share.
    pub fn objects(&self) -> &Path {
        &self.layout.objects
    }
}

#[derive(Debug, Clone)]
pub(crate) struct RepoLayout {
    pub(crate) root: PathBuf,
    pub(crate) git_dir: PathBuf,
    /// The git folder of the main repository, also for a linked worktree.
    pub(crate) common_dir: PathBuf,
    /// The objects of the main repository, also for a linked worktree.
    pub(crate) objects: PathBuf,
    /// Further object folders.
    pub(crate) incoming_objects: Vec<PathBuf>,
    pub(crate) bare: bool,
    /// `sha1` or `sha256`; empty until git has been asked.
    pub(crate) format: String,
}

impl RepoLayout {
    pub(crate) fn is_id(&self, text: &str) -> bool {
        let length = if self.format == "sha256" { 64 } else { 40 };
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// Walks up from `dir` to the first repository.
pub(crate) fn find(dir: &Path) -> Result<RepoLayout, GitError> {
    let not_found = || GitError::NotARepository { dir: dir.to_owned() };
    let start = fs::canonicalize(dir).map_err(|_| not_found())?;
    for folder in start.ancestors() {
        let dot_git = folder.join(".git");
        let git_dir = if is_git_dir(&dot_git) { Some(dot_git) } else { follow_git_file(folder, &dot_git) };
        if let Some(git_dir) = git_dir {
            return Ok(layout(folder, git_dir, false));
        }
        if is_git_dir(folder) {
            return Ok(layout(folder, folder.to_owned(), true));
        }
    }
    Err(not_found())
}

fn layout(root: &Path, git_dir: PathBuf, bare: bool) -> RepoLayout {
    let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
        Ok(path) => git_dir.join(path.trim_end_matches(['\n', '\r'])),
        Err(_) => git_dir.clone(),
    };
    let objects = common_dir.join("objects");
    let objects = fs::canonicalize(&objects).unwrap_or(objects);
    let (root, format) = (root.to_owned(), String::new());
    RepoLayout { root, git_dir, common_dir, objects, incoming_objects: Vec::new(), bare, format }
}

fn is_git_dir(folder: &Path) -> bool {
    let is_main = folder.join("objects").is_dir() && folder.join("refs").is_dir();
    folder.join("HEAD").symlink_metadata().is_ok() && (is_main || folder.join("commondir").is_file())
}

/// Follows the `.git` file of a linked worktree or a submodule.
fn follow_git_file(folder: &Path, dot_git: &Path) -> Option<PathBuf> {
    if !dot_git.is_file() {
        return None;
    }
    let text = fs::read_to_string(dot_git).ok()?;
    let git_dir = folder.join(text.strip_prefix("gitdir: ")?.trim_end_matches(['\n', '\r']));
    is_git_dir(&git_dir).then_some(git_dir)
}

/// Whether a caller's name for a commit is safe to pass to git.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        Err("it is empty")
    } else if name.len() > 255 {
        Err("it is longer than 255 bytes")
    } else if name.starts_with(['-', '^']) {
        Err("it begins with - or ^")
    } else if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err("it contains white space or control characters")
    } else if name.contains("..") {
        Err("it is a range, not a commit")
    } else if name.contains("@{") || name.contains(':') || name.contains("^{/") {
        Err("only names, ids and ancestors (~ and ^) are allowed")
    } else {
        Ok(())
    }
}

/// Like [`check_name`], for a branch: ancestors and patterns are not allowed.
pub(crate) fn check_branch(name: &str) -> Result<(), &'static str> {
    check_name(name)?;
    if name.contains(['~', '^', '*', '?', '[', '\\']) { Err("it is not a branch name") } else { Ok(()) }
}
