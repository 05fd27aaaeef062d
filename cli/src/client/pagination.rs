//! Answers that come in pages, put together.

use crate::{Failure, client::rest::Remote, render::rows};
use serde_json::{Value, json};

/// The texts of a proposal that go on from page to page.
const TEXTS: [&str; 4] = ["description", "diff", "counter_patch", "verdict_reason"];

/// A proposal with all of its texts.
pub(crate) async fn proposal(remote: &Remote, mut arguments: Value) -> Result<Value, Failure> {
    let mut whole = remote.call("get_proposal", arguments.clone()).await?;
    while whole["next_cursor"].is_string() {
        arguments["cursor"] = whole["next_cursor"].take();
        let mut page = remote.call("get_proposal", arguments.clone()).await?;
        for key in TEXTS {
            if let Some(more) = page[key].as_str() {
                let text = whole[key].as_str().unwrap_or_default().to_owned() + more;
                whole[key] = text.into();
            }
        }
        whole["next_cursor"] = page["next_cursor"].take();
    }
    without_cursor(whole)
}

/// All messages of a review, each with all of its text.
pub(crate) async fn discussion(remote: &Remote, review: &str) -> Result<Vec<Value>, Failure> {
    let mut arguments = json!({ "review_id": review });
    let mut messages: Vec<Value> = Vec::new();
    loop {
        let mut page = remote.call("get_discussion", arguments.clone()).await?;
        for message in rows(&page, "messages") {
            match messages.last_mut() {
                Some(last) if last["id"] == message["id"] => {
                    let text = [&last["body"], &message["body"]].map(|body| body.as_str().unwrap_or_default()).concat();
                    last["body"] = text.into();
                }
                Some(_) | None => messages.push(message.clone()),
            }
        }
        arguments["cursor"] = page["next_cursor"].take();
        if !arguments["cursor"].is_string() {
            return Ok(messages);
        }
    }
}

/// The verdicts of all rounds, the newest first.
pub(crate) async fn verdicts(remote: &Remote, current: &Value) -> Result<Vec<Value>, Failure> {
    let mut all = rows(current, "iterations").to_vec();
    for round in (1..current["current_round"].as_u64().unwrap_or(1)).rev() {
        let arguments = json!({ "review_id": current["review_id"], "round": round });
        all.extend(rows(&remote.call("get_proposal", arguments).await?, "iterations").iter().cloned());
    }
    Ok(all)
}

/// A review's story to its end.
pub(crate) async fn timeline(remote: &Remote, mut arguments: Value) -> Result<Value, Failure> {
    let mut whole = remote.call("get_review_timeline", arguments.clone()).await?;
    while whole["next_cursor"].is_string() {
        arguments["cursor"] = whole["next_cursor"].take();
        let page = remote.call("get_review_timeline", arguments.clone()).await?;
        join(&mut whole, page);
    }
    without_cursor(whole)
}

/// Adds the next page; the round that the last one ended in goes on.
pub(crate) fn join(whole: &mut Value, mut page: Value) {
    whole["next_cursor"] = page["next_cursor"].take();
    let Some(rounds) = whole["rounds"].as_array_mut() else { return };
    for mut round in page["rounds"].as_array_mut().map(std::mem::take).unwrap_or_default() {
        match rounds.last_mut() {
            Some(last) if last["round"] == round["round"] => {
                let more = round["events"].as_array_mut().map(std::mem::take).unwrap_or_default();
                if let Some(events) = last["events"].as_array_mut() {
                    events.extend(more);
                }
            }
            Some(_) | None => rounds.push(round),
        }
    }
}

fn without_cursor(mut whole: Value) -> Result<Value, Failure> {
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("next_cursor");
    }
    Ok(whole)
}
