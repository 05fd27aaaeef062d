//! Benchmark of queries over the event log (audit log, activity, list, timeline and statistics) in a small and in a
//! large database.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    server_process::Server,
    stored::{Stored, fill},
};
use serde_json::{Value, json};

/// Calls of each kind; figures of everything take long.
const CALLS: usize = 100;
const LONG_CALLS: usize = 5;

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading(&format!("the past (ten events a review), {} reviews against {}, medians", effort.many, effort.few));
    let few = row(effort.few).await;
    let many = row(effort.many).await;
    for ((name, few), (_, many)) in few.into_iter().zip(many) {
        let figure = Figure::new("history", name, many, "ms").against(format!("{}:", effort.few), few, Form::Times);
        report.add(figure.aim(Aim::AtMost(1.3)));
    }
}

async fn row(reviews: usize) -> Vec<(&'static str, f64)> {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), reviews, Stored::Lived).await;
    let server = Server::broker(home.path(), "").await;
    let mut connection = Connection::open(server.port).await;
    let middle = format!("R-{}", reviews / 2);
    // The thousand reviews that the last of few were submitted with, a minute apart: in both the same number.
    let since = submitted_at(reviews.saturating_sub(1_000));
    let calls: [(&'static str, &str, Value, usize); 12] = [
        ("list, closed", "list_reviews", json!({ "status": "closed" }), CALLS),
        ("audit", "get_audit_log", json!({}), CALLS),
        ("audit, in the middle", "get_audit_log", json!({ "cursor": (reviews * 5).to_string() }), CALLS),
        ("audit of a review", "get_audit_log", json!({ "review_id": middle }), CALLS),
        ("audit of a kind", "get_audit_log", json!({ "kind": "closed" }), CALLS),
        ("audit of an actor", "get_audit_log", json!({ "actor": "reviewer-7" }), CALLS),
        ("audit, nothing found", "get_audit_log", json!({ "actor": "unknown" }), CALLS),
        ("audit since", "get_audit_log", json!({ "since": since, "order": "oldest" }), CALLS),
        ("activity", "get_activity_feed", json!({}), CALLS),
        ("timeline", "get_review_timeline", json!({ "review_id": middle }), CALLS),
        ("stats of 1,000 reviews", "get_review_stats", json!({ "since": since }), LONG_CALLS),
        ("stats of all", "get_review_stats", json!({ "group_by": "reviewer" }), LONG_CALLS),
    ];
    let mut figures = Vec::new();
    for (name, tool, arguments, times) in calls {
        let (median, _) = connection.median(tool, &arguments, times).await;
        figures.push((name, median));
    }
    server.stop().await;
    figures
}

/// When the review after this number was submitted.
fn submitted_at(number: usize) -> String {
    let at = super::stored::FIRST_AT + (i64::try_from(number).unwrap() + 1) * 60_000;
    jiff::Timestamp::from_millisecond(at).unwrap().to_string()
}
