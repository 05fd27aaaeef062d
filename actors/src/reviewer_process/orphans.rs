//! What is left of reviewers whose shim can no longer see to it.
//!
//! A process is killed only if it is certainly ours: the shim itself by its [`ProcessIdentity`], anybody
//! else by the mark that every reviewer gets in its environment, and all below these.

use std::collections::HashSet;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::ProcessIdentity;
use super::procfs::{self, Entry};

/// The variable in a reviewer's environment that holds its id.
pub const MARK: &str = "COUNTERSIGN_REVIEWER_ID";

const GIVE_UP: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);
/// Rounds of stopping, in case of one that forks faster than it is looked at.
const ROUNDS: usize = 20;

/// Kills what is left of these reviewers, given by id and by the identity of their shims; how many
/// processes that were.
pub async fn sweep(reviewers: Vec<(String, ProcessIdentity)>) -> usize {
    if reviewers.is_empty() {
        return 0;
    }
    let give_up = Instant::now() + GIVE_UP;
    let mut broom = Broom::new(reviewers);
    loop {
        // the pool of threads is gone only with the broker
        let Ok(back) = spawn_blocking(move || broom.sweep()).await else { return 0 };
        broom = back;
        if broom.clean || Instant::now() > give_up {
            return broom.found.len();
        }
        sleep(PAUSE).await;
    }
}

struct Broom {
    /// Pid and start time of shims of this boot.
    shims: HashSet<Name>,
    marks: Vec<String>,
    /// Everybody that was found so far: what they start is found below them.
    found: HashSet<Name>,
    clean: bool,
}

type Name = (Pid, u64);

fn name(entry: &Entry) -> Name {
    (entry.pid, entry.start_time)
}

impl Broom {
    fn new(reviewers: Vec<(String, ProcessIdentity)>) -> Self {
        let boot_id = procfs::boot_id();
        let of_this_boot = reviewers.iter().filter(|(_, shim)| !boot_id.is_empty() && shim.boot_id == boot_id);
        let shims = of_this_boot
            .filter_map(|(_, shim)| Some((Pid::from_raw(i32::try_from(shim.pid).ok()?), shim.start_time)))
            .collect();
        let marks = reviewers.iter().map(|(id, _)| format!("{MARK}={id}")).collect();
        Self { shims, marks, found: HashSet::new(), clean: false }
    }

    /// Stops all before it kills any: with its parent a process loses what ties it to us.
    fn sweep(mut self) -> Self {
        for _ in 0..ROUNDS {
            let mut fresh = self.look();
            fresh.retain(|entry| !self.found.contains(&name(entry)));
            if fresh.is_empty() {
                break;
            }
            for entry in fresh {
                if signal(name(&entry), Signal::SIGSTOP) {
                    self.found.insert(name(&entry));
                }
            }
        }
        for process in &self.found {
            signal(*process, Signal::SIGKILL);
        }
        self.clean = self.look().is_empty();
        self
    }

    /// All that live and are ours. Never this process and what it has started, even if a reviewer started it.
    fn look(&self) -> Vec<Entry> {
        let this = Pid::this();
        let everybody = procfs::all();
        let ours = |entry: &&Entry| {
            self.shims.contains(&name(entry))
                || self.found.contains(&name(entry))
                || procfs::was_given(entry.pid, &self.marks)
        };
        let mut living: Vec<_> = everybody.iter().filter(|entry| entry.pid != this).filter(ours).copied().collect();
        let roots: Vec<_> = living.iter().map(|entry| entry.pid).collect();
        living.extend(procfs::descendants(&everybody, &roots, Some(this)));
        living.retain(|entry| !entry.dead);
        living
    }
}

/// Looks again right before: the pid may have become somebody else's.
fn signal((pid, start_time): Name, signal: Signal) -> bool {
    procfs::find(pid).is_some_and(|entry| entry.start_time == start_time) && kill(pid, signal).is_ok()
}

#[cfg(test)]
#[path = "orphans_tests.rs"]
mod tests;
