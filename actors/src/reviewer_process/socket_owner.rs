//! Finds out whether a connection belongs to a reviewer that the broker has started.

use super::{procfs, runtime::REVIEWER_ID_VARIABLE};
use nix::unistd::Pid;
use std::collections::HashSet;

/// The processes that hold one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketHolder {
    /// At least one of them was started by a reviewer of a pool.
    Reviewer,
    /// Processes that the broker sees, none of them of a reviewer.
    Other,
    /// No process that the broker may inspect. A reviewer can cause this by sending the socket to itself.
    Unseen,
}

impl SocketHolder {
    /// Looks through all processes of this user, which takes some milliseconds. Call it on a thread for blocking work.
    pub fn find(inode: u32) -> Self {
        let (processes, this) = (procfs::all(), Pid::this());
        let below: HashSet<_> =
            procfs::descendants(&processes, &[this], None).into_iter().map(|entry| entry.pid).collect();
        let mark = format!("{REVIEWER_ID_VARIABLE}=");
        let mut holder = Self::Unseen;
        for entry in processes.iter().filter(|entry| entry.pid != this && !entry.dead) {
            if !procfs::holds_socket(entry.pid, inode) {
                continue;
            }
            // Every process of a reviewer stays below its shim, unless the shim was killed.
            let is_marked = || procfs::any_variable(entry.pid, |variable| variable.starts_with(mark.as_bytes()));
            if below.contains(&entry.pid) || is_marked() {
                return Self::Reviewer;
            }
            holder = Self::Other;
        }
        holder
    }
}
