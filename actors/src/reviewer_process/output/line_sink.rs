//! Lines out of chunks, and each to where it goes.

use std::sync::{Arc, Mutex, PoisonError};

use super::Caps;
use super::last_lines::Tail;
use super::line::{Line, cut_to, redacted};
use domain::text::escape_except_tabs;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Out,
    Err,
}

pub(super) struct Recorder<F> {
    out: Line,
    err: Line,
    keeper: Keeper<F>,
    read: u64,
    /// Lines for the file, of one chunk.
    pub(super) unwritten: Vec<u8>,
}

impl<F: FnMut(Option<&str>)> Recorder<F> {
    pub(super) fn new(caps: Caps, secret: Option<String>, tail: Arc<Mutex<Tail>>, heard: F) -> Self {
        let secret = secret.filter(|secret| !secret.is_empty());
        let (out, err) = (Line::up_to(caps.heard.max(caps.line)), Line::up_to(caps.line));
        let keeper = Keeper { caps, secret, tail, heard, stamp: String::new(), written: 0, full: false };
        Self { out, err, keeper, read: 0, unwritten: Vec::new() }
    }

    pub(super) fn take(&mut self, source: Source, chunk: &[u8]) {
        self.keeper.stamp = now();
        let line = if source == Source::Out { &mut self.out } else { &mut self.err };
        line.feed(chunk, |bytes, cut| self.keeper.keep(source, bytes, cut, &mut self.unwritten));
        self.read += chunk.len() as u64;
        if self.read > self.keeper.caps.total {
            self.keeper.close(&mut self.unwritten);
        }
    }

    /// Lines without an end are lines all the same.
    pub(super) fn finish(&mut self) {
        self.keeper.stamp = now();
        for (source, line) in [(Source::Out, &mut self.out), (Source::Err, &mut self.err)] {
            line.finish(|bytes, cut| self.keeper.keep(source, bytes, cut, &mut self.unwritten));
        }
    }

    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.out.capacity() + self.err.capacity() + self.unwritten.capacity()
    }
}

struct Keeper<F> {
    caps: Caps,
    secret: Option<String>,
    tail: Arc<Mutex<Tail>>,
    heard: F,
    stamp: String,
    written: u64,
    /// The log has had its share. The tail and the listener go on: what matters most comes last.
    full: bool,
}

impl<F: FnMut(Option<&str>)> Keeper<F> {
    fn keep(&mut self, source: Source, bytes: &[u8], cut: u64, log: &mut Vec<u8>) {
        let text = redacted(bytes, cut > 0, self.secret.as_deref());
        if source == Source::Out {
            (self.heard)(Some(&*text).filter(|text| cut == 0 && text.len() <= self.caps.heard));
        }
        let kept = cut_to(&text, self.caps.line);
        let cut = cut + (text.len() - kept.len()) as u64;
        let kept = escape_except_tabs(kept);
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).push(source, &kept);
        if self.full {
            return;
        }
        let mark = if source == Source::Out { "out" } else { "err" };
        let note = if cut > 0 { format!(" [{cut} bytes cut]") } else { String::new() };
        let line = format!("{} {mark} {kept}{note}\n", self.stamp);
        log.extend_from_slice(line.as_bytes());
        self.written += line.len() as u64;
        if self.written > self.caps.total {
            self.close(log);
        }
    }

    fn close(&mut self, log: &mut Vec<u8>) {
        if !self.full {
            self.full = true;
            let note = format!("{} --- nothing is logged after {} bytes\n", self.stamp, self.caps.total);
            log.extend_from_slice(note.as_bytes());
        }
    }
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
