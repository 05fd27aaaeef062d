//! Puts the pages of a response together.

use crate::{CliError, client::rest::Remote, render::rows};
use api::{
    history::{TimelineRequest, TimelineResponse},
    messages::{DiscussionRequest, Message},
    operation::{GetDiscussion, GetProposal, GetReviewTimeline},
    proposals::{ProposalRequest, ProposalResponse},
};
use serde_json::{Value, json};

/// Maximum number of rows in one page.
const MAX_PAGE_ROWS: usize = 200;

/// Collects up to `limit` rows of a list, and the cursor of the rest. A page can be short or empty and still have a
/// successor.
pub(crate) async fn collect<T>(
    limit: usize,
    mut cursor: Option<String>,
    fetch: impl AsyncFn(Option<String>, u32) -> Result<(Vec<T>, Option<String>), CliError>,
) -> Result<(Vec<T>, Option<String>), CliError> {
    let mut rows = Vec::new();
    loop {
        let page_rows = limit.saturating_sub(rows.len()).clamp(1, MAX_PAGE_ROWS);
        let (page, next) = fetch(cursor, u32::try_from(page_rows)?).await?;
        rows.extend(page);
        cursor = next;
        if cursor.is_none() || rows.len() >= limit {
            return Ok((rows, cursor));
        }
    }
}

/// The texts of a proposal that go on from page to page.
const TEXTS: [&str; 4] = ["description", "diff", "counter_patch", "verdict_reason"];

/// A proposal with all of its texts.
pub(crate) async fn proposal(remote: &Remote, mut arguments: Value) -> Result<Value, CliError> {
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
pub(crate) async fn discussion(remote: &Remote, review: &str) -> Result<Vec<Value>, CliError> {
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

/// A proposal with its complete texts.
pub(crate) async fn complete_proposal(
    remote: &Remote,
    mut request: ProposalRequest,
) -> Result<ProposalResponse, CliError> {
    let mut proposal = remote.execute::<GetProposal>(&request).await?;
    while let Some(cursor) = proposal.next_cursor.take() {
        request.cursor = Some(cursor);
        let page = remote.execute::<GetProposal>(&request).await?;
        append(&mut proposal.description, page.description);
        append(&mut proposal.diff, page.diff);
        append(&mut proposal.counter_patch, page.counter_patch);
        append(&mut proposal.verdict_reason, page.verdict_reason);
        proposal.next_cursor = page.next_cursor;
    }
    Ok(proposal)
}

fn append(text: &mut Option<String>, page: Option<String>) {
    if let Some(page) = page {
        text.get_or_insert_default().push_str(&page);
    }
}

/// All messages of a review, each with its complete text.
pub(crate) async fn complete_discussion(remote: &Remote, review_id: &str) -> Result<Vec<Message>, CliError> {
    let mut request = DiscussionRequest { review_id: review_id.to_owned(), ..Default::default() };
    let mut messages: Vec<Message> = Vec::new();
    loop {
        let page = remote.execute::<GetDiscussion>(&request).await?;
        for message in page.messages {
            match messages.last_mut() {
                // A long message continues on the next page.
                Some(last) if last.id == message.id => last.body.push_str(&message.body),
                Some(_) | None => messages.push(message),
            }
        }
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(messages),
        }
    }
}

/// The verdicts of all rounds, the newest first.
pub(crate) async fn verdicts(remote: &Remote, current: &Value) -> Result<Vec<Value>, CliError> {
    let mut all = rows(current, "iterations").to_vec();
    for round in (1..current["current_round"].as_u64().unwrap_or(1)).rev() {
        let arguments = json!({ "review_id": current["review_id"], "round": round });
        all.extend(rows(&remote.call("get_proposal", arguments).await?, "iterations").iter().cloned());
    }
    Ok(all)
}

/// The complete timeline of a review.
pub(crate) async fn timeline(remote: &Remote, review_id: &str) -> Result<TimelineResponse, CliError> {
    let mut request = TimelineRequest { review_id: review_id.to_owned(), cursor: None };
    let mut timeline = remote.execute::<GetReviewTimeline>(&request).await?;
    while let Some(cursor) = timeline.next_cursor.take() {
        request.cursor = Some(cursor);
        append_timeline(&mut timeline, remote.execute::<GetReviewTimeline>(&request).await?);
    }
    Ok(timeline)
}

/// Appends the next page. The last round continues there.
pub(crate) fn append_timeline(timeline: &mut TimelineResponse, page: TimelineResponse) {
    timeline.next_cursor = page.next_cursor;
    for round in page.rounds {
        match timeline.rounds.last_mut() {
            Some(last) if last.round == round.round => last.events.extend(round.events),
            Some(_) | None => timeline.rounds.push(round),
        }
    }
}

fn without_cursor(mut whole: Value) -> Result<Value, CliError> {
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("next_cursor");
    }
    Ok(whole)
}
