//! Benchmark of waiting calls: how long after a verdict is sent each call that waits for it has its answer, against the
//! verdict calls of reviews that no call waits for.

use super::{
    Effort,
    load_generator::{Connection, percentile},
    report::{Aim, Figure, Form, Report},
    server_process::Server,
    workload::{Ids, create_and_claim, verdict},
};
use serde_json::json;
use std::time::{Duration, Instant};

/// Numbers of waiting calls, how many times the verdict call the wake may take, and how often it is measured.
const WAITERS: [(usize, f64, usize); 3] = [(1, 2.0, 200), (100, 4.0, 40), (1_000, 15.0, 8)];
const SETTINGS: &str = "[server]\nmax_connections = 3000\nheader_timeout = \"5m\"\n\
                        [limits]\ncalls_in_flight = 4096\ncalls_per_review = 4096\n";
const REVIEWER: &str = "ada";

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading("a verdict wakes the calls that wait for it");
    let home = tempfile::tempdir().unwrap();
    let server = Server::broker(home.path(), SETTINGS).await;
    let mut connection = Connection::open(server.port).await;
    let mut alone = Vec::new();
    for _ in 0..WAITERS[0].2 / effort.fewer {
        let (id, generation) = create_and_claim(&mut connection, REVIEWER, None).await.unwrap();
        connection.times.clear();
        connection.call("submit_verdict", verdict(&id, REVIEWER, generation)).await;
        alone.append(&mut connection.times);
    }
    alone.sort_unstable();
    let alone_p99 = percentile(&alone, 99);
    report.add(Figure::new("wake", "verdict that no call waits for, p99", alone_p99, "ms").against(
        "p50",
        percentile(&alone, 50),
        Form::Times,
    ));
    for (waiters, limit, times) in WAITERS {
        let mut woken = Vec::new();
        let mut waiting = Vec::new();
        for _ in 0..waiters {
            waiting.push(Connection::open(server.port).await);
        }
        for _ in 0..(times / effort.fewer).max(2) {
            waiting = wake(&server, &mut connection, waiting, &mut woken).await;
        }
        woken.sort_unstable();
        report.add(
            Figure::new("wake", format!("wake of {waiters}, p99"), percentile(&woken, 99), "ms")
                .against("verdict, p99", alone_p99, Form::Times)
                .aim(Aim::AtMost(limit)),
        );
        report.add(Figure::new("wake", format!("wake of {waiters}, p50"), percentile(&woken, 50), "ms").against(
            "verdict, p50",
            percentile(&alone, 50),
            Form::Times,
        ));
    }
    server.stop().await;
}

/// Lets all `waiting` connections wait for one verdict, and adds the time from sending it to each answer.
async fn wake(
    server: &Server,
    connection: &mut Connection,
    waiting: Vec<Connection>,
    woken: &mut Vec<Duration>,
) -> Vec<Connection> {
    let (id, generation) = create_and_claim(connection, REVIEWER, None).await.unwrap();
    let status: Ids = connection.call("get_review_status", json!({ "review_id": id })).await.read();
    let wait = json!({ "review_id": id, "wait": true, "since": status.version, "timeout_seconds": 40 });
    let count = waiting.len() as u64;
    let tasks: Vec<_> = waiting
        .into_iter()
        .map(|mut connection| {
            let wait = wait.clone();
            tokio::spawn(async move {
                connection.call("get_review_status", wait).await;
                (connection, Instant::now())
            })
        })
        .collect();
    while server.waiting().await < count {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let sent = Instant::now();
    connection.call("submit_verdict", verdict(&id, REVIEWER, generation)).await;
    let mut done = Vec::new();
    for task in tasks {
        let (connection, at) = task.await.unwrap();
        woken.push(at.duration_since(sent));
        done.push(connection);
    }
    done
}
