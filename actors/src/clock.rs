//! Reads the broker's two clocks: the wall clock for display, and ticks for deadlines. Ticks come from the machine's
//! monotonic clock, anchored at start-up, so setting the wall clock does not move a deadline. The anchor is stored per
//! boot of the machine, so a restart of the broker does not move it either.

use domain::time::{Now, Tick, Timestamp};
use std::{
    sync::atomic::{AtomicI64, Ordering::Relaxed},
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use store::{Reader, StoreError, Writer};

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    anchor: Instant,
    anchor_tick: i64,
}

/// How far the wall clock is ahead of the ticks, in milliseconds. The two are read one after the other, so the difference
/// varies by a millisecond; this one changes only if the wall clock is set.
#[derive(Debug)]
pub(crate) struct WallOffset(AtomicI64);

/// A smaller change of the difference does not mean that the wall clock was set.
const WALL_JITTER_MS: u64 = 500;

impl Default for WallOffset {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl WallOffset {
    pub(crate) fn get(&self, now: Now) -> i64 {
        let (known, current) = (self.0.load(Relaxed), now.at.0.saturating_sub(now.tick.0));
        if known != i64::MIN && known.abs_diff(current) <= WALL_JITTER_MS {
            return known;
        }
        self.0.store(current, Relaxed);
        current
    }
}

/// All clocks of the machine, read at one moment.
struct Start {
    anchor: Instant,
    wall_ms: i64,
    boot: Option<Boot>,
}

/// The id of this boot of the machine, and the time since it.
struct Boot {
    id: String,
    uptime_ms: i64,
}

impl Clock {
    /// Continues where the last run on this database stopped.
    pub(crate) async fn start(reader: &Reader, writer: &Writer) -> Result<Self, StoreError> {
        let start = Start { anchor: Instant::now(), wall_ms: wall_ms(), boot: this_boot() };
        let last = reader.find_last_event_time().await?;
        let offset = match &start.boot {
            Some(boot) => reader.find_boot_offset(&boot.id).await?,
            None => None,
        };
        let anchor_tick = start.tick(offset, last);
        if let (Some(boot), None) = (&start.boot, offset) {
            writer.save_boot(boot.id.clone(), anchor_tick - boot.uptime_ms, start.wall_ms).await?;
        }
        Ok(Self { anchor: start.anchor, anchor_tick })
    }

    pub fn now(&self) -> Now {
        let elapsed = i64::try_from(self.anchor.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now { at: Timestamp(wall_ms()), tick: Tick(self.anchor_tick + elapsed) }
    }

    /// The time of `tick` on the clock that timers use.
    pub(crate) fn instant_of(&self, tick: Tick) -> tokio::time::Instant {
        let ahead = u64::try_from(tick.0.saturating_sub(self.anchor_tick)).unwrap_or(0);
        (self.anchor + std::time::Duration::from_millis(ahead)).into()
    }
}

impl Start {
    /// The tick to start from. `offset` is the one stored for this boot, if any; `last` is the tick and the wall clock of
    /// the last event.
    ///
    /// Within a boot the monotonic clock decides, and the wall clock does not matter. After a reboot the wall clock tells
    /// how long the machine was off, at least zero.
    fn tick(&self, offset: Option<i64>, last: Option<(i64, i64)>) -> i64 {
        let last_tick = last.map_or(0, |(tick, _)| tick);
        match (&self.boot, offset, last) {
            (Some(boot), Some(offset), _) => (boot.uptime_ms + offset).max(last_tick),
            (_, _, Some((tick, at))) => tick + (self.wall_ms - at).max(0),
            (_, _, None) => 0,
        }
    }
}

fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Only known on Linux. Elsewhere every start counts as one after a reboot.
fn this_boot() -> Option<Boot> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    // The clock that `Instant` reads. Unlike the uptime it stops in suspend, as leases do.
    let uptime = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).ok()?;
    let uptime_ms = i64::try_from(std::time::Duration::from(uptime).as_millis()).ok()?;
    Some(Boot { id: boot_id.trim().to_owned(), uptime_ms })
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
