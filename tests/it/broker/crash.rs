//! `kill -9` at random moments under load: acknowledged changes are kept, others are kept completely or not at all, and
//! every call can be repeated.

use crate::support::{
    broker::{TestBroker, check_database},
    client::TestClient,
    load::{ScriptedReview, Step},
    measurements::{number_from_env, resident_kib},
    random::Random,
};
use futures::future::join_all;
use std::time::{Duration, Instant};

/// One client: its completed reviews and the current one.
struct Worker {
    name: usize,
    random: Random,
    diff: String,
    ended: Vec<ScriptedReview>,
    current: Option<ScriptedReview>,
    calls: u64,
}

impl Worker {
    fn new(name: usize, diff: String, random: Random) -> Self {
        Self { name, random, diff, ended: Vec::new(), current: None, calls: 0 }
    }

    /// Works until the connection breaks or the time is over. `true`: a call was cut off.
    async fn work(&mut self, client: &TestClient, until: Option<Instant>) -> bool {
        loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return false;
            }
            let life = self.current.get_or_insert_with(|| {
                let diff = (self.random.below(4) == 0).then(|| self.diff.clone());
                ScriptedReview::new(
                    format!("life {} of worker {}", self.ended.len(), self.name),
                    diff,
                    &mut self.random,
                )
            });
            match life.step(client).await {
                Step::Acknowledged => self.calls += 1,
                Step::Over => self.ended.extend(self.current.take()),
                Step::Unknown => return true,
            }
        }
    }

    /// The current review and some of the completed ones; `all` at the end.
    async fn check(&mut self, client: &TestClient, cut_off: bool, all: bool) {
        if let Some(life) = &self.current {
            life.check(client, cut_off).await;
        }
        let sample = if all { self.ended.len() } else { self.ended.len().min(3) };
        for n in 0..sample {
            let life = if all { &self.ended[n] } else { self.random.pick(&self.ended) };
            life.check(client, false).await;
        }
    }
}

async fn crash(times: usize) {
    const WORKERS: usize = 6;
    let mut random = Random::new();
    let mut broker = TestBroker::start().await;
    let diff = broker.repo().diff("a diff");
    let mut workers: Vec<_> = (0..WORKERS).map(|n| Worker::new(n, diff.clone(), random.split())).collect();
    for time in 1..=times {
        let client = broker.client();
        let load = join_all(workers.iter_mut().map(|worker| worker.work(&client, None)));
        let moment = Duration::from_millis(random.within(30..350));
        let kill = async {
            tokio::time::sleep(moment).await;
            broker.kill().await;
        };
        let (cut_off, ()) = futures::future::join(load, kill).await;
        assert!(cut_off.iter().all(|cut_off| *cut_off));
        if time % 10 == 0 {
            check_database(&broker.data_dir()).await;
        }
        broker = broker.restarted().await;
        let client = broker.client();
        join_all(workers.iter_mut().map(|worker| worker.check(&client, true, time == times))).await;
    }
    // Every interrupted call can be repeated, and every review is completed.
    let client = broker.client();
    let soon = Instant::now() + Duration::from_millis(300);
    join_all(workers.iter_mut().map(|worker| worker.work(&client, Some(soon)))).await;
    join_all(workers.iter_mut().map(|worker| worker.check(&client, false, true))).await;
    let calls: u64 = workers.iter().map(|worker| worker.calls).sum();
    let lives: usize = workers.iter().map(|worker| worker.ended.len()).sum();
    println!("{times} kills, {calls} acknowledged calls, {lives} whole lives, nothing lost");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_broker_is_killed_twenty_times() {
    crash(20).await;
}

/// `cargo xtask crash [N]`
#[tokio::test]
#[ignore = "long; cargo xtask crash"]
async fn long_crash_loop() {
    crash(number_from_env("COUNTERSIGN_TEST_CRASHES", 200)).await;
}

/// `cargo xtask soak [MINUTES]`: memory does not grow, and no data is lost.
#[tokio::test]
#[ignore = "long; cargo xtask soak"]
async fn soak() {
    let minutes = number_from_env("COUNTERSIGN_TEST_SOAK_MINUTES", 10);
    let mut random = Random::new();
    let broker = TestBroker::with_settings("[log]\nfilter = \"warn\"").await;
    let diff = broker.repo().diff("a diff");
    let mut workers: Vec<_> = (0..16).map(|n| Worker::new(n, diff.clone(), random.split())).collect();
    let client = broker.client();
    let mut settled = None;
    for minute in 1..=minutes {
        let until = Instant::now() + Duration::from_secs(60);
        let cut_off = join_all(workers.iter_mut().map(|worker| worker.work(&client, Some(until)))).await;
        assert!(cut_off.iter().all(|cut_off| !cut_off), "{}", broker.log());
        join_all(workers.iter_mut().map(|worker| worker.check(&client, false, false))).await;
        let memory = resident_kib(broker.pid());
        let calls: u64 = workers.iter().map(|worker| worker.calls).sum();
        println!("minute {minute}: {calls} calls, {memory} KiB resident");
        let settled = *settled.get_or_insert(memory);
        assert!(memory < settled * 2 + 64 * 1024, "memory grew from {settled} to {memory} KiB");
    }
    broker.stop_and_check().await;
}
