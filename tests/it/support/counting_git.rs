//! A git in front of the real one in `PATH`, which writes down every process.

use super::command::TestCommand;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

pub(crate) struct CountingGit {
    dir: TempDir,
    path: String,
}

impl CountingGit {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let (calls, program) = (dir.path().join("calls"), dir.path().join("git"));
        let script = format!("#!/bin/sh\necho \"$*\" >> '{}'\nPATH='{path}' exec git \"$@\"\n", calls.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{path}", dir.path().display());
        Self { dir, path }
    }

    /// The command with this git.
    pub(crate) fn count(&self, command: TestCommand) -> TestCommand {
        command.var("PATH", &self.path)
    }

    /// The setting of a broker that uses this git.
    pub(crate) fn setting(&self) -> String {
        format!("[git]\nprogram = {:?}\n", self.dir.path().join("git"))
    }

    /// The command lines of the processes since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let calls = self.dir.path().join("calls");
        let text = std::fs::read_to_string(&calls).unwrap_or_default();
        let _ = std::fs::remove_file(calls);
        text.lines().map(str::to_owned).collect()
    }
}
