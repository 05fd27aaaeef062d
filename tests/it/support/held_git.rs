//! A git that a test can hold in the middle of its work.

use super::broker::PATIENCE;
use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe::{OpenOptions, Receiver, Sender},
    process::Command,
};

pub(crate) struct HeldGit {
    dir: TempDir,
    started: Receiver,
    release: Sender,
}

impl HeldGit {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (started, release) = (dir.path().join("started"), dir.path().join("release"));
        let made = Command::new("mkfifo").args([&started, &release]).status().await.unwrap();
        assert!(made.success());
        let both_ways = || OpenOptions::new().read_write(true).clone();
        let git = Self {
            started: both_ways().open_receiver(&started).unwrap(),
            release: both_ways().open_sender(&release).unwrap(),
            dir,
        };
        let script = format!(
            "#!/bin/sh\nif mv {0}/hold {0}/held 2>/dev/null; then echo s > {0}/started; read _ < {0}/release; fi\n\
             exec git \"$@\"\n",
            git.dir.path().display()
        );
        std::fs::write(git.program(), script).unwrap();
        std::fs::set_permissions(git.program(), std::fs::Permissions::from_mode(0o755)).unwrap();
        git
    }

    /// For the setting `git.program`.
    pub(crate) fn program(&self) -> PathBuf {
        self.dir.path().join("git")
    }

    /// The next git command stops before it does anything.
    pub(crate) fn hold_next(&self) {
        std::fs::write(self.dir.path().join("hold"), "").unwrap();
    }

    /// Returns once a command stands still.
    pub(crate) async fn is_held(&mut self) {
        let mut line = [0; 2];
        tokio::time::timeout(PATIENCE, self.started.read_exact(&mut line)).await.expect("git was run").unwrap();
    }

    pub(crate) async fn release(&mut self) {
        self.release.write_all(b"go\n").await.unwrap();
    }
}
