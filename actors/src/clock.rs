//! The broker's two clocks. Ticks come from the machine's monotonic clock, anchored at start-up, so
//! setting the wall clock moves no deadline; the anchor is kept per boot of the machine, so neither
//! does a restart.

use domain::time::{Now, Tick, Timestamp};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::{Reader, StoreError, Writer};

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    anchor: Instant,
    anchor_tick: i64,
}

impl Clock {
    /// Goes on where the last run of this database left off.
    pub(crate) async fn start(reader: &Reader, writer: &Writer) -> Result<Self, StoreError> {
        let anchor = Instant::now();
        let last = reader.find_last_moment().await?;
        let Some((boot_id, uptime_ms)) = this_boot() else {
            return Ok(Self { anchor, anchor_tick: continued(last) });
        };
        let anchor_tick = match reader.find_boot_offset(&boot_id).await? {
            Some(offset) => uptime_ms + offset,
            None => {
                let tick = continued(last);
                writer.remember_boot(boot_id, tick - uptime_ms, wall_ms()).await?;
                tick
            }
        };
        Ok(Self { anchor, anchor_tick })
    }

    pub fn now(&self) -> Now {
        let elapsed = i64::try_from(self.anchor.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now { at: Timestamp(wall_ms()), tick: Tick(self.anchor_tick + elapsed) }
    }

    /// When `tick` comes, on the clock timers run on.
    pub(crate) fn instant_of(&self, tick: Tick) -> tokio::time::Instant {
        let ahead = u64::try_from(tick.0.saturating_sub(self.anchor_tick)).unwrap_or(0);
        (self.anchor + std::time::Duration::from_millis(ahead)).into()
    }
}

/// The tick to go on from after a reboot: the machine was off for as long as the wall clock says,
/// and never less than no time.
fn continued(last: Option<(i64, i64)>) -> i64 {
    last.map_or(0, |(tick, at)| tick + (wall_ms() - at).max(0))
}

fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Which boot this is, and how long ago it was. Known on Linux; elsewhere every start counts as one
/// after a reboot.
fn this_boot() -> Option<(String, i64)> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Some((boot_id.trim().to_owned(), (seconds * 1000.0) as i64))
}
