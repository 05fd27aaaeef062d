//! Runs a command on a pseudo-terminal and reads its screen.

use super::{
    broker::{TIMEOUT, countersign},
    command::TestCommand,
    wait_until::wait_until,
};
use nix::pty::{Winsize, openpty};
use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::Stdio,
    sync::{Arc, Mutex},
    thread::JoinHandle,
};
use tokio::process::{Child, Command};

/// A command on a terminal of `columns` by `rows`.
pub(crate) struct Screen {
    child: Child,
    keys: File,
    columns: u16,
    rows: u16,
    /// Everything that was written to the terminal.
    written: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl TestCommand {
    pub(crate) fn on_terminal(self, columns: u16, rows: u16) -> Screen {
        let mut command = countersign(&self.home);
        command.args(&self.args).current_dir(&self.dir).envs(self.variables);
        Screen::open(command, columns, rows)
    }
}

impl Screen {
    fn open(mut command: Command, columns: u16, rows: u16) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        command.env("TERM", "xterm-256color");
        command.stdin(end(&terminal.slave)).stdout(end(&terminal.slave)).stderr(end(&terminal.slave));
        let child = command.spawn().unwrap();
        let (mut reader, keys) = (File::from(terminal.master.try_clone().unwrap()), File::from(terminal.master));
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&written);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // Reading ends with an error once the other end is closed.
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                sink.lock().unwrap().extend_from_slice(&chunk[..read]);
            }
        });
        Self { child, keys, columns, rows, written, reader }
    }

    pub(crate) async fn shows(&self, text: &str) {
        let shown = || {
            // Only changes are written, so a terminal emulator computes the screen.
            let mut terminal = vt100::Parser::new(self.rows, self.columns, 0);
            terminal.process(&self.written.lock().unwrap());
            terminal.screen().contents().contains(text)
        };
        wait_until(&format!("{text:?} is shown"), async || shown().then_some(())).await;
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) async fn finish(self) -> i32 {
        self.finish_with_text().await.0
    }

    /// The exit code, and everything that was written, without colours.
    pub(crate) async fn finish_with_text(mut self) -> (i32, String) {
        let ended = tokio::time::timeout(TIMEOUT, self.child.wait()).await.expect("it ends").unwrap();
        // Processes that the command has started may still write.
        let reader = tokio::task::spawn_blocking(|| self.reader.join());
        tokio::time::timeout(TIMEOUT, reader).await.expect("the terminal is closed").unwrap().unwrap();
        let written = String::from_utf8(self.written.lock().unwrap().clone()).unwrap();
        (ended.code().unwrap_or(-1), anstream::adapter::strip_str(&written).to_string().replace("\r\n", "\n"))
    }
}
