//! Benchmark of memory: after the start, and with many open reviews in memory.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Report},
    server_process::Server,
};
use serde_json::json;

const MIB: f64 = (1 << 20) as f64;

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading("memory: resident in all, with the pages of the program file");
    let home = tempfile::tempdir().unwrap();
    let settings = format!("[reviews]\nmax_live = {}\n", effort.live_reviews + 5_000);
    let server = Server::broker(home.path(), &settings).await;
    let mib = |bytes: u64| bytes as f64 / MIB;
    let own = mib(server.memory());
    report.add(
        Figure::new("memory", "memory at the start", mib(server.resident()), "MiB")
            .beside("of it not from files", own)
            .aim(Aim::AtMost(25.0)),
    );
    let mut connection = Connection::open(server.port).await;
    // The first reviews fill shared caches.
    let first = effort.live_reviews * 2 / 5;
    submit(&mut connection, first).await;
    let before = server.memory();
    submit(&mut connection, effort.live_reviews - first).await;
    let each = (server.memory() - before) as f64 / (effort.live_reviews - first) as f64 / 1024.0;
    report.add(
        Figure::new(
            "memory",
            format!("memory with {} open reviews", effort.live_reviews),
            mib(server.resident()),
            "MiB",
        )
        .beside("of it not from files", mib(server.memory()))
        .aim(Aim::AtMost(120.0)),
    );
    report.add(Figure::new("memory", "memory of a further open review", each, "KiB").aim(Aim::AtMost(12.0)));
    server.stop().await;
}

async fn submit(connection: &mut Connection, reviews: usize) {
    let proposal = json!({ "intent": "x", "agent_type": "a", "agent_role": "b", "phase": "c" });
    for _ in 0..reviews {
        connection.call("create_review", proposal.clone()).await;
    }
}
