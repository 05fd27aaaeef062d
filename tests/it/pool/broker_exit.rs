//! However the broker ends, no reviewer of its pool outlives it, and the next broker releases their claims.
#![cfg(target_os = "linux")]

use crate::support::{
    broker::{TestBroker, check_database},
    measurements::{number_from_env, resident_kib},
    pool::{Process, ids, in_the_name_of, living_in, marked, pool_of, tree, until_gone},
    random::Random,
    wait_until::wait_until,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    time::{Duration, Instant},
};

/// The promised time limit.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The number of processes of each, including its shim.
const REVIEWERS: [(usize, &str); 7] = [
    // forks
    (4, "sleep 1000 & sleep 1000 & wait"),
    // has a child in another session
    (3, "setsid sleep 1000 & exec sleep 1000"),
    // forks twice
    (5, "(setsid sh -c 'sleep 1000 & sleep 1000; :' &) ; exec sleep 1000"),
    // ignores signals
    (4, "trap '' TERM INT HUP; (setsid sleep 1000 &) ; sleep 1000; sleep 1000"),
    // prints without a line end
    (2, "exec cat /dev/zero"),
    // has a child whose parent exits first
    (4, "(setsid sh -c 'env -i sleep 1000; :' &) ; exec sleep 1000"),
    // has one that shows nothing of where it comes from; only its shim knows, so it comes last and can be left out
    (3, "(setsid env -i sleep 1000 &) ; exec sleep 1000"),
];

/// Settings for one reviewer of each kind at once.
fn one_of_each(reviewers: &[(usize, &str)]) -> String {
    let mut script = "case $COUNTERSIGN_REVIEWER_ID in ".to_owned();
    for (n, (_, text)) in reviewers.iter().enumerate() {
        write!(script, "command-r{}-*) {text} ;; ", n + 1).unwrap();
    }
    script.push_str("esac");
    pool_of(&script, &format!("max_size = {}\nratio = 1\ncooldown = \"10ms\"\nstop_grace = \"1m\"", reviewers.len()))
}

/// Reviewers that run, with all they have started.
struct Running {
    ids: BTreeSet<String>,
    shims: Vec<u32>,
    processes: Vec<Process>,
}

/// Waits until there is one of each kind with all its processes.
async fn until_running(broker: &TestBroker, reviewers: &[(usize, &str)]) -> Running {
    let whole = |row: &Value| {
        let name = row["name"].as_str().unwrap();
        let number: usize = name.strip_prefix("command-r").unwrap().parse().unwrap();
        row["state"] == "idle" && tree(pid(row)).len() >= reviewers[number - 1].0
    };
    let all = |pool: &Value| {
        let rows = pool["reviewers"].as_array().unwrap();
        rows.len() == reviewers.len() && rows.iter().all(whole)
    };
    let pool = broker.until_pool("reviewers of every kind", all).await;
    let shims: Vec<_> = pool["reviewers"].as_array().unwrap().iter().map(pid).collect();
    let processes = shims.iter().flat_map(|shim| tree(*shim)).collect();
    Running { ids: ids(&pool, "reviewers"), shims, processes }
}

fn pid(row: &Value) -> u32 {
    row["pid"].as_u64().unwrap().try_into().unwrap()
}

/// Each of these reviewers claims one of these reviews.
async fn claim(broker: &TestBroker, reviewers: &BTreeSet<String>, reviews: &[String]) {
    for (reviewer, review) in reviewers.iter().zip(reviews) {
        in_the_name_of(reviewer, broker.home()).claim(review, reviewer).await;
    }
}

/// A new broker has recorded the end of these reviewers, and their reviews can be claimed.
async fn until_taken_over(broker: &TestBroker, gone: &BTreeSet<String>, exit: &str, held: &[String]) {
    let pool = broker.until_pool("the pool has looked around", |pool| pool["state"] == "ready").await;
    for id in gone {
        let row = pool["ended"].as_array().unwrap().iter().find(|row| row["reviewer_id"] == *id);
        let row = row.unwrap_or_else(|| panic!("{id} is not noted as ended: {pool}"));
        assert_eq!((&row["state"], &row["exit"]), (&"ended".into(), &exit.into()));
    }
    assert!(ids(&pool, "reviewers").is_disjoint(gone), "{pool}");
    for review in held {
        assert_eq!(broker.client().status(review).await["status"], "pending", "{review}");
    }
}

