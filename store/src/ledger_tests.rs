use super::Ledger;
use crate::{Settings, open};
use rusqlite::Connection;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Why it cannot be read.
async fn fault(path: &Path) -> String {
    match Ledger::open(path).await {
        Ok(_) => "it can be read".to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn made(path: &Path) {
    let store = open(path, Settings::default()).await.unwrap();
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

#[tokio::test]
async fn it_opens_what_is_there_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    assert!(fault(&path).await.contains("there is none at"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    made(&path).await;
    let mut ledger = Ledger::open(&path).await.unwrap();
    assert_eq!(ledger.find_approved(None, "x").await.unwrap(), []);
    assert!(sqlx::query("DELETE FROM reviews").execute(&mut ledger.0).await.is_err(), "it cannot write");
    let beside = open(&path, Settings::default()).await;
    assert!(beside.is_ok(), "it is in nobody's way");
    let mut empty = Ledger::empty().await.unwrap();
    assert_eq!(empty.list_touched(10).await.unwrap(), []);
}

#[tokio::test]
async fn another_version_is_an_error_and_not_a_guess() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    made(&path).await;
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change(
        "UPDATE _sqlx_migrations SET version = 99991231000000 WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
    );
    assert!(fault(&path).await.contains("a newer version wrote it"));
    change("DELETE FROM _sqlx_migrations WHERE version = 99991231000000");
    assert!(fault(&path).await.contains("an older version wrote it"));
    change("DROP TABLE _sqlx_migrations");
    assert!(fault(&path).await.contains("no database of ours"));
    fs::write(&path, "x".repeat(200)).unwrap();
    assert!(fault(&path).await.contains("not a database"));
}

#[tokio::test]
async fn one_that_somebody_has_locked_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    made(&path).await;
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT; BEGIN EXCLUSIVE").unwrap();
    assert!(fault(&path).await.contains("locked"), "{}", fault(&path).await);
    drop(holder);
    assert_eq!(fault(&path).await, "it can be read");
}

#[tokio::test]
async fn a_folder_that_takes_no_file_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    made(&path).await;
    for file in fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path() != path) {
        fs::remove_file(file.path()).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let said = fault(&path).await;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said, "it can be read");
}
