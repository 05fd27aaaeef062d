//! Reviews in a given status, and arguments of common calls.

use super::client::TestClient;
use domain::{ids::ReviewNumber, review::LoggedEvent};
use serde_json::{Value, json};

/// The arguments of a verdict with a reason.
pub(crate) fn verdict(review: &str, reviewer: &str, verdict: &str) -> Value {
    json!({ "review_id": review, "reviewer_id": reviewer, "verdict": verdict, "reason": format!("{verdict}, says {reviewer}") })
}

/// `arguments` with more or other fields.
pub(crate) fn with(mut arguments: Value, more: Value) -> Value {
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

/// A new review in `status`. The reviewer, if needed, is `ada`.
pub(crate) async fn review_in(client: &TestClient, status: &str) -> String {
    let id = client.submit(&format!("to be {status}")).await;
    match status {
        "pending" => {}
        "claimed" => {
            client.claim(&id, "ada").await;
        }
        "changes_requested" | "approved" | "rejected" => {
            client.claim(&id, "ada").await;
            client.call("submit_verdict", verdict(&id, "ada", status)).await;
        }
        "cancelled" => cancel(client, &id).await,
        "closed" => {
            cancel(client, &id).await;
            client.call("close_review", json!({ "review_id": id, "closer_role": "proposer" })).await;
        }
        other => panic!("no way to {other}"),
    }
    assert_eq!(client.status(&id).await["status"], status);
    id
}

async fn cancel(client: &TestClient, review: &str) {
    client.call("cancel_review", json!({ "review_id": review, "reason": "not wanted" })).await;
}

/// The number of the last event in the log. A call that saves nothing leaves it unchanged.
pub(crate) async fn last_event(client: &TestClient) -> u64 {
    client.call("list_reviews", json!({})).await["seq"].as_u64().unwrap()
}

/// One field of each row.
pub(crate) fn column(rows: &Value, field: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[field].clone()).collect()
}

/// All events of a review, oldest first.
pub(crate) async fn review_log(reader: &store::Reader, number: ReviewNumber) -> Vec<LoggedEvent> {
    let (mut log, mut after) = (Vec::new(), 0);
    loop {
        let page = reader.list_events(after, Some(number), 1000).await.unwrap();
        let Some(last) = page.last() else { return log };
        after = last.seq;
        log.extend(page.into_iter().filter_map(|record| match record.entry {
            store::LogEntry::Review { recorded, .. } => Some(*recorded),
            store::LogEntry::Pool(_) => None,
        }));
    }
}
