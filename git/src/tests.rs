#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::disallowed_methods, reason = "a test has nothing else to do while git runs")]

mod diff_parser;
mod differential;
mod engine_limits;
mod files;
mod processes;
mod safety;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::{Repo, git_command};

use domain::git_engine_mode::EngineMode;
use domain::review::{AppliesTo, DiffCheck, HeadCheck};
use std::sync::Arc;
use std::time::Duration;

use crate::*;

/// A repository of a user, and a folder for the broker's scratch repositories.
struct TestRepo {
    repo: Repo,
    project: PathBuf,
}

impl TestRepo {
    fn new() -> Self {
        Self::with_format("sha1")
    }

    fn with_format(format: &str) -> Self {
        let repo = Repo::empty(format);
        Self { project: repo.path(), repo }
    }

    fn scratch(&self) -> PathBuf {
        self.repo.beside("scratch")
    }

    fn git(&self, args: &[&str]) -> String {
        git_in(&self.project, args)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        self.repo.write(path, text);
    }

    fn commit(&self) -> String {
        self.repo.commit("step")
    }

    fn tree(&self) -> String {
        self.git(&["rev-parse", "HEAD^{tree}"])
    }

    async fn open(&self) -> Repository {
        self.open_with(GitSettings::default()).await
    }

    async fn open_with(&self, settings: GitSettings) -> Repository {
        Repository::open(&self.project, &self.scratch(), false, Arc::new(settings)).await.unwrap()
    }

