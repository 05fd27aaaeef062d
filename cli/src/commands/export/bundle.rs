//! Collects everything about a review, page by page.

use crate::{Failure, client::pagination as whole, client::rest::Remote, render::number};
use serde_json::{Value, json};

/// Maximum number of issues per review.
const MAX_ROWS: usize = 10_000;

pub(super) async fn gather(broker: &Remote, id: &str) -> Result<Value, Failure> {
    let by_id = json!({ "review_id": id });
    let status = broker.call("get_review_status", by_id.clone()).await?;
    let mut rounds = Vec::new();
    for round in 1..=number(&status, "current_round").max(1) {
        rounds.push(whole::proposal(broker, json!({ "review_id": id, "round": round })).await?);
    }
    let all = json!({ "review_id": id, "include_suggestions": true });
    let mut issues = broker.pages("list_issues", all, "issues", MAX_ROWS).await?;
    let messages = whole::discussion(broker, id).await?;
    let timeline = whole::timeline(broker, by_id).await?;
    Ok(json!({
        "review": status, "rounds": rounds, "issues": issues["issues"].take(), "messages": messages,
        "timeline": timeline["rounds"],
    }))
}
