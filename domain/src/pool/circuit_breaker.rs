//! Reviewers that come to nothing: wait longer each time, then stop trying. Each start may cost money.

use crate::time::Tick;
use std::time::Duration;

/// How a reviewer's run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Reviews it has voted on, or found not to apply.
    pub handled: u64,
    /// It ended with exit code 0, or was let go for being idle or old.
    pub cleanly: bool,
    /// An operator or another project's need ended it: that says nothing about it.
    pub asked: bool,
    /// There was something to do when it ended.
    pub work_waits: bool,
}

impl Ended {
    /// Without having done anything, it crashed or left work behind. How long that took does not matter:
    /// one that hangs is as useless as one that dies.
    const fn is_failure(&self) -> bool {
        self.handled == 0 && !self.asked && (self.work_waits || !self.cleanly)
    }
}

/// Counts failures in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    hold_until: Option<Tick>,
    open: bool,
}

impl Breaker {
    /// Takes note of an end. `true` if that was the failure too many.
    pub fn ended(&mut self, ended: &Ended, max_failures: u32, now: Tick) -> bool {
        // Once open it stays so until somebody has looked, whatever an older reviewer still achieves.
        if self.open {
            return false;
        }
        if ended.handled > 0 {
            self.clear();
        } else if ended.is_failure() {
            self.failures += 1;
            self.open = self.failures >= max_failures;
            self.hold_until = Some(now.plus(pause(self.failures)));
        }
        self.open
    }

    /// Somebody has looked: begin anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Nothing is started any more until somebody clears it.
    pub const fn is_open(&self) -> bool {
        self.open
    }

    pub const fn hold_until(&self) -> Option<Tick> {
        self.hold_until
    }

    pub const fn failures(&self) -> u32 {
        self.failures
    }
}

/// One crash may be an accident, and its review waits: the first restart comes at once.
fn pause(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => Duration::from_secs(1 << (more - 2).min(6)),
    }
}
