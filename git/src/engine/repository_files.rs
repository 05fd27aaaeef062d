//! Opens and reads the files of a git folder without trusting them: another process may replace them at any time by
//! links, pipes or very large files.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// What identifies a version of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { inode: metadata.ino(), bytes: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

/// Opens a plain file. A pipe in its place would make the call wait for ever.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::from(ErrorKind::InvalidInput)) }
}

/// Reads a file from its start; a longer one than `limit` is an error.
pub(crate) fn read_file(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit { Err(io::Error::from(ErrorKind::FileTooLarge)) } else { Ok(content) }
}
