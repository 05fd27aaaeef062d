//! Benchmark that compares a small and a large database: start-up time, memory, and time per page of the review list.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    server_process::Server,
    stored::{Stored, fill},
};
use serde_json::{Value, json};

/// Pages read for each figure.
const PAGES: usize = 200;
const SECTION: &str = "scale";

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading(&format!("{} stored reviews against {}, medians", effort.many, effort.few));
    for (name, stored) in [("open", Stored::Pending), ("ended", Stored::Cancelled), ("begun", Stored::Begun)] {
        let few = row(effort.few, stored).await;
        let many = row(effort.many, stored).await;
        let figure = |what: &str, unit, value: fn(&Row) -> f64| {
            let figure = Figure::new(SECTION, format!("{what}, {name} reviews"), value(&many), unit);
            figure.against(format!("{}:", effort.few), value(&few), Form::Times)
        };
        let at_most = Aim::AtMost(1.3);
        report.add(figure("page of pending reviews", "ms", |row| row.pending).aim(at_most));
        report.add(figure("page of stored reviews", "ms", |row| row.stored).aim(at_most));
        report.add(figure("next page", "ms", |row| row.next).aim(at_most));
        report.add(figure("status of a review", "ms", |row| row.status).aim(at_most));
        report.add(figure("start", "ms", |row| row.start));
        report.add(figure("memory after these calls", "MiB", |row| row.memory));
    }
}

struct Row {
    pending: f64,
    stored: f64,
    next: f64,
    status: f64,
    start: f64,
    memory: f64,
}

async fn row(reviews: usize, stored: Stored) -> Row {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), reviews, stored).await;
    let server = Server::broker(home.path(), "").await;
    let mut connection = Connection::open(server.port).await;
    let (pending, _) = connection.median("list_reviews", &json!({ "status": "pending" }), PAGES).await;
    let status = if stored == Stored::Cancelled { "cancelled" } else { "pending" };
    let mut arguments = json!({ "status": status, "caller_id": "bob" });
    let (listed, page) = connection.median("list_reviews", &arguments, PAGES).await;
    let cursor = page.read::<Value>()["next_cursor"].take();
    if cursor.is_string() {
        arguments["cursor"] = cursor;
    }
    let (next, _) = connection.median("list_reviews", &arguments, PAGES).await;
    let middle = json!({ "review_id": format!("R-{}", reviews / 2) });
    let (status, _) = connection.median("get_review_status", &middle, PAGES).await;
    let (start, memory) = (server.started_in.as_secs_f64() * 1e3, server.resident() as f64 / f64::from(1 << 20));
    server.stop().await;
    Row { pending, stored: listed, next, status, start, memory }
}
