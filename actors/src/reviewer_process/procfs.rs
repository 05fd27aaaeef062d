//! Reads the list of running processes from `/proc`. On systems other than Linux no process is found.

use nix::unistd::{Pid, geteuid};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// A process at the time it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) pid: Pid,
    pub(crate) parent: Pid,
    pub(crate) group: Pid,
    /// Ticks since the boot; together with the pid it identifies one process of this boot.
    pub(crate) start_time: u64,
    /// Exited, but not yet reaped by its parent.
    pub(crate) dead: bool,
}

/// The process that has this pid now.
pub(crate) fn find(pid: Pid) -> Option<Entry> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// All processes. Not a consistent snapshot: processes start and exit while it is read.
pub(crate) fn all() -> Vec<Entry> {
    let Ok(folders) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = folders.flatten().filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| find(Pid::from_raw(pid))).collect()
}

/// All descendants of `roots`, without the roots. The branch at `spared` is left out.
pub(crate) fn descendants(processes: &[Entry], roots: &[Pid], spared: Option<Pid>) -> Vec<Entry> {
    let mut children: HashMap<Pid, Vec<&Entry>> = HashMap::new();
    for entry in processes.iter().filter(|entry| Some(entry.pid) != spared) {
        children.entry(entry.parent).or_default().push(entry);
    }
    let mut found = Vec::new();
    let mut parents = roots.to_vec();
    while let Some(parent) = parents.pop() {
        // Removed, so that an inconsistent list cannot lead in a circle.
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found
}

/// The id of this boot of the machine; empty where the system has none.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether a process of our own user was started with one of these `NAME=value`.
pub(crate) fn has_variable(pid: Pid, variables: &[String]) -> bool {
    any_variable(pid, |entry| variables.iter().any(|variable| variable.as_bytes() == entry))
}

/// Whether any `NAME=value` that a process of our own user was started with fits.
pub(crate) fn any_variable(pid: Pid, fits: impl Fn(&[u8]) -> bool) -> bool {
    let folder = format!("/proc/{pid}");
    // Not compared with the owner of /proc/self: the broker is not dumpable, so that is root.
    fs::metadata(&folder).is_ok_and(|process| process.uid() == geteuid().as_raw())
        && fs::read(format!("{folder}/environ")).is_ok_and(|environment| environment.split(|&byte| byte == 0).any(fits))
}

/// Whether the process has the socket with this inode open. `false` also for processes that this user may not inspect.
pub(crate) fn holds_socket(pid: Pid, inode: u32) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let socket = format!("socket:[{inode}]");
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == socket.as_str()))
}

/// Parses `/proc/PID/stat`. The name in parentheses may contain any byte, also parentheses and line ends.
fn parse(pid: Pid, stat: &[u8]) -> Option<Entry> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(stat.get(after_name..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let group = Pid::from_raw(fields.next()?.parse().ok()?);
    // proc(5) counts the first of `fields` as the 3rd, and the start time as the 22nd.
    let start_time = fields.nth(16)?.parse().ok()?;
    Some(Entry { pid, parent, group, start_time, dead: matches!(state, "Z" | "X") })
}

#[cfg(test)]
#[path = "procfs_tests.rs"]
mod tests;
