use super::{Boot, Clock, Start, this_boot};
use domain::time::Tick;
use std::time::{Duration, Instant};

const HOUR: i64 = 3_600_000;
/// Some day in 2026.
const NOON: i64 = 1_790_000_000_000;

fn start(boot: &str, uptime_ms: i64, wall_ms: i64) -> Start {
    Start { anchor: Instant::now(), wall_ms, boot: Some(Boot { id: boot.into(), uptime_ms }) }
}

/// A database as far as the clock sees it: offsets of boots, and the last event.
#[derive(Default)]
struct Kept {
    boots: Vec<(String, i64)>,
    last: Option<(i64, i64)>,
}

impl Kept {
    /// The tick that a run begins with, remembering what it would.
    fn begin(&mut self, start: &Start) -> i64 {
        let Some(boot) = &start.boot else { return start.tick(None, self.last) };
        let offset = self.boots.iter().find(|(id, _)| *id == boot.id).map(|(_, offset)| *offset);
        let tick = start.tick(offset, self.last);
        if offset.is_none() {
            self.boots.push((boot.id.clone(), tick - boot.uptime_ms));
        }
        tick
    }
}

#[test]
fn the_first_run_begins_at_nothing() {
    assert_eq!(Kept::default().begin(&start("a", 5 * HOUR, NOON)), 0);
}

#[test]
fn a_restart_goes_on_by_the_machines_own_count_whatever_the_wall_clock_says() {
    for set in [-24 * HOUR, -1, 0, 1, 24 * HOUR] {
        let mut kept = Kept::default();
        kept.begin(&start("a", HOUR, NOON));
        kept.last = Some((1000, NOON + 1000));
        // Ten minutes after the first start, the wall clock having been set in between.
        let tick = kept.begin(&start("a", HOUR + HOUR / 6, NOON + HOUR / 6 + set));
        assert_eq!(tick, HOUR / 6, "set by {set}");
    }
}

#[test]
fn a_reboot_goes_on_by_the_wall_clock() {
    let mut kept = Kept::default();
    kept.begin(&start("a", HOUR, NOON));
    kept.last = Some((2 * HOUR, NOON + 2 * HOUR));
    assert_eq!(kept.begin(&start("b", 60_000, NOON + 5 * HOUR)), 5 * HOUR);
    // And within that boot by the machine's count again.
    kept.last = Some((5 * HOUR + 10, NOON + 5 * HOUR + 10));
    assert_eq!(kept.begin(&start("b", 60_000 + 7, NOON - HOUR)), 5 * HOUR + 10);
    assert_eq!(kept.begin(&start("b", 60_000 + HOUR, NOON)), 6 * HOUR);
}

#[test]
fn a_reboot_into_the_past_loses_no_time_and_gains_none() {
    let mut kept = Kept::default();
    kept.begin(&start("a", HOUR, NOON));
    kept.last = Some((HOUR, NOON + HOUR));
    assert_eq!(kept.begin(&start("b", 10, NOON - 100 * HOUR)), HOUR);
}

#[test]
fn the_timeline_never_goes_back_behind_what_it_recorded() {
    // Uptime has a resolution of 10 ms, events of 1 ms.
    let mut kept = Kept::default();
    kept.begin(&start("a", HOUR, NOON));
    kept.last = Some((1234, NOON));
    assert_eq!(kept.begin(&start("a", HOUR + 1230, NOON)), 1234);
}

#[test]
fn without_a_boot_id_every_start_goes_on_by_the_wall_clock() {
    let nameless = |wall_ms| Start { anchor: Instant::now(), wall_ms, boot: None };
    let mut kept = Kept::default();
    assert_eq!(kept.begin(&nameless(NOON)), 0);
    kept.last = Some((500, NOON + 500));
    assert_eq!(kept.begin(&nameless(NOON + 2000)), 2000);
    assert_eq!(kept.begin(&nameless(NOON - 2000)), 500);
}

#[test]
fn a_tick_is_an_instant_and_one_in_the_past_is_no_later_than_now() {
    let clock = Clock { anchor: Instant::now(), anchor_tick: 1000 };
    let at = |tick| clock.instant_of(Tick(tick)).into_std();
    assert_eq!(at(1500), clock.anchor + Duration::from_millis(500));
    assert_eq!(at(1000), clock.anchor);
    assert_eq!(at(-5), clock.anchor);
    assert!(at(i64::MAX) > clock.anchor);
    assert!(clock.now().tick >= Tick(1000));
}

#[cfg(target_os = "linux")]
#[test]
fn linux_knows_its_boot() {
    let (one, other) = (this_boot().unwrap(), this_boot().unwrap());
    assert_eq!((one.id.len(), &one.id), (36, &other.id));
    assert!(one.uptime_ms > 0 && other.uptime_ms >= one.uptime_ms);
}
