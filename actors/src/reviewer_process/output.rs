//! Everything a reviewer prints: drained always, kept within bounds.
//!
//! It is read by the chunk, never by the line, so that no line is too long for it. Where it goes, each
//! bounded on its own: a log file for people, the last lines for the display of a failure, and whole lines
//! of stdout for whoever reads the usage from them.

mod last_lines;
mod line;
mod line_sink;
mod log_file;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use last_lines::Tail;
use line_sink::{Recorder, Source};
use log_file::LogFile;

const CHUNK: usize = 16 * 1024;

/// For what was printed before the end and is still in the pipes; somebody else may hold them open for ever.
const LATE: Duration = Duration::from_secs(1);

/// How much is kept, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Of a line, in the log.
    pub line: usize,
    /// The longest line of stdout that is passed on: an answer with its usage is one line with some clients.
    pub heard: usize,
    /// Of a log file; one full one is kept beside it.
    pub file: u64,
    /// Read or written in all, after which nothing is logged any more.
    pub total: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { line: 16 << 10, heard: 256 << 10, file: 1 << 20, total: 64 << 20 }
    }
}

/// Where the output goes.
#[derive(Debug)]
pub struct Log {
    /// Made private with the first line, and beside it the one before with `.1` at its end.
    pub path: PathBuf,
    /// Not to be seen by anybody who reads the log.
    pub secret: Option<String>,
    pub caps: Caps,
}

/// The draining of one reviewer's output. Dropped, it takes what comes in the next second and ends.
pub struct Output {
    tail: Arc<Mutex<Tail>>,
    process_ended: DropGuard,
    drained: JoinHandle<()>,
}

impl Output {
    /// Begins to drain. `heard` gets each line of stdout, with the secret replaced, or `None` for one that was cut; it
    /// must not block.
    pub fn drain(
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        log: Log,
        heard: impl FnMut(Option<&str>) + Send + 'static,
    ) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let process_ended = CancellationToken::new();
        let recorder = Recorder::new(log.caps, log.secret, tail.clone(), heard);
        let file = LogFile::new(log.path, log.caps.file);
        let drained = tokio::spawn(drain(stdout, stderr, recorder, file, process_ended.clone()));
        Self { tail, process_ended: process_ended.drop_guard(), drained }
    }

    /// The last lines of stderr, or of stdout if it never said anything on stderr.
    pub fn tail(&self) -> Vec<String> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).lines()
    }

    /// To be called when the process has ended: takes what is left and says the last lines.
    pub async fn finish(self) -> Vec<String> {
        drop(self.process_ended);
        let _ = self.drained.await;
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).lines()
    }
}

async fn drain(
    mut stdout: impl AsyncRead + Unpin,
    mut stderr: impl AsyncRead + Unpin,
    mut recorder: Recorder<impl FnMut(Option<&str>)>,
    file: LogFile,
    process_ended: CancellationToken,
) {
    let (mut out_chunk, mut err_chunk) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut out_open, mut err_open) = (true, true);
    let mut file = Some(file);
    let too_late = async {
        process_ended.cancelled().await;
        tokio::time::sleep(LATE).await;
    };
    tokio::pin!(too_late);
    while out_open || err_open {
        let (source, read) = tokio::select! {
            read = stdout.read(&mut out_chunk), if out_open => (Source::Out, read),
            read = stderr.read(&mut err_chunk), if err_open => (Source::Err, read),
            () = &mut too_late => break,
        };
        let (chunk, open) = match source {
            Source::Out => (&out_chunk, &mut out_open),
            Source::Err => (&err_chunk, &mut err_open),
        };
        // a pipe that cannot be read has ended too
        match chunk.get(..read.unwrap_or(0)) {
            Some(read) if !read.is_empty() => recorder.take(source, read),
            _ => *open = false,
        }
        write(&mut file, &mut recorder.unwritten).await;
        // Somebody who prints without end is always ready; others have work to do, too.
        yield_now().await;
    }
    recorder.finish();
    write(&mut file, &mut recorder.unwritten).await;
}

/// Files block; a log that cannot be written stops no reviewer.
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
    // else the broker is ending
    let Ok((open, written)) = written.await else { return };
    match written {
        Ok(()) => *file = Some(open),
        Err(error) => warn!(path = %open.path().display(), %error, "a reviewer's output is no longer logged"),
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
