//! Finds and kills leftover processes of reviewers whose shim has died.
//!
//! A process is killed only if it certainly belongs to such a reviewer. A shim is recognised by its
//! [`ProcessIdentity`], other processes by the [`mark`] that every reviewer has in its environment, or because they
//! descend from one of these.

use super::ProcessIdentity;
use super::procfs::{self, Entry};
use super::runtime::{REVIEWER_ID_VARIABLE, SESSION_DIR_VARIABLE};
use super::session_home;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use store::ReviewerRow;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_DELAY: Duration = Duration::from_millis(10);
/// How often the process list is read again to find processes that were forked in the meantime.
const MAX_SCANS: usize = 20;

/// The variable by which the processes of a reviewer are recognised. `work_dir` has the folders of all reviewers.
pub fn mark(row: &ReviewerRow, work_dir: &Path) -> String {
    match row.session {
        // The names of dedicated reviewers repeat in other brokers of the machine, their folders do not.
        Some(_) => format!("{SESSION_DIR_VARIABLE}={}", session_home::path(work_dir, &row.id).display()),
        None => format!("{REVIEWER_ID_VARIABLE}={}", row.id),
    }
}

/// Kills what is left of these reviewers, given by their [`mark`] and the identity of their shim. Returns the number of
/// processes it found.
pub async fn sweep(reviewers: Vec<(String, ProcessIdentity)>) -> usize {
    if reviewers.is_empty() {
        return 0;
    }
    let give_up_at = Instant::now() + SWEEP_TIMEOUT;
    let mut sweep = OrphanSweep::new(reviewers);
    loop {
        // The join fails only while the broker exits.
        let Ok(after) = spawn_blocking(move || sweep.run()).await else { return 0 };
        sweep = after;
        if sweep.is_clean || Instant::now() > give_up_at {
            return sweep.found.len();
        }
        sleep(RETRY_DELAY).await;
    }
}

struct OrphanSweep {
    /// Shims of this boot.
    shims: HashSet<ProcessKey>,
    /// The marks of all reviewers.
    variables: Vec<String>,
    /// All processes found so far; their descendants are searched too.
    found: HashSet<ProcessKey>,
    is_clean: bool,
}

/// Pid and start time.
type ProcessKey = (Pid, u64);

fn key(entry: &Entry) -> ProcessKey {
    (entry.pid, entry.start_time)
}

impl OrphanSweep {
    fn new(reviewers: Vec<(String, ProcessIdentity)>) -> Self {
        let boot_id = procfs::boot_id();
        let of_this_boot = reviewers.iter().filter(|(_, shim)| !boot_id.is_empty() && shim.boot_id == boot_id);
        let shims = of_this_boot
            .filter_map(|(_, shim)| Some((Pid::from_raw(i32::try_from(shim.pid).ok()?), shim.start_time)))
            .collect();
        let variables = reviewers.into_iter().map(|(mark, _)| mark).collect();
        Self { shims, variables, found: HashSet::new(), is_clean: false }
    }

    /// Stops all processes before it kills any: a process whose parent died can no longer be found as its descendant.
    fn run(mut self) -> Self {
        for _ in 0..MAX_SCANS {
            let mut new = self.scan();
            new.retain(|entry| !self.found.contains(&key(entry)));
            if new.is_empty() {
                break;
            }
            for entry in new {
                if signal(key(&entry), Signal::SIGSTOP) {
                    self.found.insert(key(&entry));
                }
            }
        }
        for process in &self.found {
            signal(*process, Signal::SIGKILL);
        }
        self.is_clean = self.scan().is_empty();
        self
    }

    /// All live processes of these reviewers. Never this process and its descendants, even if a reviewer started it.
    fn scan(&self) -> Vec<Entry> {
        let this = Pid::this();
        let processes = procfs::all();
        let is_ours = |entry: &&Entry| {
            self.shims.contains(&key(entry))
                || self.found.contains(&key(entry))
                || procfs::has_variable(entry.pid, &self.variables)
        };
        let mut live: Vec<_> = processes.iter().filter(|entry| entry.pid != this).filter(is_ours).copied().collect();
        let roots: Vec<_> = live.iter().map(|entry| entry.pid).collect();
        live.extend(procfs::descendants(&processes, &roots, Some(this)));
        live.retain(|entry| !entry.dead);
        live
    }
}

/// Sends a signal, after checking that the pid still belongs to this process.
fn signal((pid, start_time): ProcessKey, signal: Signal) -> bool {
    procfs::find(pid).is_some_and(|entry| entry.start_time == start_time) && kill(pid, signal).is_ok()
}

#[cfg(test)]
#[path = "orphans_tests.rs"]
mod tests;
