//! Collects log lines in memory and writes them to stderr from a thread of its own, many lines at once, so that logging does
//! not slow down the calls that are logged.
//!
//! If stderr is slow and the queue is full, the thread that logs waits, so that no line is lost. At a normal end the queue is
//! written out. If the process is killed, the lines of the last few milliseconds are lost.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait to be written. A full queue makes callers wait.
const MAX_BYTES: usize = 1 << 20;
/// How long lines are collected before they are written.
const COLLECT_FOR: Duration = Duration::from_millis(5);

/// Adds lines to the queue.
#[derive(Clone)]
pub(super) struct LineQueue(Arc<Shared>);

/// Dropping it writes what is queued. Later lines are written at once.
#[must_use]
pub struct LogThread {
    queue: LineQueue,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    lines: Mutex<Lines>,
    is_filled: Condvar,
    is_drained: Condvar,
    sink: fn() -> Box<dyn Write>,
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    is_closed: bool,
}

impl LineQueue {
    /// Starts the thread, which writes to what `sink` opens.
    pub(super) fn start(sink: fn() -> Box<dyn Write>) -> io::Result<(Self, LogThread)> {
        let lines = Mutex::default();
        let queue = Self(Arc::new(Shared { lines, is_filled: Condvar::new(), is_drained: Condvar::new(), sink }));
        let writer = queue.clone();
        let thread = thread::Builder::new().name("log-writer".into()).spawn(move || writer.write_until_closed())?;
        Ok((queue.clone(), LogThread { queue, thread: Some(thread) }))
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8]) -> io::Result<()> {
        let is_full = |lines: &mut Lines| lines.bytes.len() >= MAX_BYTES && !lines.is_closed;
        let mut lines = self.0.is_drained.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        if lines.is_closed {
            return (self.0.sink)().write_all(line);
        }
        let was_empty = lines.bytes.is_empty();
        lines.bytes.extend_from_slice(line);
        drop(lines);
        if was_empty {
            self.0.is_filled.notify_one();
        }
        Ok(())
    }

    fn write_until_closed(&self) {
        let (mut sink, mut taken) = ((self.0.sink)(), Vec::new());
        let is_idle = |lines: &mut Lines| lines.bytes.is_empty() && !lines.is_closed;
        let is_open = |lines: &mut Lines| !lines.is_closed;
        loop {
            let lines = self.0.is_filled.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
            let waited = self.0.is_filled.wait_timeout_while(lines, COLLECT_FOR, is_open);
            let (mut lines, _) = waited.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut lines.bytes, &mut taken);
            let is_closed = lines.is_closed;
            drop(lines);
            self.0.is_drained.notify_all();
            // A log that cannot be written has no other place to say so.
            let _ = sink.write_all(&taken).and_then(|()| sink.flush());
            taken.clear();
            if is_closed {
                return;
            }
        }
    }
}

impl Write for LineQueue {
    /// Called once per event with the whole line, as tracing's formatter does.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.add(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LineQueue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.0.is_filled.notify_all();
        self.queue.0.is_drained.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "line_queue_tests.rs"]
mod tests;
