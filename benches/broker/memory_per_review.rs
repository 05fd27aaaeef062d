//! Benchmark that measures how much memory a loaded, idle review takes.

use super::{Effort, load_generator::Connection, server_process::Server};
use serde_json::json;

pub(crate) async fn report(effort: Effort) {
    let home = tempfile::tempdir().unwrap();
    let settings = format!("[reviews]\nmax_live = {}\n", effort.live_reviews + 5_000);
    let server = Server::broker(home.path(), &settings).await;
    let mut connection = Connection::open(server.port).await;
    // The first reviews fill shared caches.
    submit(&mut connection, 4_000).await;
    let before = server.memory();
    submit(&mut connection, effort.live_reviews).await;
    let after = server.memory();
    let each = (after - before) as f64 / effort.live_reviews as f64 / 1024.0;
    println!("\nmemory of {} live idle reviews: {each:.1} KiB each (aim: under 12)", effort.live_reviews);
    server.stop().await;
}

async fn submit(connection: &mut Connection, reviews: usize) {
    let proposal = json!({ "intent": "x", "agent_type": "a", "agent_role": "b", "phase": "c" });
    for _ in 0..reviews {
        connection.call("create_review", proposal.clone()).await;
    }
}
