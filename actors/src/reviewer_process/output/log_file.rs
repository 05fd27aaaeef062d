//! A log file of bounded size. A full file is renamed and replaces the previous one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The output of reviewers may be confidential.
const OWNER_ONLY_MODE: u32 = 0o600;

#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    cap: u64,
    open: Option<(File, u64)>,
}

impl LogFile {
    pub(crate) fn new(path: PathBuf, cap: u64) -> Self {
        Self { path, cap, open: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends complete lines. A line is never split over two files; a line longer than the cap gets its own file.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut rest = lines;
        while !rest.is_empty() {
            let (mut file, size) = self.open()?;
            let room = usize::try_from(self.cap.saturating_sub(size)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(whole_lines(rest, room, size == 0));
            file.write_all(now)?;
            rest = later;
            if rest.is_empty() {
                self.open = Some((file, size + now.len() as u64));
            } else {
                fs::rename(&self.path, self.old())?;
            }
        }
        Ok(())
    }

    /// Opens the file, keeping what an earlier run wrote. Returns it with its size.
    fn open(&mut self) -> io::Result<(File, u64)> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let file = OpenOptions::new().append(true).create(true).mode(OWNER_ONLY_MODE).open(&self.path)?;
        file.set_permissions(Permissions::from_mode(OWNER_ONLY_MODE))?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    fn old(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}

/// How many bytes of complete lines fit into `room`; at least one line if `at_least_one`.
fn whole_lines(lines: &[u8], room: usize, at_least_one: bool) -> usize {
    if lines.len() <= room {
        return lines.len();
    }
    let fitting = lines.get(..room).and_then(|fitting| fitting.iter().rposition(|&byte| byte == b'\n'));
    match fitting {
        Some(end) => end + 1,
        None if at_least_one => lines.iter().position(|&byte| byte == b'\n').map_or(lines.len(), |end| end + 1),
        None => 0,
    }
}
