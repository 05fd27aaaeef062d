//! Deadlines use the monotonic clock: a change of the wall clock by hours moves none of them.
//!
//! A preloaded library changes the broker's wall clock, which needs glibc on Linux.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::support::{
    broker::TestBroker,
    client::TestClient,
    pool::{ids, pool_of},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::process::Command;

const PRELUDE: &str = "export LD_PRELOAD=\"$HOME/wall_clock.so\" WALL_CLOCK_OFFSET=\"$HOME/offset\"";

const HOURS: i64 = 3600;

/// Extra time for a busy machine.
const SLACK: Duration = Duration::from_secs(15);

/// A broker whose wall clock can be set.
async fn broker(settings: &str) -> TestBroker {
    let home = TempDir::new().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wall_clock.c");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(home.path().join("wall_clock.so")).arg(source);
    assert!(compile.status().await.expect("the C compiler that SQLite needs, too").success());
    TestBroker::with_prelude_in(PRELUDE, home, settings).await
}

/// Sets the wall clock this far ahead.
fn set(broker: &TestBroker, seconds: i64) {
    // In one step: a partly written number is a number, too.
    let file = broker.home().join("offset.new");
    fs::write(&file, seconds.to_string()).unwrap();
    fs::rename(file, broker.home().join("offset")).unwrap();
}

/// How far ahead the broker's clock is, by the creation time of a new review.
async fn seen(client: &TestClient) -> i64 {
    let review = client.submit("what time is it?").await;
    ahead(&client.status(&review).await["created_at"])
}

fn ahead(moment: &Value) -> i64 {
    let moment: jiff::Timestamp = moment.as_str().unwrap().parse().unwrap();
    moment.as_second() - jiff::Timestamp::now().as_second()
}

fn is_about(seen: i64, set: i64) -> bool {
    seen.abs_diff(set) < 60
}

const LEASE: Duration = Duration::from_secs(3);

/// Claims, does something to the clock, and sees that the claim ends when it is due. `true`: the broker is killed, and
/// the clock set before the next starts.
async fn holds_for_its_lease(mut broker: TestBroker, seconds: i64, restart: bool) -> TestBroker {
    let client = broker.client();
    let review = client.submit("held for a while").await;
    let before = Instant::now();
    client.claim(&review, "ada").await;
    let after = Instant::now();
    if restart {
        broker.kill().await;
    }
    set(&broker, seconds);
    if restart {
        broker = broker.restarted().await;
    }
    assert!(is_about(seen(&client).await, seconds), "the clock is not set");
    let status = client.status(&review).await["status"].clone();
    assert!(status == "claimed" || before.elapsed() >= LEASE, "{status} after {:?}", before.elapsed());
    wait_until("the lease ends", async || (client.status(&review).await["status"] == "pending").then_some(())).await;
    let (least, most) = (after.elapsed(), before.elapsed());
    println!("clock set to {seconds} s, restart: {restart}: a lease of {LEASE:?} ended after {most:?}");
    assert!(most >= LEASE && least < LEASE + SLACK, "after {least:?}");
    broker
}

#[tokio::test]
async fn a_lease_does_not_depend_on_the_wall_clock() {
    let broker = broker("[claims]\nlease = \"3s\"").await;
    assert!(is_about(seen(&broker.client()).await, 0));
    let broker = holds_for_its_lease(broker, 2 * HOURS, false).await;
    let broker = holds_for_its_lease(broker, -2 * HOURS, false).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lease_survives_a_clock_change_while_no_broker_runs() {
    let broker = broker("[claims]\nlease = \"3s\"").await;
    let broker = holds_for_its_lease(broker, 2 * HOURS, true).await;
    let broker = holds_for_its_lease(broker, -2 * HOURS, true).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_timers_of_the_pool_do_not_depend_on_the_wall_clock() {
    const REST: Duration = Duration::from_secs(2);
    let broker = broker(&pool_of("exec sleep 1000", "cooldown = \"2s\"\nidle_after = \"4s\"")).await;
    let client = broker.client();
    let spawned = Instant::now();
    client.call("spawn_reviewer", json!({})).await;

    set(&broker, 2 * HOURS);
    let refused = client.try_call("spawn_reviewer", json!({})).await;
    assert!(spawned.elapsed() >= REST || refused.is_err_and(|error| error["code"] == "cooling_down"));

    set(&broker, -2 * HOURS);
    let second = wait_until("it has rested", async || client.try_call("spawn_reviewer", json!({})).await.ok()).await;
    assert!(is_about(ahead(&second["spawned_at"]), -2 * HOURS), "the clock is not set: {second}");
    assert!(spawned.elapsed() >= REST && spawned.elapsed() < REST + SLACK, "{:?}", spawned.elapsed());

    let pool = broker.until_pool("the first one was idle for long", |pool| ids(pool, "ended").len() == 1).await;
    assert_eq!(pool["ended"][0]["name"], "command-r1");
    let idle = spawned.elapsed();
    assert!(idle >= 2 * REST && idle < 2 * REST + SLACK, "{idle:?}");
    broker.stop_and_check().await;
}
