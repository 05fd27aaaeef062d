//! Benchmark of complete reviews, from creation to closing, with several numbers of concurrent clients.

use super::{
    Effort,
    load_generator::{Connection, Measured},
    server_process::Server,
};
use serde_json::json;
use std::time::Instant;

const CLIENTS: [usize; 4] = [1, 8, 32, 64];

pub(crate) async fn report(effort: Effort) {
    println!("\ncalls through HTTP and MCP (server CPU is user + system time of the server's process)");
    println!(
        "{:<22}{:>8}{:>10}{:>12}{:>10}{:>10}{:>12}{:>10}",
        "", "clients", "calls/s", "CPU µs/call", "p50 ms", "p99 ms", "calls/sync", "share"
    );
    for clients in CLIENTS {
        let ceiling = ceiling(clients, effort).await;
        row("no-op (ceiling)", clients, &ceiling, None, None);
        let (life, per_sync) = life(clients, effort).await;
        let share = life.per_second() / ceiling.per_second();
        row("durable life", clients, &life, Some(per_sync), Some(share));
    }
}

fn row(name: &str, clients: usize, m: &Measured, per_sync: Option<f64>, share: Option<f64>) {
    let per_sync = per_sync.map_or(String::new(), |n| format!("{n:.1}"));
    let share = share.map_or(String::new(), |n| format!("{:.0} %", n * 100.0));
    println!(
        "{name:<22}{clients:>8}{:>10.0}{:>12.1}{:>10.2}{:>10.2}{per_sync:>12}{share:>10}",
        m.per_second(),
        m.cpu_micros(),
        m.percentile(50),
        m.percentile(99),
    );
}

async fn ceiling(clients: usize, effort: Effort) -> Measured {
    let server = Server::noop().await;
    let measured = measure(&server, clients, effort, Work::Nothing).await;
    server.stop().await;
    measured
}

/// The measurement, and how many calls each sync to the disk carried.
async fn life(clients: usize, effort: Effort) -> (Measured, f64) {
    let home = tempfile::tempdir().unwrap();
    let server = Server::broker(home.path(), "").await;
    let (commits_before, changes_before) = server.commits().await;
    let measured = measure(&server, clients, effort, Work::Life).await;
    let (commits, changes) = server.commits().await;
    server.stop().await;
    (measured, (changes - changes_before) as f64 / (commits - commits_before) as f64)
}

#[derive(Clone, Copy)]
enum Work {
    Nothing,
    Life,
}

/// One review from proposal to close: five calls.
async fn live(connection: &mut Connection, client: usize) {
    let proposal = json!({
        "intent": "rename the configuration key", "agent_type": "gsd-executor", "agent_role": "proposer",
        "phase": "3", "plan": "2", "task": "4", "category": "code_change",
        "description": "The key `timeout` becomes `time_limit` everywhere, with the old name still read."
    });
    let created = connection.call("create_review", proposal).await.read();
    let id = created["review_id"].as_str().unwrap().to_owned();
    let reviewer = format!("reviewer-{client}");
    let claim = connection.call("claim_review", json!({ "review_id": id, "reviewer_id": reviewer })).await.read();
    connection.call("get_proposal", json!({ "review_id": id })).await;
    let verdict = json!({
        "review_id": id, "reviewer_id": reviewer, "claim_generation": claim["claim_generation"],
        "verdict": "approved", "reason": "reads well"
    });
    connection.call("submit_verdict", verdict).await;
    connection.call("close_review", json!({ "review_id": id, "closer_role": "proposer" })).await;
}

async fn measure(server: &Server, clients: usize, effort: Effort, work: Work) -> Measured {
    let until = Instant::now() + effort.time;
    let (began, cpu_before) = (Instant::now(), server.cpu());
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let port = server.port;
            tokio::spawn(async move {
                let mut connection = Connection::open(port).await;
                while Instant::now() < until {
                    match work {
                        Work::Nothing => {
                            connection.call("noop", json!({})).await;
                        }
                        Work::Life => live(&mut connection, client).await,
                    }
                }
                connection.times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    Measured::new(times, began.elapsed(), server.cpu() - cpu_before)
}
