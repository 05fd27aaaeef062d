use super::{Manifest, ManifestEntry};
use std::path::{Path, PathBuf};

#[test]
fn changes_on_top_of_each_other_are_taken_back_together() {
    let mut record = ManifestEntry::default();
    record.note(Some("a\n"), "a\nb\n");
    record.note(Some("a\nb\n"), "a\nB\nc\n");
    assert_eq!(record.layers.len(), 1, "the second is one with the first");
    assert_eq!(record.undone("a\nB\nc\n"), Some(Some("a\n".into())));
    assert_eq!(record.undone("a\nB\nc\nuser\n"), None, "somebody has been there");
}

#[test]
fn the_users_change_in_between_ends_what_can_be_taken_back() {
    let mut record = ManifestEntry::default();
    record.note(None, "b\n");
    record.note(Some("b\nuser\n"), "b\nuser\nc\n");
    assert!(record.made_file);
    assert_eq!(record.undone("b\nuser\nc\n"), None);
    assert_eq!(ManifestEntry::default().undone("x"), None);
}

#[test]
fn a_file_that_was_made_goes_again() {
    let mut record = ManifestEntry::default();
    record.note(None, "b\n");
    assert_eq!(record.undone("b\n"), Some(None));
}

#[test]
fn notes_are_found_by_path_and_scope() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Manifest::of(dir.path());
    let record = ManifestEntry { path: "/r/a".into(), scope: "/r".into(), ..ManifestEntry::default() };
    manifest.keep(&record).unwrap();
    assert_eq!(manifest.find(Path::new("/r/a")), Some(record.clone()));
    assert_eq!(manifest.list(Path::new("/r")), [record]);
    assert!(manifest.list(Path::new("/q")).is_empty());
    manifest.forget(&PathBuf::from("/r/a"));
    assert!(!dir.path().join("init").exists());
}