async fn submit(broker: &TestBroker, reviews: usize) -> Vec<String> {
    let mut submitted = Vec::new();
    for n in 0..reviews {
        submitted.push(broker.client().submit(&format!("waits for a reviewer, {n}")).await);
    }
    submitted
}

/// Stops the broker and checks the pool in the database.
async fn stop_and_check(mut broker: TestBroker) {
    assert!(broker.terminate().await.success(), "{}", broker.log());
    assert!(!broker.log().contains("ERROR"), "{}", broker.log());
    check_database(&broker.data_dir()).await;
    let database = broker.data_dir().join("countersign.db");
    let store = store::open(&database, store::Settings::default()).await.unwrap();
    assert_eq!(store.reader.list_running_reviewers().await.unwrap(), []);
}

/// `kill -9` and SIGTERM in turn.
async fn kill(times: usize) {
    let mut broker = TestBroker::with_settings(&one_of_each(&REVIEWERS)).await;
    let reviews = submit(&broker, REVIEWERS.len() + 3).await;
    let mut longest = Duration::ZERO;
    for time in 0..times {
        let running = until_running(&broker, &REVIEWERS).await;
        let held = &reviews[..3];
        claim(&broker, &running.ids, held).await;
        let began = Instant::now();
        let exit = if time % 2 == 0 {
            broker.kill().await;
            "its broker ended"
        } else {
            broker.signal("TERM").await;
            "killed by SIGKILL"
        };
        until_gone(&running.processes, &running.ids, began, AT_ONCE).await;
        longest = longest.max(began.elapsed());
        if time % 2 == 1 {
            assert!(broker.ended().await.success(), "{}", broker.log());
        }
        broker = broker.restarted().await;
        until_taken_over(&broker, &running.ids, exit, held).await;
    }
    println!("{times} times {} reviewers, the last process gone after at most {longest:?}", REVIEWERS.len());
    stop_and_check(broker).await;
}

#[tokio::test]
async fn no_reviewer_process_outlives_the_broker() {
    kill(6).await;
}

/// `cargo xtask crash [N]`
#[tokio::test]
#[ignore = "long; cargo xtask crash"]
async fn long_crash_loop_with_reviewers() {
    kill(number_from_env("COUNTERSIGN_TEST_CRASHES", 100)).await;
}

/// At moments when reviewers are about to be started, have half begun, or are still being looked for by the next
/// broker, which starts at once.
async fn kill_at_any_moment(times: usize) {
    let mut random = Random::new();
    let mut broker = TestBroker::with_settings(&one_of_each(&REVIEWERS)).await;
    submit(&broker, REVIEWERS.len()).await;
    for _ in 0..times {
        tokio::time::sleep(Duration::from_millis(random.within(0..400))).await;
        let (reviewers, mut processes) = (living_in(broker.home()), tree(broker.pid()));
        processes.remove(0);
        let began = Instant::now();
        if random.below(2) == 0 {
            broker.kill().await;
        } else {
            broker.signal("TERM").await;
            until_gone(&processes, &reviewers, began, AT_ONCE).await;
            assert!(broker.ended().await.success(), "{}", broker.log());
            assert_eq!(living_in(broker.home()), BTreeSet::new());
        }
        let (next, ()) = futures::join!(broker.restarted(), until_gone(&processes, &reviewers, began, AT_ONCE));
        broker = next;
    }
    let running = until_running(&broker, &REVIEWERS).await;
    assert_eq!(living_in(broker.home()), running.ids, "no reviewer of an earlier broker");
    let home = broker.home().to_owned();
    stop_and_check(broker).await;
    assert_eq!(living_in(&home), BTreeSet::new());
}

