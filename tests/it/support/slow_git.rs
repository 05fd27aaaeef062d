//! A wrapper around git that waits until the test releases it.

use super::broker::TIMEOUT;
use std::{path::PathBuf, time::Duration};
use tempfile::TempDir;

pub(crate) struct SlowGit {
    dir: TempDir,
}

impl SlowGit {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display();
        let script = format!(
            "#!/bin/sh\n\
             # Renaming is atomic: of all that come at once, one is held.\n\
             if mv '{path}/hold' '{path}/held' 2>/dev/null; then\n\
             \x20 while [ -e '{path}/held' ]; do sleep 0.02; done\n\
             fi\n\
             exec git \"$@\"\n"
        );
        let program = dir.path().join("git.sh");
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(program, mode).unwrap();
        Self { dir }
    }

    /// The settings that make a broker use it for everything; more of `[git]` may follow.
    pub(crate) fn setting(&self) -> String {
        format!("[git]\nengine = \"git\"\nprogram = {:?}\n", self.file("git.sh"))
    }

    /// Holds the git process that starts next, and no other.
    pub(crate) fn hold_next(&self) {
        std::fs::write(self.file("hold"), "").unwrap();
    }

    /// Waits until the process is held. Several can be held, one after the other.
    pub(crate) async fn until_held(&self) {
        let held = async {
            while self.file("hold").exists() || !self.file("held").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, held).await.expect("git is called");
    }

    pub(crate) fn let_go(&self) {
        std::fs::remove_file(self.file("held")).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}
