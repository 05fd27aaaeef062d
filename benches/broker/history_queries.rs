//! Benchmark of queries over the event log (audit log, activity, list, timeline and statistics) in a small and in a
//! large database.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report, median},
    server_process::Server,
    stored::{Stored, fill, index},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Calls of each kind; figures of everything take long. Both databases take turns.
const CALLS: usize = 100;
const LONG_CALLS: usize = 15;
const TURNS: usize = 5;

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading(&format!("the past (ten events a review), {} reviews against {}, medians", effort.many, effort.few));
    let mut few = Past::start(effort.few).await;
    let mut many = Past::start(effort.many).await;
    for ((name, tool, of_few, times), (_, _, of_many, _)) in calls(effort.few).into_iter().zip(calls(effort.many)) {
        let (mut few_ms, mut many_ms) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            few_ms.push(few.connection.median(tool, &of_few, times / TURNS).await.0);
            many_ms.push(many.connection.median(tool, &of_many, times / TURNS).await.0);
        }
        let figure = Figure::new("history", name, median(many_ms), "ms");
        let figure = figure.against(format!("{}:", effort.few), median(few_ms), Form::Times);
        report.add(figure.aim(Aim::AtMost(1.3)));
    }
    few.server.stop().await;
    many.server.stop().await;
}

/// A broker whose database has a past.
struct Past {
    server: Server,
    connection: Connection,
    _home: TempDir,
}

impl Past {
    async fn start(reviews: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        fill(home.path(), reviews, Stored::Lived).await;
        index(home.path()).await;
        let server = Server::broker(home.path(), "").await;
        let connection = Connection::open(server.port).await;
        Self { server, connection, _home: home }
    }
}

/// Name, tool, arguments and number of the calls to a database with so many reviews.
fn calls(reviews: usize) -> [(&'static str, &'static str, Value, usize); 15] {
    let middle = format!("R-{}", reviews / 2);
    // The thousand reviews that the last of few were submitted with, a minute apart: in both the same number.
    let since = submitted_at(reviews.saturating_sub(1_000));
    [
        ("list, closed", "list_reviews", json!({ "status": "closed" }), CALLS),
        ("audit", "get_audit_log", json!({}), CALLS),
        ("audit, in the middle", "get_audit_log", json!({ "cursor": (reviews * 5).to_string() }), CALLS),
        ("audit of a review", "get_audit_log", json!({ "review_id": middle }), CALLS),
        ("audit of a kind", "get_audit_log", json!({ "kind": "closed" }), CALLS),
        ("audit of an actor", "get_audit_log", json!({ "actor": "reviewer-7" }), CALLS),
        ("audit, nothing found", "get_audit_log", json!({ "actor": "unknown" }), CALLS),
        ("audit since", "get_audit_log", json!({ "since": since, "order": "oldest" }), CALLS),
        ("activity", "get_activity_feed", json!({}), CALLS),
        ("issues, blocking first", "list_issues", json!({ "order": "blocking" }), CALLS),
        ("issues of a reviewer", "list_issues", json!({ "order": "blocking", "reviewer": "reviewer-7" }), CALLS),
        ("issues with a word", "list_issues", json!({ "q": "high", "limit": 20 }), CALLS),
        ("timeline", "get_review_timeline", json!({ "review_id": middle }), CALLS),
        ("stats of 1,000 reviews", "get_review_stats", json!({ "since": since }), LONG_CALLS),
        ("stats of all", "get_review_stats", json!({ "group_by": "reviewer" }), LONG_CALLS),
    ]
}

/// When the review after this number was submitted.
fn submitted_at(number: usize) -> String {
    let at = super::stored::FIRST_AT + (i64::try_from(number).unwrap() + 1) * 60_000;
    jiff::Timestamp::from_millisecond(at).unwrap().to_string()
}
