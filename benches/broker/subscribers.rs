//! Benchmark of live events: what 500 subscribers cost the callers. Subscribers of one review each get few events;
//! subscribers of everything get each event, so there the number of events sent is 500 times the number of changes.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report, median},
    review_lifecycle::{measure, measure_paced},
    server_process::Server,
    workload::{Ids, Work, proposal},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

const SUBSCRIBERS: usize = 500;
const CLIENTS: usize = 8;
/// Of each paced client after each review: together about 200 calls per second.
const PAUSE: Duration = Duration::from_millis(200);
const SETTINGS: &str = "[server]\nmax_connections = 3000\nheader_timeout = \"5m\"\n[events]\nmax_streams = 2000\n";

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading(&format!("{SUBSCRIBERS} subscribers, and {CLIENTS} clients that live reviews without a diff"));
    let home = tempfile::tempdir().unwrap();
    let server = Server::broker(home.path(), SETTINGS).await;
    let work = Work::Life { diff: None };
    let mut connection = Connection::open(server.port).await;
    let review: Ids = connection.call("create_review", proposal(None)).await.read();
    let of_one = format!("?review={}", review.review_id.unwrap());
    for (name, query, pause) in [
        ("calls beside subscribers of one review", of_one.as_str(), Duration::ZERO),
        ("200 calls/s beside subscribers of everything", "", PAUSE),
        ("calls beside subscribers of everything", "", Duration::ZERO),
    ] {
        let (mut without, mut with, mut ratios, mut p99) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..effort.rounds {
            let alone = run(&server, effort, &work, pause).await;
            let (read, subscribers) = subscribe(server.port, query).await;
            let beside = run(&server, effort, &work, pause).await;
            drop(subscribers);
            bytes += read.load(Relaxed);
            without.push(alone.per_second());
            with.push(beside.per_second());
            ratios.push(beside.per_second() / alone.per_second());
            p99.push((beside.percentile(99), alone.percentile(99)));
        }
        report.add(
            Figure::new("events", name, median(with), "calls/s")
                .with_ratio("without", median(without), median(ratios), Form::Percent)
                .aim(Aim::AtLeast(0.80)),
        );
        let (beside, alone) = p99.into_iter().unzip();
        let p99 = Figure::new("events", format!("p99, {name}"), median(beside), "ms");
        report.add(p99.against("without", median(alone), Form::Times));
        let mib = bytes as f64 / f64::from(1 << 20) / effort.time.as_secs_f64() / effort.rounds as f64;
        report.add(Figure::new("events", format!("sent, {name}"), mib, "MiB/s"));
    }
    server.stop().await;
}

async fn run(server: &Server, effort: Effort, work: &Work, pause: Duration) -> super::load_generator::Measured {
    if pause.is_zero() {
        measure(server, CLIENTS, effort.time, work).await
    } else {
        measure_paced(server, CLIENTS, effort.time, work, pause).await
    }
}

/// Subscribers that read everything and look at nothing: the number of bytes, and their tasks.
async fn subscribe(port: u16, query: &str) -> (Arc<AtomicUsize>, JoinSet<()>) {
    let (total, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for _ in 0..SUBSCRIBERS {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let head = format!("GET /api/v1/events{query} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut buffer = vec![0; 1 << 14];
        let greeted = stream.read(&mut buffer).await.unwrap();
        assert!(buffer[..greeted].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..greeted]));
        let total = Arc::clone(&total);
        tasks.spawn(async move {
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                total.fetch_add(read, Relaxed);
            }
        });
    }
    (total, tasks)
}
