//! What the kernel tells of processes. Where there is no Linux `/proc` it tells nothing, and nobody is found.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::unistd::Pid;

/// A process as it was when it was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    /// Ticks since the boot; with the pid it names one process of this boot.
    pub(super) start_time: u64,
    /// Ended, but not yet reaped by its parent.
    pub(super) dead: bool,
}

/// The process that has this pid now.
pub(super) fn find(pid: Pid) -> Option<Entry> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Everybody. Not one moment's picture: processes come and go while it is taken.
pub(super) fn all() -> Vec<Entry> {
    let Ok(folders) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = folders.flatten().filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| find(Pid::from_raw(pid))).collect()
}

/// All below `roots`, without the roots; the branch at `spared` is left out.
pub(super) fn descendants(everybody: &[Entry], roots: &[Pid], spared: Option<Pid>) -> Vec<Entry> {
    let mut children: HashMap<Pid, Vec<&Entry>> = HashMap::new();
    for entry in everybody.iter().filter(|entry| Some(entry.pid) != spared) {
        children.entry(entry.parent).or_default().push(entry);
    }
    let mut found = Vec::new();
    let mut parents = roots.to_vec();
    while let Some(parent) = parents.pop() {
        // removed, so that a picture that contradicts itself cannot lead in a circle
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found
}

/// Names this boot of the machine; empty where it has no name.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether a process of our own user was started with one of these `NAME=value`.
pub(super) fn was_given(pid: Pid, variables: &[String]) -> bool {
    let owner = |process: &Path| fs::metadata(process).map(|folder| folder.uid()).ok();
    let folder = format!("/proc/{pid}");
    owner(folder.as_ref()).is_some()
        && owner(folder.as_ref()) == owner("/proc/self".as_ref())
        && fs::read(format!("{folder}/environ")).is_ok_and(|environment| {
            environment
                .split(|&byte| byte == 0)
                .any(|given| variables.iter().any(|variable| variable.as_bytes() == given))
        })
}

/// Reads `/proc/PID/stat`: the name in parentheses can hold anything, also parentheses and line ends.
fn parse(pid: Pid, stat: &[u8]) -> Option<Entry> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(stat.get(after_name..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let group = Pid::from_raw(fields.next()?.parse().ok()?);
    // the first of `fields` is called the 3rd in proc(5), the start time the 22nd
    let start_time = fields.nth(16)?.parse().ok()?;
    Some(Entry { pid, parent, group, start_time, dead: matches!(state, "Z" | "X") })
}

#[cfg(test)]
#[path = "procfs_tests.rs"]
mod tests;
