//! All that is known of a review, gathered page by page.

use crate::cli::{Failure, remote::Remote, text::number};
use serde_json::{Value, json};

/// Pages bound the broker's work; this bounds ours.
const MAX_ROWS: usize = 10_000;

/// The texts that a proposal is paged by.
const TEXTS: [&str; 4] = ["description", "diff", "counter_patch", "verdict_reason"];

pub(super) async fn gather(broker: &Remote, id: &str) -> Result<Value, Failure> {
    let by_id = json!({ "review_id": id });
    let status = broker.call("get_review_status", by_id.clone()).await?;
    let mut rounds = Vec::new();
    for round in 1..=number(&status, "current_round").max(1) {
        rounds.push(proposal(broker, id, round).await?);
    }
    let mut all = by_id.clone();
    all["include_suggestions"] = json!(true);
    let issues = pages(broker, "list_issues", all, "issues", MAX_ROWS).await?;
    let messages = pages(broker, "get_discussion", by_id.clone(), "messages", MAX_ROWS).await?;
    let timeline = pages(broker, "get_review_timeline", by_id, "rounds", MAX_ROWS).await?;
    Ok(json!({
        "review": status, "rounds": rounds, "issues": issues, "messages": messages, "timeline": timeline,
    }))
}

/// A round with its texts whole.
async fn proposal(broker: &Remote, id: &str, round: u64) -> Result<Value, Failure> {
    let mut asked = json!({ "review_id": id, "round": round });
    let mut whole = broker.call("get_proposal", asked.clone()).await?;
    while let Some(cursor) = whole.as_object_mut().and_then(|whole| whole.remove("next_cursor")) {
        asked["cursor"] = cursor;
        let mut page = broker.call("get_proposal", asked.clone()).await?;
        for text in TEXTS {
            if let Some(more) = page[text].as_str() {
                whole[text] = json!(format!("{}{more}", whole[text].as_str().unwrap_or_default()));
            }
        }
        if page["next_cursor"].is_string() {
            whole["next_cursor"] = page["next_cursor"].take();
        }
    }
    Ok(whole)
}

/// The rows of all pages of a list.
pub(super) async fn pages(
    broker: &Remote,
    tool: &str,
    mut asked: Value,
    key: &str,
    max: usize,
) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    loop {
        let mut page = broker.call(tool, asked.clone()).await?;
        all.extend(page[key].as_array_mut().map(std::mem::take).unwrap_or_default());
        asked["cursor"] = page["next_cursor"].take();
        if asked["cursor"].is_null() || all.len() >= max {
            all.truncate(max);
            return Ok(all);
        }
    }
}
