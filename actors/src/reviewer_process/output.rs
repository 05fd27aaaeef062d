//! Reads the stdout and stderr of a reviewer process until they end, and keeps a bounded part.
//!
//! Output is read in chunks, so that a line of any length is drained. It goes to three places, each with its own limit:
//! a log file for people, the last lines for error messages, and complete lines of stdout for the callers that parse
//! them.

mod line_splitter;

use domain::reviewer_pool::log_continuation;
use line_splitter::{LastLines, LineSplitter, Source};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

const CHUNK_BYTES: usize = 16 * 1024;

/// How long to drain after the exit. Output may still be in the pipes, but another process may hold them open forever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The output of reviewers may be confidential.
const OWNER_ONLY_MODE: u32 = 0o600;

/// Limits in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// The longest line in the log.
    pub log_line: usize,
    /// The longest line of stdout that is passed on. Some clients print a whole response with its usage in one line.
    pub stdout_line: usize,
    /// The size of a log file. One full file is kept beside it.
    pub log_file: u64,
    /// After this much was read or written, nothing more is logged.
    pub total: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { log_line: 16 << 10, stdout_line: 256 << 10, log_file: 32 << 20, total: 64 << 20 }
    }
}

/// Where the output is logged.
#[derive(Debug)]
pub struct Log {
    /// The file is created with the first line, readable only by its owner. The previous file has `.1` appended.
    pub path: PathBuf,
    /// The first line, for a log that holds several runs.
    pub heading: Option<String>,
    /// Replaced in everything that is kept.
    pub secret: Option<String>,
    pub caps: Caps,
}

/// Drains the output of one reviewer. After a drop it still drains for `DRAIN_TIMEOUT`.
pub struct Output {
    last_lines: Arc<Mutex<LastLines>>,
    process_ended: DropGuard,
    drained: JoinHandle<()>,
}

impl Output {
    /// Starts to drain. `on_line` gets each line of stdout with the secret replaced, or `None` for a line that was too
    /// long. It must not block.
    pub fn drain(
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        log: Log,
        on_line: impl FnMut(Option<&str>) + Send + 'static,
    ) -> Self {
        let last_lines = Arc::new(Mutex::new(LastLines::default()));
        let process_ended = CancellationToken::new();
        let mut splitter = LineSplitter::new(log.caps, log.secret, last_lines.clone(), on_line);
        if let Some(heading) = log.heading {
            splitter.write_heading(&heading);
        }
        let file = LogFile { path: log.path, cap: log.caps.log_file, open: None };
        let drained = tokio::spawn(drain(stdout, stderr, splitter, file, process_ended.clone()));
        Self { last_lines, process_ended: process_ended.drop_guard(), drained }
    }

    /// Drains the rest after the process has exited. Returns the last lines of stderr, or of stdout if stderr was empty.
    pub async fn finish(self) -> Vec<String> {
        drop(self.process_ended);
        let _ = self.drained.await;
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner).lines()
    }
}

async fn drain(
    mut stdout: impl AsyncRead + Unpin,
    mut stderr: impl AsyncRead + Unpin,
    mut splitter: LineSplitter<impl FnMut(Option<&str>)>,
    file: LogFile,
    process_ended: CancellationToken,
) {
    let (mut stdout_chunk, mut stderr_chunk) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let (mut stdout_open, mut stderr_open) = (true, true);
    let mut file = Some(file);
    let timed_out = async {
        process_ended.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::pin!(timed_out);
    while stdout_open || stderr_open {
        let (source, read) = tokio::select! {
            read = stdout.read(&mut stdout_chunk), if stdout_open => (Source::Stdout, read),
            read = stderr.read(&mut stderr_chunk), if stderr_open => (Source::Stderr, read),
            () = &mut timed_out => break,
        };
        let (chunk, open) = match source {
            Source::Stdout => (&stdout_chunk, &mut stdout_open),
            Source::Stderr => (&stderr_chunk, &mut stderr_open),
        };
        // A pipe that cannot be read counts as closed.
        match chunk.get(..read.unwrap_or(0)) {
            Some(read) if !read.is_empty() => splitter.push(source, read),
            _ => *open = false,
        }
        write(&mut file, &mut splitter.unwritten).await;
        // A process that prints without end is always ready; other tasks need their turn.
        yield_now().await;
    }
    splitter.finish();
    write(&mut file, &mut splitter.unwritten).await;
}

/// Appends to the log outside of the runtime. A log that cannot be written does not stop the reviewer.
async fn write(file: &mut Option<LogFile>, text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    let Some(mut open) = file.take() else { return text.clear() };
    let text = std::mem::take(text);
    let written = spawn_blocking(move || {
        let written = open.append(&text);
        (open, written)
    });
    // The join fails only while the broker exits.
    let Ok((open, written)) = written.await else { return };
    match written {
        Ok(()) => *file = Some(open),
        Err(error) => warn!(path = %open.path.display(), %error, "cannot write a reviewer's log; logging stops"),
    }
}

/// A log file of bounded size. A full file is renamed and replaces the previous one, and the next file begins with the
/// offset at which it continues.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    cap: u64,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    size: u64,
    /// It has no line of a reviewer yet.
    is_fresh: bool,
}

impl LogFile {
    /// Appends complete lines. A line is never split over two files; a line longer than the cap gets its own file.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut rest = lines;
        while !rest.is_empty() {
            let OpenFile { mut file, size, is_fresh } = self.open()?;
            let room = usize::try_from(self.cap.saturating_sub(size)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(whole_lines(rest, room, is_fresh));
            file.write_all(now)?;
            rest = later;
            if rest.is_empty() {
                self.open = Some(OpenFile { file, size: size + now.len() as u64, is_fresh: false });
            } else {
                fs::rename(&self.path, self.old())?;
            }
        }
        Ok(())
    }

    /// Opens the file, keeping what an earlier run wrote.
    fn open(&mut self) -> io::Result<OpenFile> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(OWNER_ONLY_MODE).open(&self.path)?;
        file.set_permissions(Permissions::from_mode(OWNER_ONLY_MODE))?;
        let mut size = file.metadata()?.len();
        let is_fresh = size == 0;
        if is_fresh && let Some(offset) = end_of(&self.old())? {
            let line = log_continuation::line(&line_splitter::now(), offset);
            file.write_all(line.as_bytes())?;
            size = line.len() as u64;
        }
        Ok(OpenFile { file, size, is_fresh })
    }

    fn old(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}

/// The offset at which a full file ends, counted from the beginning of the log. `None`: no such file.
fn end_of(path: &Path) -> io::Result<Option<u64>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let mut beginning = Vec::new();
    file.take(log_continuation::MAX_BYTES as u64).read_to_end(&mut beginning)?;
    Ok(Some(log_continuation::parse(&beginning).unwrap_or(0) + size))
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

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
