//! Hostile diffs, base names and repository configurations.

use std::collections::BTreeMap;

use super::*;
use std::process::Command;

/// Every file of the repository with its content, including `.git`.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in children(folder) {
        if path.is_dir() && !path.is_symlink() {
            files.extend(snapshot(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    files
}

/// A repository whose filters, hooks and monitors create a file when they run.
fn booby_trapped() -> (TestRepo, PathBuf, String) {
    let repo = TestRepo::new();
    repo.write("x.txt", "1\n");
    repo.write(".gitattributes", "* filter=trap diff=trap merge=trap\n");
    let base = repo.commit();
    let mark = repo.repo.beside("mark");
    let trap = repo.repo.beside("trap.sh");
    // Written by another process: a file that this process has open for writing cannot be executed.
    let script = format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display());
    let write = "printf %s \"$1\" >\"$2\" && chmod +x \"$2\"";
    let written = Command::new("sh").args(["-c", write, "sh", &script]).arg(&trap).status().unwrap();
    assert!(written.success());
    let trap = trap.to_str().unwrap();
    for key in [
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "diff.trap.textconv",
        "diff.trap.command",
        "diff.external",
        "merge.trap.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "gpg.program",
        "alias.apply",
        "alias.read-tree",
        "uploadpack.packObjectsHook",
    ] {
        repo.git(&["config", key, trap]);
    }
    repo.git(&["config", "filter.trap.required", "true"]);
    for hook in fs::read_dir(repo.project.join(".git/hooks")).into_iter().flatten() {
        fs::remove_file(hook.unwrap().path()).unwrap();
    }
    fs::create_dir_all(repo.project.join(".git/hooks")).unwrap();
    for hook in ["pre-applypatch", "post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"]
    {
        symlink(trap, repo.project.join(".git/hooks").join(hook)).unwrap();
    }
    (repo, mark, base)
}

#[tokio::test]
async fn programs_in_a_hostile_configuration_do_not_run() {
    for trusted in [false, true] {
        let (repo, mark, base) = booby_trapped();
        let settings = Arc::new(GitSettings::default());
        let repository = Repository::open(&repo.project, &repo.scratch(), trusted, settings).await.unwrap();
        let good = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-1\n+2\n";
        let bad = good.replace("-1\n", "-9\n");

        assert_eq!(repository.resolve_base(None).await.unwrap().as_deref(), Some(base.as_str()));
        assert!(matches!(repository.check(Some(&base), good).await.unwrap(), DiffCheck::Applies { .. }));
        assert!(matches!(repository.check(Some(&base), &bad).await.unwrap(), DiffCheck::Fails { .. }));
        repository.patch_id(good).await.unwrap();
        assert!(!mark.exists(), "trusted: {trusted}");

        // The programs do run if git runs as the user would run it.
        Command::new("git").current_dir(&repo.project).args(["status", "--short"]).output().unwrap();
        assert!(mark.exists(), "the traps are set wrong");
    }
}

#[tokio::test]
async fn the_index_files_and_repository_of_the_user_stay_unchanged() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    repo.write("x", "2\n");
    repo.write("staged", "s\n");
    repo.git(&["add", "staged"]);
    let before = snapshot(&repo.project);
    let settings = Arc::new(GitSettings::default());
    let repository = Repository::open(&repo.project, &repo.scratch(), true, settings).await.unwrap();
    for diff in ["--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+7\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-2\n+7\n", "junk"] {
        repository.resolve_base(None).await.unwrap();
        repository.check(Some(&base), diff).await.unwrap();
    }
    assert_eq!(snapshot(&repo.project), before);
}

#[tokio::test]
async fn paths_outside_the_tree_or_inside_git_are_refused() {
    let repo = TestRepo::new();
    let base = repo.commit();
    let settings = Arc::new(GitSettings::default());
    let repository = Repository::open(&repo.project, &repo.scratch(), true, settings).await.unwrap();
    for path in [
        "../out",
        "a/../../out",
        "/tmp/out",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.git/config",
        "git~1/config",
        ".gi\u{200c}t/config",
        ".git./config",
        "./x",
    ] {
        for header in [format!("diff --git a/{path} b/{path}\nnew file mode 100644\n"), String::new()] {
            let diff = format!("{header}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
            let outcome = repository.check(Some(&base), &diff).await.unwrap();
            assert!(matches!(outcome, DiffCheck::Fails { .. }), "{path}: {outcome:?}");
        }
    }
    let through_link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\ndiff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n";
    assert!(matches!(repository.check(Some(&base), through_link).await.unwrap(), DiffCheck::Fails { .. }));
}

#[tokio::test]
async fn base_names_with_options_ranges_or_expressions_are_refused() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let repository = repo.open().await;
    for name in [
        "",
        "-h",
        "--all",
        "^main",
        "a b",
        "a\tb",
        "a\nb",
        "main..main",
        "main...x",
        "HEAD@{1}",
        "@{u}",
        "main:x",
        ":/fix",
        "HEAD^{/fix}",
        &"x".repeat(256),
    ] {
        let refused = repository.resolve_base(Some(name)).await;
        assert!(matches!(refused, Err(GitError::BadBase { .. })), "{name:?}: {refused:?}");
    }
    for name in ["nope", "0000000000000000000000000000000000000001", "HEAD~9", "HEAD^{tree}^{blob}"] {
        let refused = repository.resolve_base(Some(name)).await;
        assert!(matches!(refused, Err(GitError::UnknownBase { .. })), "{name:?}: {refused:?}");
    }
    for name in ["main", "HEAD", "refs/heads/main", &base, &base[..10], "HEAD~0"] {
        assert_eq!(repository.resolve_base(Some(name)).await.unwrap().as_ref(), Some(&base), "{name}");
    }
    let unresolved = repository.check(Some("main"), "").await;
    assert!(matches!(unresolved, Err(GitError::BadBase { .. })), "{unresolved:?}");
    let gone = repository.check(Some("0000000000000000000000000000000000000001"), "x").await;
    assert!(matches!(gone, Err(GitError::UnknownBase { .. })), "{gone:?}");
    assert_eq!(repo.left_behind(), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_diff_over_the_limit_is_not_passed_to_git() {
    let repo = TestRepo::new();
    let repository = repo.open_with(GitSettings { max_diff_bytes: 10, ..GitSettings::default() }).await;
    let refused = repository.check(None, "12345678901").await;
    assert!(matches!(refused, Err(GitError::TooLarge { bytes: 11, limit: 10 })), "{refused:?}");
    let refused = repository.patch_id("12345678901").await;
    assert!(matches!(refused, Err(GitError::TooLarge { .. })), "{refused:?}");
    assert_eq!(refused.unwrap_err().to_string(), "the diff has 11 bytes; the limit is 10");
}

#[tokio::test]
async fn a_folder_outside_any_repository_is_named_in_the_error() {
    let dir = TempDir::new().unwrap();
    let settings = Arc::new(GitSettings::default());
    for folder in [dir.path().to_owned(), dir.path().join("missing")] {
        let refused = Repository::open(&folder, dir.path(), false, settings.clone()).await;
        assert!(matches!(refused, Err(GitError::NotARepository { .. })), "{refused:?}");
    }
}
