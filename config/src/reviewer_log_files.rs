//! Reads the log files of reviewer processes by their offset since the log began, without holding a whole file in memory.

use domain::reviewer_pool::log_continuation;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// How much is read at once while looking for the last lines.
const CHUNK_BYTES: u64 = 64 << 10;

/// A log may be rotated between two reads. It is full only after many writes, so a few attempts are enough.
const MAX_ATTEMPTS: usize = 5;

/// The newest log of a reviewer with this name, else of one whose id begins with it.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let rest = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        stem.strip_prefix(name).filter(|_| is_log).map(str::to_owned)
    };
    // codex-r1 is not codex-r10
    let is_name = |rest: &str| rest.is_empty() || rest.strip_prefix('-').is_some_and(|id| !id.contains('-'));
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let age = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let fitting = entries.filter_map(|path| Some((is_name(&rest(&path)?), age(&path), path)));
    fitting.max().map(|(_, _, path)| path)
}

/// What the files of a log hold at one moment: the file that is written, and before it the previous one.
#[derive(Debug, Default)]
pub struct ReviewerLog {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    file: File,
    /// Both count from the beginning of the log.
    start: u64,
    end: u64,
}

/// A piece of a log.
#[derive(Debug, PartialEq, Eq)]
pub struct LogPiece {
    /// The offset of the first byte.
    pub from: u64,
    pub text: Vec<u8>,
}

impl LogPiece {
    /// The offset after the last byte.
    pub fn next(&self) -> u64 {
        self.from + self.text.len() as u64
    }
}

impl ReviewerLog {
    pub fn open(path: &Path) -> io::Result<Self> {
        for _ in 0..MAX_ATTEMPTS {
            let current = open_if_exists(path)?;
            let previous = open_if_exists(&path.with_extension("log.1"))?;
            if let Some(parts) = join(previous, current)? {
                return Ok(Self { parts });
            }
        }
        Err(io::Error::other(format!("{} is rotated all the time", path.display())))
    }

    /// The offset of the first byte that is kept.
    pub fn start(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.start)
    }

    /// The number of bytes since the log began.
    pub fn end(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Reads whole lines from `from` on, or from the first byte that is kept, at most `max` bytes. A longer line is cut
    /// after a whole character.
    pub fn read(&self, from: u64, max: u64) -> io::Result<LogPiece> {
        let from = from.clamp(self.start(), self.end());
        let until = self.end().min(from.saturating_add(max));
        let mut text = self.bytes(from, until)?;
        let is_end = until == self.end();
        let lines = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if lines > 0 && !is_end {
            text.truncate(lines);
        } else {
            text.truncate(whole_characters(&text));
        }
        Ok(LogPiece { from, text })
    }

    /// The offset at which the last `lines` lines begin, at most `max` bytes before the end.
    pub fn offset_of_last_lines(&self, lines: usize, max: u64) -> io::Result<u64> {
        if lines == 0 {
            return Ok(self.end());
        }
        let floor = self.end().saturating_sub(max).max(self.start());
        let (mut at, mut found, mut first_line) = (self.end(), 0, None);
        while at > floor {
            let from = at.saturating_sub(CHUNK_BYTES).max(floor);
            for (position, _) in self.bytes(from, at)?.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
                let line = from + position as u64 + 1;
                if line == self.end() {
                    continue;
                }
                found += 1;
                first_line = Some(line);
                if found == lines {
                    return Ok(line);
                }
            }
            at = from;
        }
        // Below the limit the first line may be incomplete.
        Ok(if floor == self.start() { floor } else { first_line.unwrap_or(floor) })
    }

    fn bytes(&self, from: u64, until: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            let (first, last) = (from.max(part.start), until.min(part.end));
            if first < last {
                let before = bytes.len();
                bytes.resize(before + usize::try_from(last - first).map_err(io::Error::other)?, 0);
                if let Some(space) = bytes.get_mut(before..) {
                    part.file.read_exact_at(space, first - part.start)?;
                }
            }
        }
        Ok(bytes)
    }
}

fn open_if_exists(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts the previous and the current file together. `None`: the log was rotated between opening the two.
fn join(previous: Option<File>, current: Option<File>) -> io::Result<Option<Vec<Part>>> {
    let (previous, current) = match (previous, current) {
        (None, None) => return Err(io::Error::from(io::ErrorKind::NotFound)),
        (None, Some(only)) | (Some(only), None) => {
            let start = continues_at(&only)?.unwrap_or(0);
            return Ok(Some(vec![part(only, start)?]));
        }
        (Some(previous), Some(current)) => (previous, current),
    };
    let (old, new) = (previous.metadata()?, current.metadata()?);
    if (old.dev(), old.ino()) == (new.dev(), new.ino()) {
        return Ok(None);
    }
    let start = continues_at(&previous)?.unwrap_or(0);
    let previous = part(previous, start)?;
    // A file without an offset was written by an older version, or is still empty.
    let start = continues_at(&current)?.unwrap_or(previous.end);
    if start != previous.end {
        return Ok(None);
    }
    Ok(Some(vec![previous, part(current, start)?]))
}

fn part(file: File, start: u64) -> io::Result<Part> {
    let end = start + file.metadata()?.len();
    Ok(Part { file, start, end })
}

fn continues_at(file: &File) -> io::Result<Option<u64>> {
    let mut beginning = vec![0; log_continuation::MAX_BYTES];
    let read = file.read_at(&mut beginning, 0)?;
    beginning.truncate(read);
    Ok(log_continuation::parse(&beginning))
}

/// The length without a character that is cut off at the end.
fn whole_characters(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        Ok(_) | Err(_) => text.len(),
    }
}

#[cfg(test)]
#[path = "reviewer_log_files_tests.rs"]
mod tests;
