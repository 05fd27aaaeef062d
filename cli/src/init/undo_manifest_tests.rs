use super::{Manifest, ManifestEntry};
use std::path::{Path, PathBuf};

#[test]
fn consecutive_edits_are_undone_together() {
    let mut entry = ManifestEntry::default();
    entry.record_edit(Some("a\n"), "a\nb\n");
    entry.record_edit(Some("a\nb\n"), "a\nB\nc\n");
    assert_eq!(entry.original("a\nB\nc\n"), Some(Some("a\n".into())));
    assert_eq!(entry.original("a\nB\nc\nuser\n"), None, "the user has edited it");
}

#[test]
fn an_edit_by_the_user_between_two_edits_prevents_a_plain_undo() {
    let mut entry = ManifestEntry::default();
    entry.record_edit(None, "b\n");
    entry.record_edit(Some("b\nuser\n"), "b\nuser\nc\n");
    assert!(entry.created_file);
    assert_eq!(entry.original("b\nuser\nc\n"), None);
    assert_eq!(ManifestEntry::default().original("x"), None);
}

#[test]
fn a_created_file_is_removed_again() {
    let mut entry = ManifestEntry::default();
    entry.record_edit(None, "b\n");
    assert_eq!(entry.original("b\n"), Some(None));
}

#[test]
fn entries_are_found_by_path_and_scope() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Manifest::new(&dir.path().to_owned().into());
    let entry = ManifestEntry { path: "/r/a".into(), scope: "/r".into(), ..ManifestEntry::default() };
    manifest.save(&entry).unwrap();
    assert_eq!(manifest.find(Path::new("/r/a")), Some(entry.clone()));
    assert_eq!(manifest.list(Path::new("/r")), [entry]);
    assert!(manifest.list(Path::new("/q")).is_empty());
    manifest.delete(&PathBuf::from("/r/a"));
    assert!(!dir.path().join("init").exists());
}
