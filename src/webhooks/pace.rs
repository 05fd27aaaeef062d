//! How often a receiver is tried, and how long it is left alone in between.

use std::time::Duration;
use uuid::Uuid;

/// Longer pauses would only let the log run ahead.
const LONGEST: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) attempts: u32,
    pub(super) first: Duration,
    pub(super) timeout: Duration,
}

impl Pace {
    /// After so many failures: doubled each time, and somewhere between half of that and all of it, so that those who
    /// failed together do not come back together.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        let longest = doubled.min(LONGEST.max(self.first));
        let (_, chance) = Uuid::new_v4().as_u64_pair();
        // The lowest bits of a version 4 UUID are all random.
        let part = (chance & 0xffff_ffff) as f64 / f64::from(u32::MAX);
        longest.mul_f64(0.5 + part / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Pace};
    use std::time::Duration;

    #[test]
    fn pauses_double_and_have_an_end() {
        let pace = Pace { attempts: 10, first: Duration::from_secs(1), timeout: Duration::ZERO };
        for (failures, most) in [(1, 1), (2, 2), (5, 16), (9, 256), (10, 300), (100, 300)] {
            let most = Duration::from_secs(most);
            for _ in 0..20 {
                let pause = pace.pause(failures);
                assert!(pause >= most / 2 && pause <= most, "{failures}: {pause:?}");
            }
        }
        assert_eq!(LONGEST, Duration::from_secs(300));
    }
}
