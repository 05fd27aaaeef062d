use super::Secret;
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn a_secret_is_created_once_and_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("webhooks");
    let first = Secret::load_or_create_in(&secrets, "ci").unwrap();
    let again = Secret::load_or_create_in(&secrets, "ci").unwrap();
    assert_eq!((first.bytes().len(), first.bytes()), (32, again.bytes()));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&secrets), mode(&secrets.join("ci.secret"))), (0o700, 0o600));
    assert_ne!(Secret::load_or_create_in(&secrets, "other").unwrap().bytes(), first.bytes());
    assert_eq!(fs::read_dir(&secrets).unwrap().count(), 2);
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    Secret::load_or_create(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let error = Secret::load_or_create(&file).err().unwrap();
    assert!(format!("{error:#}").contains("mode 640"), "{error:#}");
}

#[test]
fn a_malformed_secret_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    Secret::load_or_create(&file).unwrap();
    for text in ["", "hunter2", "whsec_c2hvcnQ="] {
        fs::write(&file, text).unwrap();
        let error = Secret::load_or_create(&file).err().unwrap();
        assert!(format!("{error:#}").contains("24 to 64 bytes"), "{text:?}: {error:#}");
    }
}
