//! Waits for the operating system's signals that ask the process to stop (SIGINT, SIGTERM), and ignores SIGXFSZ.

use nix::sys::signal::Signal::SIGXFSZ;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Caught and not read: a write beyond the limit of file sizes then fails with an error and does not kill the process.
    _file_size: Signal,
}

impl Signals {
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_size: signal(SignalKind::from_raw(SIGXFSZ as i32))?,
        })
    }

    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
