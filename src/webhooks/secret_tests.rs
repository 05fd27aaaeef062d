use super::Secret;
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn a_secret_is_made_once_and_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("webhooks");
    let first = Secret::read_or_make_in(&place, "ci").unwrap();
    let again = Secret::read_or_make_in(&place, "ci").unwrap();
    assert_eq!((first.bytes().len(), first.bytes()), (32, again.bytes()));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&place.join("ci.secret"))), (0o700, 0o600));
    assert_ne!(Secret::read_or_make_in(&place, "other").unwrap().bytes(), first.bytes());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 2);
}

#[test]
fn a_secret_that_others_can_read_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    Secret::read_or_make(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let error = Secret::read_or_make(&file).err().unwrap();
    assert!(format!("{error:#}").contains("mode 640"), "{error:#}");
}

#[test]
fn what_is_no_secret_is_not_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    Secret::read_or_make(&file).unwrap();
    for text in ["", "hunter2", "whsec_c2hvcnQ="] {
        fs::write(&file, text).unwrap();
        let error = Secret::read_or_make(&file).err().unwrap();
        assert!(format!("{error:#}").contains("24 to 64 bytes"), "{text:?}: {error:#}");
    }
}