#[tokio::test]
async fn no_reviewer_process_outlives_a_broker_killed_at_any_moment() {
    kill_at_any_moment(10).await;
}

/// `cargo xtask crash [N]`
#[tokio::test]
#[ignore = "long; cargo xtask crash"]
async fn long_crash_loop_at_any_moment() {
    kill_at_any_moment(number_from_env("COUNTERSIGN_TEST_CRASHES", 100)).await;
}

#[tokio::test]
async fn orphans_of_killed_shims_end_at_the_next_start() {
    let (_, kinds) = REVIEWERS.split_last().unwrap();
    let mut broker = TestBroker::with_settings(&one_of_each(kinds)).await;
    let reviews = submit(&broker, kinds.len() + 3).await;
    let running = until_running(&broker, kinds).await;
    claim(&broker, &running.ids, &reviews[..3]).await;
    let pids: Vec<_> = running.shims.iter().chain([&broker.pid()]).map(ToString::to_string).collect();
    let killed = tokio::process::Command::new("kill").arg("-KILL").args(pids).status().await.unwrap();
    assert!(killed.success());
    broker.kill().await;
    assert!(!marked(&running.ids).is_empty(), "without a shim something is left to be swept");

    let began = Instant::now();
    let broker = broker.restarted().await;
    until_gone(&running.processes, &running.ids, began, AT_ONCE + AT_ONCE).await;
    until_taken_over(&broker, &running.ids, "its broker ended", &reviews[..3]).await;
    stop_and_check(broker).await;
}

/// Three reviewers that print more than anybody reads: no line at all, long ones, long ones on stderr. One part is
/// 50 MB of the first, and less of what is written down, which is slow without optimisation.
async fn flood(parts: usize) {
    const SCRIPT: &str = "line=$(printf %01000d 7); much=5000000; \
        case $COUNTERSIGN_REVIEWER_ID in \
            command-r1-*) much=50000000; flood() { cat /dev/zero; } ;; \
            command-r2-*) flood() { yes $line; } ;; \
            command-r3-*) exec 1>&2; flood() { yes $line; } ;; \
        esac; \
        part=1; while :; do \
            until [ -e $HOME/begin-$part ]; do sleep 0.02; done; \
            flood | head -c $much; : > $HOME/$COUNTERSIGN_REVIEWER_ID-$part; part=$((part + 1)); \
        done";
    let broker = TestBroker::with_settings(&pool_of(SCRIPT, "max_size = 3\nratio = 1\ncooldown = \"10ms\"")).await;
    submit(&broker, 4).await;
    let pool = broker.until_pool("three reviewers", |pool| pool["reviewers"][2]["state"] == "idle").await;
    let (reviewers, before) = (ids(&pool, "reviewers"), resident_kib(broker.pid()));
    let mut most = 0;
    for part in 1..=parts {
        fs::write(broker.home().join(format!("begin-{part}")), "").unwrap();
        let printed = |id: &String| broker.home().join(format!("{id}-{part}")).exists();
        wait_until("all have printed as much", || {
            most = most.max(resident_kib(broker.pid()));
            std::future::ready(reviewers.iter().all(printed).then_some(()))
        })
        .await;
    }
    let megabytes = parts * 50;
    println!("{megabytes} MB without a line and others: {before} KiB resident before, {most} KiB at most");
    assert!(most < before + 20 * 1024, "from {before} to {most} KiB");
    assert_eq!(ids(&broker.pool().await, "reviewers"), reviewers, "none of them was stopped for it");
    for file in fs::read_dir(broker.data_dir().join("reviewers")).unwrap().flatten() {
        let size = file.metadata().unwrap().len();
        assert!(size <= 32 << 20, "{}: {size} bytes", file.path().display());
    }
    stop_and_check(broker).await;
}

#[tokio::test]
async fn a_flood_of_output_is_bounded_in_memory_and_on_disk() {
    flood(4).await;
}

/// `cargo xtask crash [N]`
#[tokio::test]
#[ignore = "long; cargo xtask crash"]
async fn long_crash_loop_with_floods() {
    flood(20).await;
}
