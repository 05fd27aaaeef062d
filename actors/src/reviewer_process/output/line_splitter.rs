//! Splits the output of a reviewer process into lines, and passes each on: to the log file, to a buffer of the last
//! lines, and if it came from stdout to a callback.

use super::Caps;
use domain::text::{ellipsize, escape_except_tabs};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

const MAX_LAST_LINES: usize = 20;
const MAX_LAST_LINE_CHARS: usize = 500;

/// A buffer that grew for a long line is shrunk to this size.
const IDLE_BUFFER_BYTES: usize = 4 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

pub(crate) struct LineSplitter<F> {
    stdout: LineBuffer,
    stderr: LineBuffer,
    router: Router<F>,
    read: u64,
    /// Lines for the log file.
    pub(crate) unwritten: Vec<u8>,
}

impl<F: FnMut(Option<&str>)> LineSplitter<F> {
    pub(crate) fn new(caps: Caps, secret: Option<String>, last_lines: Arc<Mutex<LastLines>>, on_line: F) -> Self {
        let secret = secret.filter(|secret| !secret.is_empty());
        let stdout = LineBuffer::new(caps.stdout_line.max(caps.log_line));
        let stderr = LineBuffer::new(caps.log_line);
        let router = Router { caps, secret, last_lines, on_line, timestamp: String::new(), written: 0, is_full: false };
        Self { stdout, stderr, router, read: 0, unwritten: Vec::new() }
    }

    pub(crate) fn write_heading(&mut self, heading: &str) {
        self.unwritten.extend_from_slice(format!("{} --- {heading}\n", now()).as_bytes());
    }

    pub(crate) fn push(&mut self, source: Source, chunk: &[u8]) {
        self.router.timestamp = now();
        let buffer = if source == Source::Stdout { &mut self.stdout } else { &mut self.stderr };
        buffer.push(chunk, |bytes, cut| self.router.route(source, bytes, cut, &mut self.unwritten));
        self.read += chunk.len() as u64;
        if self.read > self.router.caps.total {
            self.router.close_log(&mut self.unwritten);
        }
    }

    /// Passes on the last lines even if they have no line end.
    pub(crate) fn finish(&mut self) {
        self.router.timestamp = now();
        for (source, buffer) in [(Source::Stdout, &mut self.stdout), (Source::Stderr, &mut self.stderr)] {
            buffer.finish(|bytes, cut| self.router.route(source, bytes, cut, &mut self.unwritten));
        }
    }

    #[cfg(test)]
    pub(crate) fn buffered(&self) -> usize {
        self.stdout.bytes.capacity() + self.stderr.bytes.capacity() + self.unwritten.capacity()
    }
}

struct Router<F> {
    caps: Caps,
    secret: Option<String>,
    last_lines: Arc<Mutex<LastLines>>,
    on_line: F,
    timestamp: String,
    written: u64,
    /// The log has reached its total size. Last lines and callback go on, because the end of the output matters most.
    is_full: bool,
}

impl<F: FnMut(Option<&str>)> Router<F> {
    fn route(&mut self, source: Source, bytes: &[u8], cut: u64, log: &mut Vec<u8>) {
        let text = redact(bytes, cut > 0, self.secret.as_deref());
        if source == Source::Stdout {
            (self.on_line)(Some(&*text).filter(|text| cut == 0 && text.len() <= self.caps.stdout_line));
        }
        let kept = cut_to(&text, self.caps.log_line);
        let cut = cut + (text.len() - kept.len()) as u64;
        let kept = escape_except_tabs(kept);
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner).push(source, &kept);
        if self.is_full {
            return;
        }
        let stream = if source == Source::Stdout { "out" } else { "err" };
        let note = if cut > 0 { format!(" [{cut} bytes cut]") } else { String::new() };
        let line = format!("{} {stream} {kept}{note}\n", self.timestamp);
        log.extend_from_slice(line.as_bytes());
        self.written += line.len() as u64;
        if self.written > self.caps.total {
            self.close_log(log);
        }
    }

    fn close_log(&mut self, log: &mut Vec<u8>) {
        if !self.is_full {
            self.is_full = true;
            let note = format!("{} --- nothing is logged after {} bytes\n", self.timestamp, self.caps.total);
            log.extend_from_slice(note.as_bytes());
        }
    }
}

pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The line that is being read. Bytes beyond the cap are dropped and counted.
#[derive(Debug)]
struct LineBuffer {
    bytes: Vec<u8>,
    cut: u64,
    cap: usize,
}

impl LineBuffer {
    fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), cut: 0, cap }
    }

    /// Calls `each` for every line that ends in this chunk, with the kept bytes and the number of dropped ones.
    fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8], u64)) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let (kept, rest) = text.split_at(text.len().min(self.cap - self.bytes.len()));
            self.bytes.extend_from_slice(kept);
            self.cut += rest.len() as u64;
            if text.len() < piece.len() {
                self.end_line(&mut each);
            }
        }
    }

    /// Calls `each` for a last line without a line end.
    fn finish(&mut self, mut each: impl FnMut(&[u8], u64)) {
        if !self.bytes.is_empty() {
            self.end_line(&mut each);
        }
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8], u64)) {
        each(self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes), self.cut);
        self.bytes.clear();
        self.bytes.shrink_to(IDLE_BUFFER_BYTES);
        self.cut = 0;
    }
}

/// Replaces the secret. If the line was cut, also removes a beginning of the secret at its end.
fn redact<'a>(bytes: &'a [u8], was_cut: bool, secret: Option<&str>) -> Cow<'a, str> {
    let mut text = String::from_utf8_lossy(bytes);
    let Some(secret) = secret else { return text };
    if text.contains(secret) {
        text = Cow::Owned(text.replace(secret, "[token]"));
    }
    if was_cut {
        let beginnings = secret.char_indices().map(|(at, _)| secret.split_at(at).0).rev();
        let rest = beginnings.into_iter().find_map(|beginning| text.strip_suffix(beginning)).map(str::len);
        if let Some(rest) = rest.filter(|rest| *rest < text.len()) {
            text = Cow::Owned(text.split_at(rest).0.to_owned());
        }
    }
    text
}

/// The first `max_bytes` bytes, without splitting a character.
fn cut_to(text: &str, max_bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(max_bytes)).0
}

/// The last lines of stdout and stderr.
#[derive(Debug, Default)]
pub(crate) struct LastLines {
    stdout: VecDeque<String>,
    stderr: VecDeque<String>,
}

impl LastLines {
    /// Adds an escaped line, unless it is blank.
    fn push(&mut self, source: Source, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let lines = if source == Source::Stdout { &mut self.stdout } else { &mut self.stderr };
        if lines.len() == MAX_LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(ellipsize(line, MAX_LAST_LINE_CHARS).into_owned());
    }

    /// The lines of stderr, or of stdout if stderr was empty.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        lines.iter().cloned().collect()
    }
}

#[cfg(test)]
#[path = "line_splitter_tests.rs"]
mod tests;
