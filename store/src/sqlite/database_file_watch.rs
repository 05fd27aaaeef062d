//! Notices that the database file or its write-ahead log was deleted or replaced while it is open.
//!
//! SQLite does not notice: it keeps writing to the open file, which is gone as soon as the process ends.

use crate::StoreError;
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

#[derive(Debug)]
pub(crate) struct DatabaseFiles {
    database: WatchedFile,
    /// SQLite creates it with the first change.
    log: WatchedFile,
    was_reported: AtomicBool,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    /// Device and inode of the file that is open.
    open: OnceLock<(u64, u64)>,
}

impl WatchedFile {
    fn new(path: PathBuf) -> Self {
        Self { path, open: OnceLock::new() }
    }

    fn found(&self) -> Option<(u64, u64)> {
        fs::metadata(&self.path).ok().map(|file| (file.dev(), file.ino()))
    }

    /// Whether the file at the path is the open one. Before it exists there is nothing to lose.
    fn is_in_place(&self) -> bool {
        let found = self.found();
        match (self.open.get(), found) {
            (Some(open), Some(found)) => *open == found,
            (Some(_), None) => false,
            (None, found) => {
                found.map(|found| self.open.set(found));
                true
            }
        }
    }
}

impl DatabaseFiles {
    /// The files of a database that was just opened.
    pub(crate) fn new(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let (database, log) = (WatchedFile::new(database.to_owned()), WatchedFile::new(log.into()));
        database.is_in_place();
        log.is_in_place();
        Self { database, log, was_reported: AtomicBool::new(false) }
    }

    /// An error if what was written is, or would be, in a file that no other process can find.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let missing = [&self.database, &self.log].into_iter().find(|file| !file.is_in_place());
        let Some(file) = missing else {
            self.was_reported.store(false, Relaxed);
            return Ok(());
        };
        let path = file.path.display().to_string();
        if !self.was_reported.swap(true, Relaxed) {
            tracing::error!(
                file = %path,
                "the database file was deleted or replaced; nothing more is saved; stop the broker, put the file back and start again"
            );
        }
        Err(StoreError::Gone(path))
    }
}

#[cfg(test)]
mod tests {
    use super::DatabaseFiles;
    use std::fs;

    #[test]
    fn a_file_that_is_deleted_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (database, log) = (folder.path().join("countersign.db"), folder.path().join("countersign.db-wal"));
        fs::write(&database, "x").unwrap();
        let files = DatabaseFiles::new(&database);
        assert!(files.check().is_ok(), "the log comes later");
        fs::write(&log, "x").unwrap();
        assert!(files.check().is_ok());
        for file in [&database, &log] {
            let aside = folder.path().join("aside");
            fs::rename(file, &aside).unwrap();
            assert!(files.check().unwrap_err().to_string().contains(file.to_str().unwrap()));
            fs::write(file, "another").unwrap();
            assert!(files.check().is_err(), "another file in its place");
            fs::rename(&aside, file).unwrap();
            assert!(files.check().is_ok(), "it is back");
        }
    }
}
