//! The processes below a shim.
//!
//! The shim is a subreaper, so it stays the ancestor of every process below it, even of those that fork twice or change
//! their session. The tree is gone when the shim has no child left.

use super::signal_code;
use crate::reviewer_process::procfs;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A process that survives SIGKILL for this long hangs in the kernel; waiting longer does not help.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const KILL_RETRY_DELAY: Duration = Duration::from_millis(5);

pub(crate) struct ProcessTree {
    reviewer: Pid,
    code: Option<u8>,
}

impl ProcessTree {
    pub(crate) fn new(reviewer: Pid) -> Self {
        Self { reviewer, code: None }
    }

    /// The exit code of the reviewer, once it has exited.
    pub(crate) fn code(&self) -> Option<u8> {
        self.code
    }

    /// Reaps all processes that have exited, including adopted orphans. Returns whether any process is left.
    pub(crate) fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.reviewer => {
                    self.code = Some(u8::try_from(code & 0xff).unwrap_or_default());
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.reviewer => {
                    self.code = Some(signal_code(signal))
                }
                Ok(_) | Err(Errno::EINTR) => {}
                // A process was killed by a signal unknown to nix, which does not report its pid.
                Err(Errno::EINVAL) => {
                    if kill(self.reviewer, None) == Err(Errno::ESRCH) {
                        self.code.get_or_insert(signal_code(Signal::SIGKILL));
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Sends SIGTERM to all processes. Call it once: some programs abort their cleanup on a second SIGTERM.
    pub(crate) fn terminate(&self) {
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, Signal::SIGTERM);
        }
        for entry in descendants() {
            let _ = kill(entry.pid, Signal::SIGTERM);
        }
    }

    /// Kills until no process is left. Kills whole process groups, which a fork cannot escape. Only the shim's own group
    /// has members outside the tree.
    pub(crate) async fn kill(&mut self) {
        let give_up_at = Instant::now() + KILL_TIMEOUT;
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(self.reviewer, Signal::SIGKILL);
        }
        while self.reap() && Instant::now() < give_up_at {
            let processes = descendants();
            let groups: HashSet<_> = processes.iter().map(|entry| entry.group).collect();
            for group in groups.into_iter().filter(|group| *group != getpgrp() && group.as_raw() > 1) {
                let _ = killpg(group, Signal::SIGKILL);
            }
            for entry in processes {
                let _ = kill(entry.pid, Signal::SIGKILL);
            }
            sleep(KILL_RETRY_DELAY).await;
        }
    }
}

fn descendants() -> Vec<procfs::Entry> {
    procfs::descendants(&procfs::all(), &[Pid::this()], None)
}
