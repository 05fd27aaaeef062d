//! Counts reviewer processes that failed in a row, and decides how long the pool waits. After each failure it waits
//! longer before it starts the next reviewer; after too many it stops, because every start may cost money.

use crate::time::Tick;
use std::time::Duration;

/// What a reviewer achieved, and how it exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunResult {
    /// Reviews it has voted on, plus reviews whose diff it found not to apply.
    pub handled: u64,
    /// It exited with code 0, or the pool stopped it because it was idle or too old.
    pub clean: bool,
    /// An operator stopped it, or it made room for another project. This says nothing about the reviewer.
    pub requested: bool,
    /// Reviews were waiting for it when it exited.
    pub work_waiting: bool,
}

impl RunResult {
    /// A reviewer fails if it handled nothing and crashed or left work behind. The running time does not matter: a
    /// reviewer that hangs is as useless as one that crashes.
    const fn is_failure(&self) -> bool {
        self.handled == 0 && !self.requested && (self.work_waiting || !self.clean)
    }
}

/// Counts failures in a row. An open breaker allows no more starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CircuitBreaker {
    /// Failures in a row.
    pub failures: u32,
    /// No reviewer is started before this tick.
    pub hold_until: Option<Tick>,
    /// No reviewer is started until the breaker is cleared.
    pub is_open: bool,
}

impl CircuitBreaker {
    /// Records an exit. Returns `true` if it opened the breaker.
    pub fn record(&mut self, run: &RunResult, max_failures: u32, now: Tick) -> bool {
        // An open breaker stays open until it is cleared, even if an older reviewer still succeeds.
        if self.is_open {
            return false;
        }
        if run.handled > 0 {
            self.clear();
        } else if run.is_failure() {
            self.failures += 1;
            self.is_open = self.failures >= max_failures;
            self.hold_until = Some(now.plus(retry_delay(self.failures)));
        }
        self.is_open
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The delay before the next start. The first restart is immediate, since one crash may be an accident and its review
/// is waiting.
fn retry_delay(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => Duration::from_secs(1 << (more - 2).min(6)),
    }
}

#[cfg(test)]
#[path = "circuit_breaker_tests.rs"]
mod tests;
