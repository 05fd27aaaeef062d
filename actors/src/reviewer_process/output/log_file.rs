//! A log file that does not grow: when it is full it becomes the old one, of which there is one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What reviewers print is for nobody else's eyes.
const PRIVATE: u32 = 0o600;

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    cap: u64,
    open: Option<(File, u64)>,
}

impl LogFile {
    pub(super) fn new(path: PathBuf, cap: u64) -> Self {
        Self { path, cap, open: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines. A line is never torn over two files, and one above the cap has a file of its own.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
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

    /// The file and its size; what an earlier run wrote stays.
    fn open(&mut self) -> io::Result<(File, u64)> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let file = OpenOptions::new().append(true).create(true).mode(PRIVATE).open(&self.path)?;
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    fn old(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}

/// How many bytes of lines there is room for; at least one line if `at_least_one`.
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
