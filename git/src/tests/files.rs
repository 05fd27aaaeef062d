//! File texts and diffs between contents, against real git.

use super::*;

fn text(text: &str) -> Stored {
    Stored::Text(text.to_owned())
}

fn paths(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn a_file_is_read_as_it_was_and_as_it_becomes() {
    let place = Place::new();
    for (name, words) in [("kept", "kept\n"), ("edit", "one\n"), ("gone", "gone\n"), ("old name", "1\n2\n3\n4\n")] {
        place.write(name, words);
    }
    let base = place.commit();
    place.write("edit", "two\n");
    place.write("deep/new\nline", "new\n");
    fs::remove_file(place.project.join("gone")).unwrap();
    fs::rename(place.project.join("old name"), place.project.join("ünï")).unwrap();
    place.git(&["add", "--all"]);
    let diff = place.git(&["diff", "--cached", "-M"]);

    let names = ["kept", "edit", "gone", "old name", "ünï", "deep/new\nline", "deep", "nowhere"];
    let read = place.open().await.read_files(Some(&base), Some(&diff), &paths(&names)).await.unwrap();
    let sides: Vec<(Stored, Stored)> = read.into_iter().map(|sides| (sides.before, sides.after)).collect();
    let moved = text("1\n2\n3\n4\n");
    let expected = [
        (text("kept\n"), text("kept\n")),
        (text("one\n"), text("two\n")),
        (text("gone\n"), Stored::Absent),
        (moved.clone(), Stored::Absent),
        (Stored::Absent, moved),
        (Stored::Absent, text("new\n")),
        (Stored::Absent, Stored::Absent),
        (Stored::Absent, Stored::Absent),
    ];
    assert_eq!(sides, expected);
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn what_is_no_text_is_named_and_not_shown() {
    let place = Place::with_format("sha256");
    place.write("zero", "a\0b");
    place.write("latin", b"caf\xe9\n");
    place.write("large", "x".repeat(4 * 1024 * 1024 + 1));
    place.write("empty", "");
    symlink("/etc/passwd", place.project.join("link")).unwrap();
    let base = place.commit();
    let names = paths(&["zero", "latin", "large", "empty", "link"]);
    let read = place.open().await.read_files(Some(&base), None, &names).await.unwrap();
    let after: Vec<Stored> = read.into_iter().map(|sides| sides.after).collect();
    assert_eq!(after, [Stored::Binary, Stored::Binary, Stored::TooLarge, text(""), text("/etc/passwd")]);
}

#[tokio::test]
async fn all_files_together_have_a_limit() {
    let place = Place::new();
    let names: Vec<String> = (0..9).map(|n| format!("file {n}")).collect();
    for (name, letter) in names.iter().zip("abcdefghi".chars()) {
        place.write(name, letter.to_string().repeat(4 * 1024 * 1024));
    }
    let base = place.commit();
    let read = place.open().await.read_files(Some(&base), None, &names).await.unwrap();
    let large = read.iter().filter(|sides| sides.after == Stored::TooLarge).count();
    assert_eq!((read.len(), large), (9, 1));
}

#[tokio::test]
async fn names_that_are_no_paths_lead_nowhere() {
    let place = Place::new();
    place.write("dir/file", "text\n");
    let base = place.commit();
    let names =
        ["", "/dir/file", "./dir/file", "dir/../dir/file", "dir//file", "dir/file/", "dir\0", "-p", "0:dir/file"];
    let read = place.open().await.read_files(Some(&base), None, &paths(&names)).await.unwrap();
    let nothing = FileSides { after: Stored::Absent, before: Stored::Absent };
    assert_eq!(read, vec![nothing; names.len()]);
}

#[tokio::test]
async fn a_diff_that_does_not_apply_has_no_files() {
    let place = Place::new();
    place.write("edit", numbers(1, 9));
    let base = place.commit();
    place.write("edit", numbers(1, 9).replace('5', "five"));
    let diff = place.git(&["diff"]).replace("-5", "-6");
    let repository = place.open().await;
    let refused = repository.read_files(Some(&base), Some(&diff), &paths(&["edit"])).await.unwrap_err();
    assert!(matches!(refused, GitError::DoesNotApply { .. }), "{refused}");
    let by_name = repository.read_files(Some("HEAD"), None, &paths(&["edit"])).await.unwrap_err();
    assert!(by_name.to_string().contains("not a full commit id"), "{by_name}");
}

#[tokio::test]
async fn without_a_base_there_is_only_what_the_diff_brings() {
    let place = Place::new();
    place.write("new", "new\n");
    place.git(&["add", "--all"]);
    let diff = place.git(&["diff", "--cached"]);
    let read = place.open().await.read_files(None, Some(&diff), &paths(&["new"])).await.unwrap();
    assert_eq!(read, [FileSides { after: text("new\n"), before: Stored::Absent }]);
}

#[tokio::test]
async fn two_contents_differ_by_a_diff_that_leads_from_one_to_the_other() {
    let place = Place::new();
    place.write("edit", numbers(1, 30));
    let base = place.commit();
    place.write("edit", numbers(1, 30).replace("15\n", "fifteen\n"));
    let first = place.git(&["diff"]);
    let first_tree = place.commit();
    place.write("edit", numbers(1, 30).replace("15\n", "15\n15b\n"));
    place.write("data.bin", "a\0b");
    let second_commit = place.commit();
    let second = place.git(&["diff", "--binary", &base, "HEAD"]);

    let repository = place.open().await;
    let between = repository.diff_contents((Some(&base), Some(&first)), (Some(&base), Some(&second))).await.unwrap();
    assert!(between.contains("-fifteen\n+15\n+15b\n"), "{between}");
    assert_eq!(repository.check(Some(&first_tree), &between).await.unwrap(), applies(&place.tree()));
    // the other base makes no difference where the files come out the same
    let same = repository.diff_contents((Some(&base), Some(&second)), (Some(&second_commit), None)).await.unwrap();
    assert_eq!(same, "");
    let from_nothing = repository.diff_contents((Some(&base), None), (None, None)).await.unwrap();
    assert!(from_nothing.contains("deleted file mode"), "{from_nothing}");
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_file_in_another_encoding_is_compared_as_bytes() {
    let place = Place::new();
    let name = "caf\u{e9} \\ [1]*.txt";
    place.write(name, b"caf\xe9\none\n");
    place.write("plain", "one\n");
    let from = place.commit();
    place.write(name, b"caf\xe9\ntwo\n");
    place.write("plain", "two\n");
    let to = place.commit();
    let repository = place.open().await;
    let diff = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap();
    assert_eq!(diff.matches("GIT binary patch").count(), 1, "{diff}");
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(repository.check(Some(&from), &diff).await.unwrap(), applies(&place.tree()));
}

#[tokio::test]
async fn a_difference_above_the_limit_is_said_with_its_size() {
    let place = Place::new();
    place.write("file", "x\n");
    let from = place.commit();
    place.write("file", "y\n".repeat(5_000));
    let to = place.commit();
    let repository = place.open_with(GitSettings { max_diff_bytes: 1_000, ..GitSettings::default() }).await;
    let refused = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap_err();
    assert!(matches!(refused, GitError::TooLarge { bytes: 10_000.., limit: 1_000 }), "{refused}");
}

/// The drivers leave a mark where they run; the user's own git would run them.
#[tokio::test]
async fn no_driver_of_the_project_runs() {
    let place = Place::new();
    let mark = place.dir.path().join("mark");
    let tool = place.dir.path().join("tool.sh");
    fs::write(&tool, format!("#!/bin/sh\ntouch '{}'\necho changed\n", mark.display())).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    for key in ["diff.spy.textconv", "diff.spy.command", "diff.external", "filter.spy.smudge", "filter.spy.clean"] {
        place.git(&["config", key, tool.to_str().unwrap()]);
    }
    place.write(".gitattributes", "*.txt diff=spy\n");
    place.write("a.txt", "one\n");
    let from = place.commit();
    place.write("a.txt", "two\n");
    let to = place.commit();
    place.git(&["diff", &from, &to]);
    assert!(mark.exists(), "the trap does not work");
    fs::remove_file(&mark).unwrap();

    let repository = place.open().await;
    let diff = repository.diff_contents((Some(&from), None), (Some(&to), None)).await.unwrap();
    let read = repository.read_files(Some(&to), None, &paths(&["a.txt"])).await.unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(read[0].after, text("two\n"));
    assert!(!mark.exists());
}
