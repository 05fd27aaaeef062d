//! Reviewers that fail as soon as they are started: wait longer each time, then stop trying.

use crate::time::Tick;
use std::time::Duration;

/// How much failing is put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A reviewer that ends sooner than this without a verdict has failed, whatever its exit code.
    pub quick_exit: Duration,
    /// As many failures in a row end the attempts.
    pub max_failures: u32,
}

/// How a reviewer's run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub lasted: Duration,
    pub verdicts: u64,
    /// It ended with exit code 0.
    pub cleanly: bool,
    /// We told it to.
    pub asked: bool,
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
    pub fn ended(&mut self, ended: &Ended, patience: &Patience, now: Tick) -> bool {
        if ended.verdicts > 0 {
            self.clear();
            return false;
        }
        let failed = !ended.asked && (ended.lasted < patience.quick_exit || !ended.cleanly);
        if !failed || self.open {
            return false;
        }
        self.failures += 1;
        self.open = self.failures >= patience.max_failures;
        self.hold_until = Some(now.plus(pause(self.failures)));
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
