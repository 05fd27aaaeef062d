//! A temporary git repository.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) struct Repo {
    dir: TempDir,
}

impl Repo {
    /// A repository with one commit: `greeting.txt` with three lines.
    pub(crate) fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(repo.path()).unwrap();
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.write("greeting.txt", "one\ntwo\nthree\n");
        repo.commit("first");
        repo
    }

    /// The folder, and so the project, is called `project`.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// What git prints, without the last newline.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    /// The diff that turns `two` into `word` in `greeting.txt`.
    pub(crate) fn diff(&self, word: &str) -> String {
        let before = std::fs::read_to_string(self.path().join("greeting.txt")).unwrap();
        self.write("greeting.txt", &before.replace("two", word));
        let diff = self.git(&["diff"]) + "\n";
        self.write("greeting.txt", &before);
        diff
    }
}

#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while git runs")]
fn git(dir: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
}
