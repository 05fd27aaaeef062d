use super::{Record, Records};
use std::path::{Path, PathBuf};

#[test]
fn changes_on_top_of_each_other_are_taken_back_together() {
    let mut record = Record::default();
    record.note(Some("a\n"), "a\nb\n");
    record.note(Some("a\nb\n"), "a\nB\nc\n");
    assert_eq!(record.layers.len(), 1, "the second is one with the first");
    assert_eq!(record.undone("a\nB\nc\n"), Some(Some("a\n".into())));
    assert_eq!(record.undone("a\nB\nc\nuser\n"), None, "somebody has been there");
}

#[test]
fn the_users_change_in_between_ends_what_can_be_taken_back() {
    let mut record = Record::default();
    record.note(None, "b\n");
    record.note(Some("b\nuser\n"), "b\nuser\nc\n");
    assert!(record.made_file);
    assert_eq!(record.undone("b\nuser\nc\n"), None);
    assert_eq!(Record::default().undone("x"), None);
}

#[test]
fn a_file_that_was_made_goes_again() {
    let mut record = Record::default();
    record.note(None, "b\n");
    assert_eq!(record.undone("b\n"), Some(None));
}

#[test]
fn notes_are_found_by_path_and_scope() {
    let dir = tempfile::tempdir().unwrap();
    let records = Records::of(dir.path());
    let record = Record { path: "/r/a".into(), scope: "/r".into(), ..Record::default() };
    records.keep(&record).unwrap();
    assert_eq!(records.find(Path::new("/r/a")), Some(record.clone()));
    assert_eq!(records.list(Path::new("/r")), [record]);
    assert!(records.list(Path::new("/q")).is_empty());
    records.forget(&PathBuf::from("/r/a"));
    assert!(!dir.path().join("init").exists());
}
