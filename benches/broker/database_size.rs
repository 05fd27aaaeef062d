//! Benchmark that compares a small and a large database: start-up time, memory, and time per page of the review list.

use super::{
    Effort,
    load_generator::Connection,
    server_process::Server,
    stored::{Stored, fill},
};
use serde_json::json;

/// Pages read for each figure.
const PAGES: usize = 200;

pub(crate) async fn report(effort: Effort) {
    println!("\nstored reviews");
    println!(
        "{:<18}{:>10}{:>12}{:>12}{:>14}{:>14}{:>14}",
        "", "reviews", "start ms", "memory MB", "pending ms", "closed ms", "next page ms"
    );
    let mut rows = Vec::new();
    for (name, reviews, stored) in [
        ("none", 0, Stored::Cancelled),
        ("few, open", effort.few, Stored::Pending),
        ("few, ended", effort.few, Stored::Cancelled),
        ("many, open", effort.many, Stored::Pending),
        ("many, ended", effort.many, Stored::Cancelled),
        ("many, begun", effort.many, Stored::Begun),
    ] {
        rows.push(row(name, reviews, stored).await);
    }
    let ratio =
        |figure: fn(&Row) -> f64| figure(&rows[3]).max(figure(&rows[4])) / figure(&rows[1]).max(figure(&rows[2]));
    println!(
        "many against few: pending {:.1} x, closed {:.1} x, next page {:.1} x",
        ratio(|row| row.pending),
        ratio(|row| row.ended),
        ratio(|row| row.next)
    );
}

struct Row {
    pending: f64,
    ended: f64,
    next: f64,
}

async fn row(name: &str, reviews: usize, stored: Stored) -> Row {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), reviews, stored).await;
    let server = Server::broker(home.path(), "").await;
    let mut connection = Connection::open(server.port).await;
    let (pending, _) = connection.median("list_reviews", &json!({ "status": "pending" }), PAGES).await;
    let status = if stored == Stored::Cancelled { "cancelled" } else { "pending" };
    let mut arguments = json!({ "status": status, "caller_id": "bob" });
    let (ended, page) = connection.median("list_reviews", &arguments, PAGES).await;
    let cursor = page.read()["next_cursor"].take();
    if cursor.is_string() {
        arguments["cursor"] = cursor;
    }
    let (next, _) = connection.median("list_reviews", &arguments, PAGES).await;
    println!(
        "{name:<18}{reviews:>10}{:>12.0}{:>12.1}{pending:>14.2}{ended:>14.2}{next:>14.2}",
        server.started_in.as_secs_f64() * 1e3,
        server.memory() as f64 / 1e6,
    );
    server.stop().await;
    Row { pending, ended, next }
}
