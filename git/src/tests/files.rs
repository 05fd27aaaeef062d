//! File contents and diffs between contents, with real git.

use super::*;

fn text(text: &str) -> FileContent {
    FileContent::Text(text.to_owned())
}

fn paths(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn a_file_is_read_before_and_after_the_diff() {
    let repo = TestRepo::new();
    for (name, words) in [("kept", "kept\n"), ("edit", "one\n"), ("gone", "gone\n"), ("old name", "1\n2\n3\n4\n")] {
        repo.write(name, words);
    }
    let base = repo.commit();
    repo.write("edit", "two\n");
    repo.write("deep/new\nline", "new\n");
    fs::remove_file(repo.project.join("gone")).unwrap();
    fs::rename(repo.project.join("old name"), repo.project.join("ünï")).unwrap();
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached", "-M"]);

    let names = ["kept", "edit", "gone", "old name", "ünï", "deep/new\nline", "deep", "nowhere"];
    let read = repo.open().await.read_files(Some(&base), Some(&diff), &paths(&names)).await.unwrap();
    let sides: Vec<(FileContent, FileContent)> = read.into_iter().map(|sides| (sides.before, sides.after)).collect();
    let moved = text("1\n2\n3\n4\n");
    let expected = [
        (text("kept\n"), text("kept\n")),
        (text("one\n"), text("two\n")),
        (text("gone\n"), FileContent::Absent),
        (moved.clone(), FileContent::Absent),
        (FileContent::Absent, moved),
        (FileContent::Absent, text("new\n")),
        (FileContent::Absent, FileContent::Absent),
        (FileContent::Absent, FileContent::Absent),
    ];
    assert_eq!(sides, expected);
    assert_eq!(repo.left_behind(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn binary_and_large_files_are_reported_without_content() {
    let repo = TestRepo::with_format("sha256");
    repo.write("zero", "a\0b");
    repo.write("latin", b"caf\xe9\n");
    repo.write("large", "x".repeat(4 * 1024 * 1024 + 1));
    repo.write("empty", "");
    symlink("/etc/passwd", repo.project.join("link")).unwrap();
    let base = repo.commit();
    let names = paths(&["zero", "latin", "large", "empty", "link"]);
    let read = repo.open().await.read_files(Some(&base), None, &names).await.unwrap();
    let after: Vec<FileContent> = read.into_iter().map(|sides| sides.after).collect();
    assert_eq!(after, [FileContent::Binary, FileContent::Binary, FileContent::TooLarge, text(""), text("/etc/passwd")]);
}

#[tokio::test]
async fn all_files_together_have_a_limit() {
    let repo = TestRepo::new();
    let names: Vec<String> = (0..9).map(|n| format!("file {n}")).collect();
    for (name, letter) in names.iter().zip("abcdefghi".chars()) {
        repo.write(name, letter.to_string().repeat(4 * 1024 * 1024));
    }
    let base = repo.commit();
    let read = repo.open().await.read_files(Some(&base), None, &names).await.unwrap();
    let large = read.iter().filter(|sides| sides.after == FileContent::TooLarge).count();
    assert_eq!((read.len(), large), (9, 1));
}

#[tokio::test]
async fn invalid_paths_are_absent() {
    let repo = TestRepo::new();
    repo.write("dir/file", "text\n");
    let base = repo.commit();
    let names =
        ["", "/dir/file", "./dir/file", "dir/../dir/file", "dir//file", "dir/file/", "dir\0", "-p", "0:dir/file"];
    let read = repo.open().await.read_files(Some(&base), None, &paths(&names)).await.unwrap();
    let nothing = FileVersions { after: FileContent::Absent, before: FileContent::Absent };
    assert_eq!(read, vec![nothing; names.len()]);
}

#[tokio::test]
async fn reading_files_of_a_diff_that_does_not_apply_is_an_error() {
    let repo = TestRepo::new();
    repo.write("edit", numbers(1, 9));
    let base = repo.commit();
    repo.write("edit", numbers(1, 9).replace('5', "five"));
    let diff = repo.git(&["diff"]).replace("-5", "-6");
    let repository = repo.open().await;
    let refused = repository.read_files(Some(&base), Some(&diff), &paths(&["edit"])).await.unwrap_err();
    assert!(matches!(refused, GitError::DoesNotApply { .. }), "{refused}");
    let by_name = repository.read_files(Some("HEAD"), None, &paths(&["edit"])).await.unwrap_err();
    assert!(by_name.to_string().contains("not a full commit id"), "{by_name}");
}

#[tokio::test]
async fn without_a_base_only_the_files_of_the_diff_exist() {
    let repo = TestRepo::new();
    repo.write("new", "new\n");
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached"]);
    let read = repo.open().await.read_files(None, Some(&diff), &paths(&["new"])).await.unwrap();
    assert_eq!(read, [FileVersions { after: text("new\n"), before: FileContent::Absent }]);
}

#[tokio::test]
async fn the_diff_between_two_contents_turns_one_into_the_other() {
    let repo = TestRepo::new();
    repo.write("edit", numbers(1, 30));
    let base = repo.commit();
    repo.write("edit", numbers(1, 30).replace("15\n", "fifteen\n"));
    let first = repo.git(&["diff"]);
    let first_tree = repo.commit();
    repo.write("edit", numbers(1, 30).replace("15\n", "15\n15b\n"));
    repo.write("data.bin", "a\0b");
    let second_commit = repo.commit();
    let second = repo.git(&["diff", "--binary", &base, "HEAD"]);

    let repository = repo.open().await;
    let between = repository.diff_contents((Some(&base), Some(&first)), (Some(&base), Some(&second))).await.unwrap();
    assert!(between.contains("-fifteen\n+15\n+15b\n"), "{between}");
    assert_eq!(repository.check(Some(&first_tree), &between).await.unwrap(), applies(&repo.tree()));
    // The base does not matter if the resulting files are equal.
    let same = repository.diff_contents((Some(&base), Some(&second)), (Some(&second_commit), None)).await.unwrap();
    assert_eq!(same, "");
    let from_nothing = repository.diff_contents((Some(&base), None), (None, None)).await.unwrap();
    assert!(from_nothing.contains("deleted file mode"), "{from_nothing}");
    assert_eq!(repo.left_behind(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_file_in_another_encoding_becomes_a_binary_patch() {
    let repo = TestRepo::new();
    let name = "caf\u{e9} \\ [1]*.txt";
    repo.write(name, b"caf\xe9\none\n");
    repo.write("plain", "one\n");
    let from = repo.commit();
    repo.write(name, b"caf\xe9\ntwo\n");
    repo.write("plain", "two\n");
    let to = repo.commit();
    let repository = repo.open().await;
    let diff = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap();
    assert_eq!(diff.matches("GIT binary patch").count(), 1, "{diff}");
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(repository.check(Some(&from), &diff).await.unwrap(), applies(&repo.tree()));
}

#[tokio::test]
async fn a_diff_above_the_limit_is_refused_with_its_size() {
    let repo = TestRepo::new();
    repo.write("file", "x\n");
    let from = repo.commit();
    repo.write("file", "y\n".repeat(5_000));
    let to = repo.commit();
    let repository = repo.open_with(GitSettings { max_diff_bytes: 1_000, ..GitSettings::default() }).await;
    let refused = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap_err();
    assert!(matches!(refused, GitError::TooLarge { bytes: 10_000.., limit: 1_000 }), "{refused}");
}

/// The drivers create a file when they run. The user's own git would run them.
#[tokio::test]
async fn diff_drivers_and_filters_of_the_repository_do_not_run() {
    let repo = TestRepo::new();
    let mark = repo.repo.beside("mark");
    let tool = repo.repo.beside("tool.sh");
    fs::write(&tool, format!("#!/bin/sh\ntouch '{}'\necho changed\n", mark.display())).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    for key in ["diff.spy.textconv", "diff.spy.command", "diff.external", "filter.spy.smudge", "filter.spy.clean"] {
        repo.git(&["config", key, tool.to_str().unwrap()]);
    }
    repo.write(".gitattributes", "*.txt diff=spy\n");
    repo.write("a.txt", "one\n");
    let from = repo.commit();
    repo.write("a.txt", "two\n");
    let to = repo.commit();
    repo.git(&["diff", &from, &to]);
    assert!(mark.exists(), "the trap does not work");
    fs::remove_file(&mark).unwrap();

    let repository = repo.open().await;
    let diff = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap();
    let read = repository.read_files(Some(&to), None, &paths(&["a.txt"])).await.unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(read[0].after, text("two\n"));
    assert!(!mark.exists());
}

#[tokio::test]
async fn one_file_is_read_from_a_commit() {
    let repo = TestRepo::new();
    repo.write("a file", "one\n");
    repo.write("deep/b", "two\n");
    let base = repo.commit();
    repo.write("a file", "changed\n");
    let repository = repo.open().await;
    let read = async |path: &str| repository.read_file(Some(&base), path).await.unwrap();
    assert_eq!((read("a file").await, read("deep/b").await), (text("one\n"), text("two\n")));
    for absent in ["nowhere", "deep", "", "../a file", "deep/../a file", "/etc/passwd"] {
        assert_eq!(read(absent).await, FileContent::Absent, "{absent}");
    }
    assert_eq!(repository.read_file(None, "a file").await.unwrap(), FileContent::Absent);
    let gone = repository.read_file(Some(&"1".repeat(40)), "a file").await.unwrap_err();
    assert!(matches!(gone, GitError::UnknownBase { .. }), "{gone:?}");
    let name = repository.read_file(Some("HEAD"), "a file").await.unwrap_err();
    assert!(matches!(name, GitError::BadBase { .. }), "only a full id: {name:?}");
}

#[tokio::test]
async fn the_head_of_a_branch_is_read_without_git() {
    let repo = TestRepo::new();
    repo.write("a", "one\n");
    let first = repo.commit();
    repo.git(&["branch", "topic"]);
    repo.git(&["update-ref", "refs/remotes/origin/other", &first]);
    let repository = repo.open().await;
    let asked = repository.0.settings.engine_state.counts().by_git;
    let head = async |name: &str| repository.branch_head(name).await;
    assert_eq!(head("topic").await.as_deref(), Some(&*first));
    assert_eq!(head("refs/heads/topic").await.as_deref(), Some(&*first));
    assert_eq!(head("origin/other").await.as_deref(), Some(&*first));
    for none in ["gone", "", "../topic", "-x", "topic^{tree}"] {
        assert_eq!(head(none).await, None, "{none}");
    }
    repo.write("a", "two\n");
    let second = repo.commit();
    repo.git(&["branch", "--force", "topic"]);
    assert_eq!(head("topic").await, Some(second));
    assert_eq!(repository.0.settings.engine_state.counts().by_git, asked);
}