    /// The folders of running sessions.
    fn left_behind(&self) -> Vec<PathBuf> {
        let projects = children(&self.scratch());
        let runs = projects.iter().flat_map(|project| children(project));
        runs.flat_map(|run| children(&run.join("sessions"))).collect()
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Runs git as a user would.
fn git_in(folder: &Path, args: &[&str]) -> String {
    let output = git_command(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // An id without its newline, a diff with it.
    if text.lines().count() == 1 { text.trim_end().to_owned() } else { text }
}

fn numbers(from: u32, to: u32) -> String {
    (from..=to).map(|n| format!("{n}\n")).collect()
}

fn applies(tree: &str) -> DiffCheck {
    DiffCheck::Applies { tree_id: Some(tree.to_owned()), to: AppliesTo::Base }
}

type Step = (&'static str, fn(&TestRepo));

/// Each step becomes one commit, so that each kind of change has its own diff.
const STEPS: [Step; 25] = [
    ("create", |repo| {
        for name in ["edit", "gone", "moved", "copied", "with space", "tab\there", "quote\"d", "ünï", "new\nline"] {
            repo.write(name, numbers(1, 30));
        }
        repo.write("tool.sh", "run\n");
        repo.write("crlf", "one\r\ntwo\r\n");
        repo.write("bare", "no newline");
        repo.write("delta.bin", [&[0u8][..], numbers(1, 900).as_bytes()].concat());
        repo.write("tricky", "-- a/fake\n++ b/fake\n@@ -1 +1 @@\n");
        repo.write("a/b b/a", numbers(1, 9));
        repo.write("type", "file\n");
    }),
    ("modify", |repo| repo.write("edit", numbers(1, 30).replace("15\n", "fifteen\n").replace("29\n", ""))),
    ("insert in the middle", |repo| repo.write("copied", numbers(1, 30).replace("15\n", "15\nnew\n"))),
    ("insert at the top", |repo| repo.write("gone", format!("top\n{}", numbers(1, 30)))),
    ("delete", |repo| fs::remove_file(repo.project.join("gone")).unwrap()),
    ("rename", |repo| fs::rename(repo.project.join("moved"), repo.project.join("there")).unwrap()),
    ("rename with edits", |repo| {
        fs::remove_file(repo.project.join("there")).unwrap();
        repo.write("deep/er/back", numbers(1, 30).replace("3\n", "three\n"));
    }),
    ("copy", |repo| repo.write("copy", numbers(1, 30).replace("15\n", "15\nnew\n"))),
    ("mode", |repo| {
        fs::set_permissions(repo.project.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("mode and content", |repo| {
        repo.write("tool.sh", "walk\n");
        fs::set_permissions(repo.project.join("tool.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    }),
    ("binary", |repo| {
        repo.write("new.bin", [0, 159, 146, 150, 0]);
        repo.write("delta.bin", [&[0u8][..], numbers(1, 901).as_bytes()].concat());
    }),
    ("binary gone", |repo| fs::remove_file(repo.project.join("new.bin")).unwrap()),
    ("no newline", |repo| repo.write("bare", "still none")),
    ("newline added", |repo| repo.write("bare", "still none\n")),
    ("crlf", |repo| repo.write("crlf", "one\r\nTWO\r\n")),
    ("names that need quotes", |repo| {
        for name in ["with space", "tab\there", "quote\"d", "ünï", "new\nline", "a/b b/a"] {
            repo.write(name, numbers(1, 31));
        }
    }),
    ("a name that is not UTF-8", |repo| {
        fs::write(repo.project.join(std::ffi::OsStr::from_bytes(b"bad\xff")), "x\n").unwrap();
    }),
    ("empty files", |repo| {
        repo.write("empty", "");
        repo.write("also empty", "");
    }),
    ("empty file gone", |repo| fs::remove_file(repo.project.join("empty")).unwrap()),
    ("content like headers", |repo| repo.write("tricky", "-- a/other\n++ b/fake\n@@ -1 +1 @@\ndiff --git a/q b/q\n")),
    ("symlink", |repo| symlink("/etc/passwd", repo.project.join("link")).unwrap()),
    ("change of type", |repo| {
        fs::remove_file(repo.project.join("type")).unwrap();
        symlink("edit", repo.project.join("type")).unwrap();
    }),
    ("agent and git config", |repo| {
        repo.write(".claude/settings.json", "{}\n");
        repo.write(".gitattributes", "*.md text\n");
    }),
    ("white space errors", |repo| repo.write("edit", "trailing  \n \t mixed\n\n\n")),
    ("everything gone", |repo| {
        for entry in fs::read_dir(&repo.project).unwrap().map(Result::unwrap) {
            if entry.file_name() == ".git" {
                continue;
            } else if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }),
];

const VARIANTS: [&[&str]; 7] = [
    &["diff", "--binary"],
    &["diff", "--binary", "-M", "-C", "--find-copies-harder"],
    &["diff", "--binary", "-M", "-U0"],
    &["diff", "--binary", "-M", "--no-prefix"],
    &["-c", "diff.mnemonicPrefix=true", "-c", "core.quotePath=false", "diff", "--binary", "-M"],
    &["diff", "--binary", "--full-index", "--inter-hunk-context=5", "--patience"],
    &["diff", "--binary", "-B", "-W"],
];

async fn every_step_leads_to_gits_tree(format: &str) {
    let repo = TestRepo::with_format(format);
    let repository = repo.open().await;
    let mut base: Option<String> = None;
    for (step, change) in STEPS {
        change(&repo);
        let next = repo.commit();
        for variant in VARIANTS {
            let empty = repo.git(&["hash-object", "-t", "tree", "/dev/null"]);
            let from = base.as_ref().unwrap_or(&empty).as_str();
            let diff = repo.git(&[variant, &[from, &next]].concat());
            if diff.contains('\u{fffd}') {
                continue; // A diff arrives as text, so such a name arrives quoted.
            }
            let outcome = repository.check(base.as_deref(), &diff).await.unwrap();
            assert_eq!(outcome, applies(&repo.tree()), "{step} {variant:?}\n{diff}");
        }
        base = Some(next);
    }
    assert_eq!(repo.left_behind(), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn every_kind_of_diff_produces_the_tree_that_git_commits() {
    every_step_leads_to_gits_tree("sha1").await;
}

#[tokio::test]
async fn every_kind_of_diff_works_in_a_sha256_repository() {
    every_step_leads_to_gits_tree("sha256").await;
}

#[tokio::test]
async fn mails_of_several_commits_produce_the_last_tree() {
    let repo = TestRepo::new();
    (STEPS[0].1)(&repo);
    let base = repo.commit();
    for (_, change) in &STEPS[1..6] {
        change(&repo);
        repo.commit();
    }
    let mails = repo.git(&["format-patch", "--stdout", "--binary", &base]);
    assert_eq!(repo.open().await.check(Some(&base), &mails).await.unwrap(), applies(&repo.tree()));
}

#[tokio::test]
async fn a_diff_is_checked_against_its_base_even_if_it_is_already_committed() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 9));
    let base = repo.commit();
    let repository = repo.open().await;
    repo.write("x", numbers(1, 10));
    repo.write("dirty", "not in the diff\n");
    let diff = repo.git(&["diff"]);

    let before = repository.check(Some(&base), &diff).await.unwrap();
    fs::remove_file(repo.project.join("dirty")).unwrap();
    repo.commit();

    assert_eq!(before, applies(&repo.tree()));
    assert_eq!(repository.check(Some(&base), &diff).await.unwrap(), before);
    assert_eq!(repository.resolve_base(Some("HEAD~1")).await.unwrap(), Some(base));
}

#[tokio::test]
async fn a_linked_worktree_has_its_own_head_and_shares_the_objects() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    repo.commit();
    let linked = repo.repo.beside("linked");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    fs::write(linked.join("x"), "2\n").unwrap();
    git_in(&linked, &["commit", "--quiet", "--all", "--message=side"]);
    fs::create_dir(linked.join("sub")).unwrap();
    let settings = Arc::new(GitSettings::default());
    let repository = Repository::open(&linked.join("sub"), &repo.scratch(), false, settings).await.unwrap();

    assert_eq!(repository.root(), fs::canonicalize(&linked).unwrap());
    let base = repository.resolve_base(None).await.unwrap().unwrap();
    assert_eq!(base, git_in(&linked, &["rev-parse", "HEAD"]));
    fs::write(linked.join("x"), "3\n").unwrap();
    let diff = git_in(&linked, &["diff"]);
    git_in(&linked, &["commit", "--quiet", "--all", "--message=side"]);
    let tree = git_in(&linked, &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(repository.check(Some(&base), &diff).await.unwrap(), applies(&tree));
}

#[tokio::test]
async fn objects_that_the_repository_borrows_are_found() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 9));
    let base = repo.commit();
    let borrower = repo.repo.beside("bor\"row er");
    repo.git(&["clone", "--quiet", "--shared", ".", borrower.to_str().unwrap()]);
    repo.write("x", numbers(1, 10));
    let diff = repo.git(&["diff"]);
    repo.commit();
    let settings = Arc::new(GitSettings::default());
    let repository = Repository::open(&borrower, &repo.scratch(), false, settings).await.unwrap();
    assert_eq!(repository.check(Some(&base), &diff).await.unwrap(), applies(&repo.tree()));
}

#[tokio::test]
async fn a_repository_without_commits_has_the_empty_tree_as_base() {
    let repo = TestRepo::new();
    let repository = repo.open().await;
    assert_eq!(repository.resolve_base(None).await.unwrap(), None);
    let unknown = repository.resolve_base(Some("main")).await;
    assert!(matches!(unknown, Err(GitError::UnknownBase { .. })), "{unknown:?}");

    repo.write("x", "1\n");
    repo.git(&["add", "x"]);
    let diff = repo.git(&["diff", "--cached"]);
    repo.commit();
    assert_eq!(repository.check(None, &diff).await.unwrap(), applies(&repo.tree()));
}

#[tokio::test]
async fn a_diff_trimmed_by_an_agent_still_applies() {
    let repo = TestRepo::new();
    let base = repo.commit();
    let repository = repo.open().await;
    repo.write("a.bin", [0, 1, 2, 3]);
    repo.commit();
    let binary = repo.git(&["diff", "--binary", &base, "HEAD"]);
    assert_eq!(repository.check(Some(&base), binary.trim_end()).await.unwrap(), applies(&repo.tree()));
    let text = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y";
    assert!(matches!(repository.check(Some(&base), text).await.unwrap(), DiffCheck::Applies { .. }));
}

#[tokio::test]
async fn a_diff_that_does_not_apply_fails_with_the_message_of_git() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let repository = repo.open().await;
    for (diff, expected) in [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-2\n+3\n", "error: patch failed: x:1\nerror: x: patch does not apply"),
        ("--- a/y\n+++ b/y\n@@ -1 +1 @@\n-2\n+3\n", "error: y: does not exist in index"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-2\n+3\n", "error: corrupt patch at line 6"),
        ("hello\n", "error: No valid patches in input (allow with \"--allow-empty\")"),
        ("", "error: No valid patches in input (allow with \"--allow-empty\")"),
    ] {
        let outcome = repository.check(Some(&base), diff).await.unwrap();
        assert_eq!(outcome, DiffCheck::Fails { message: expected.to_owned() }, "{diff}");
    }
}

#[tokio::test]
async fn a_diff_that_git_applies_only_partly_fails() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let half = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/y b/y\nnew file mode 100644\nGIT binary patch\nliteral 3\nKcmYdHV`2aR00031\n\n";
    let outcome = repo.open().await.check(Some(&base), half).await.unwrap();
    assert_eq!(outcome, DiffCheck::Fails { message: "error: corrupt binary patch at line 11:".to_owned() });
}

#[tokio::test]
async fn head_is_checked_if_it_is_not_the_base() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 30));
    let base = repo.commit();
    repo.write("x", numbers(1, 30).replace("15\n", "fifteen\n"));
    let diff = repo.git(&["diff"]) + "\n";
    let repository = repo.open().await;
    assert_eq!(repository.check_head(Some(&base), &diff).await.unwrap(), None, "HEAD is the base");

    repo.git(&["checkout", "--quiet", "x"]);
    repo.write("y", "beside\n");
    repo.commit();
    repo.write("x", numbers(1, 31));
    let head = repo.commit();
    repo.write("x", numbers(1, 31).replace("15\n", "fifteen\n"));
    repo.git(&["add", "--all"]);
    let check = DiffCheck::Applies { to: AppliesTo::Base, tree_id: Some(repo.git(&["write-tree"])) };
    let expected = HeadCheck { commit: head, behind: 2, check, contains: false };
    assert_eq!(repository.check_head(Some(&base), &diff).await.unwrap(), Some(expected));

    // The change itself is committed.
    let head = repo.commit();
    let Some(HeadCheck { commit, behind, check, contains }) = repository.check_head(Some(&base), &diff).await.unwrap()
    else {
        panic!("HEAD is not the base")
    };
    assert_eq!((commit, behind, contains), (head, 3, true));
    assert!(matches!(check, DiffCheck::Fails { .. }));

    repo.write("x", numbers(1, 30).replace("15\n", "XV\n"));
    repo.commit();
    let Some(conflict) = repository.check_head(Some(&base), &diff).await.unwrap() else {
        panic!("HEAD is not the base")
    };
    let message = "error: patch failed: x:12\nerror: x: patch does not apply".to_owned();
    assert_eq!((conflict.check, conflict.contains), (DiffCheck::Fails { message }, false));
}

#[tokio::test]
async fn head_without_a_commit_is_not_checked() {
    let repo = TestRepo::new();
    let diff = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n";
    let repository = repo.open().await;
    assert_eq!(repository.check_head(None, diff).await.unwrap(), None);
    repo.write("y", "1\n");
    repo.commit();
    let head = repository.check_head(None, diff).await.unwrap();
    assert_eq!(head.map(|head| (head.behind, head.check.applies())), Some((1, Some(true))));
}

#[tokio::test]
async fn only_a_trusted_repository_is_checked_against_its_working_tree() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    repo.write("x", "2\n");
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-2\n+3\n";
    assert!(matches!(repo.open().await.check(Some(&base), diff).await.unwrap(), DiffCheck::Fails { .. }));

    let settings = Arc::new(GitSettings::default());
    let trusted = Repository::open(&repo.project, &repo.scratch(), true, settings).await.unwrap();
    let outcome = trusted.check(Some(&base), diff).await.unwrap();
    assert_eq!(outcome, DiffCheck::Applies { tree_id: None, to: AppliesTo::Worktree });
    assert_eq!(fs::read_to_string(repo.project.join("x")).unwrap(), "2\n");
    let neither = trusted.check(Some(&base), &diff.replace("-2", "-9")).await.unwrap();
    assert!(matches!(neither, DiffCheck::Fails { .. }));
}

#[tokio::test]
async fn patch_ids_ignore_line_numbers_and_commit_messages() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 30));
    let base = repo.commit();
    repo.write("x", numbers(1, 30).replace("15\n", "fifteen\n"));
    repo.commit();
    let repository = repo.open().await;
    let diff = repo.git(&["diff", &base, "HEAD"]);
    let id = repository.patch_id(&diff).await.unwrap().unwrap();
    let moved = diff.replace("@@ -12,7 +12,7 @@", "@@ -112,7 +112,7 @@");
    assert_ne!(moved, diff);
    assert_eq!(repository.patch_id(&moved).await.unwrap(), Some(id.clone()));
    let other = diff.replace("fifteen", "FIFTEEN");
    assert_ne!(repository.patch_id(&other).await.unwrap(), Some(id.clone()));
    let show = repo.git(&["show", "HEAD"]);
    assert_eq!(repository.patch_id(&show).await.unwrap(), Some(id));
    assert_eq!(repository.patch_id("no diff at all\n").await.unwrap(), None);
}
