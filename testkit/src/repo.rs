//! A temporary git repository for tests, removed when it is dropped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A repository in a temporary folder. Its own folder, and so its project, is called `project`.
#[derive(Debug)]
pub struct Repo {
    dir: TempDir,
    path: PathBuf,
}

impl Repo {
    /// A repository with one commit: `greeting.txt` with three lines.
    pub fn new() -> Self {
        let repo = Self::empty("sha1");
        repo.write("greeting.txt", "one\ntwo\nthree\n");
        repo.commit("first");
        repo
    }

    /// A repository without a commit. `object_format` is `sha1` or `sha256`.
    pub fn empty(object_format: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(dir.path()).unwrap().join("project");
        fs::create_dir(&path).unwrap();
        let repo = Self { dir, path };
        repo.git(&["init", "--quiet", "--initial-branch=main", &format!("--object-format={object_format}")]);
        repo
    }

    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// A path next to the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits everything and returns the id of the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git, which must succeed: its stdout without the last newline.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }

    /// The diff that turns `two` into `word` in `greeting.txt`.
    pub fn diff(&self, word: &str) -> String {
        let before = fs::read_to_string(self.path.join("greeting.txt")).unwrap();
        self.write("greeting.txt", before.replace("two", word));
        let diff = self.git(&["diff"]) + "\n";
        self.write("greeting.txt", before);
        diff
    }
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs git in `dir`. It must succeed: its stdout without the last newline.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = git_command(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
}

/// Git in `dir` with an author, without the configuration of the machine.
#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while git runs")]
pub fn git_command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    command.args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]);
    command.current_dir(dir);
    command
}
