//! All that a reviewer has started.
//!
//! As subreaper the shim is the ancestor of every process below it for as long as that lives, whatever it
//! forks and whichever session it moves to. So the tree is gone exactly when the shim has no child left.

use std::collections::HashSet;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp};
use tokio::time::{Instant, sleep};

use super::by;
use crate::reviewer_process::procfs;

/// After that something hangs in the kernel, and nobody is helped by waiting for it.
const UNKILLABLE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Tree {
    reviewer: Pid,
    code: Option<u8>,
}

impl Tree {
    pub(super) fn below_us(reviewer: Pid) -> Self {
        Self { reviewer, code: None }
    }

    /// The exit code to pass on, as soon as the reviewer itself has ended.
    pub(super) fn code(&self) -> Option<u8> {
        self.code
    }

    /// Reaps all that have ended, adopted orphans too; whether anybody is left.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.reviewer => {
                    self.code = Some(u8::try_from(code & 0xff).unwrap_or_default());
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.reviewer => self.code = Some(by(signal)),
                Ok(_) | Err(Errno::EINTR) => {}
                // ended by a signal without a name, which hides who it was
                Err(Errno::EINVAL) => {
                    if kill(self.reviewer, None) == Err(Errno::ESRCH) {
                        self.code.get_or_insert(by(Signal::SIGKILL));
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Asks everybody to end, once: to some a second request means to leave their work as it is.
    pub(super) fn terminate(&self) {
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, Signal::SIGTERM);
        }
        for entry in below_us() {
            let _ = kill(entry.pid, Signal::SIGTERM);
        }
    }

    /// Kills until nobody is left. Whole groups at once, because no fork gets past that; a group that is not
    /// the shim's has only members from below it.
    pub(super) async fn kill(&mut self) {
        let give_up = Instant::now() + UNKILLABLE;
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, Signal::SIGKILL);
        }
        while self.reap() && Instant::now() < give_up {
            let everybody = below_us();
            let groups: HashSet<_> = everybody.iter().map(|entry| entry.group).collect();
            for group in groups.into_iter().filter(|group| *group != getpgrp() && group.as_raw() > 1) {
                let _ = killpg(group, Signal::SIGKILL);
            }
            for entry in everybody {
                let _ = kill(entry.pid, Signal::SIGKILL);
            }
            sleep(PAUSE).await;
        }
    }
}

fn below_us() -> Vec<procfs::Entry> {
    procfs::descendants(&procfs::all(), &[Pid::this()], None)
}
