use super::ReadOnlyStore;
use crate::{Settings, open};
use domain::approvals::ApprovalFilter;
use rusqlite::Connection;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Why the file cannot be read.
async fn open_error(path: &Path) -> String {
    match ReadOnlyStore::open(path).await {
        Ok(_) => "readable".to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn create(path: &Path) {
    let store = open(path, Settings::default()).await.unwrap();
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

#[tokio::test]
async fn it_opens_an_existing_file_and_creates_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    assert!(open_error(&path).await.contains("no database at"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    create(&path).await;
    let mut store = ReadOnlyStore::open(&path).await.unwrap();
    assert_eq!(store.list_approvals(&ApprovalFilter::default(), 1).await.unwrap(), []);
    assert!(sqlx::query("DELETE FROM reviews").execute(&mut store.0).await.is_err(), "it cannot write");
    let broker = open(&path, Settings::default()).await;
    assert!(broker.is_ok(), "it does not disturb a broker");
}

#[tokio::test]
async fn a_database_of_another_version_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    create(&path).await;
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change(
        "UPDATE _sqlx_migrations SET version = 99991231000000 WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
    );
    assert!(open_error(&path).await.contains("a newer version wrote it"));
    change("DELETE FROM _sqlx_migrations WHERE version = 99991231000000");
    assert!(open_error(&path).await.contains("an older version wrote it"));
    change("DROP TABLE _sqlx_migrations");
    assert!(open_error(&path).await.contains("not a countersign database"));
    fs::write(&path, "x".repeat(200)).unwrap();
    assert!(open_error(&path).await.contains("not a database"));
}

#[tokio::test]
async fn a_locked_file_is_an_error_after_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    create(&path).await;
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT; BEGIN EXCLUSIVE").unwrap();
    assert!(open_error(&path).await.contains("locked"), "{}", open_error(&path).await);
    drop(holder);
    assert_eq!(open_error(&path).await, "readable");
}

#[tokio::test]
async fn a_read_only_folder_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    create(&path).await;
    for file in fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path() != path) {
        fs::remove_file(file.path()).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let result = open_error(&path).await;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(result, "readable");
}
