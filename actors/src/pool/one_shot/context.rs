//! What a one-shot reviewer is asked about, read from the database.

use super::prompt::{Before, Matter};
use crate::{Context, error::BrokerError, submission::unreadable};
use domain::{
    content::ContentHash,
    finding::{Finding, FindingStatus},
    review::Review,
};
use std::sync::Arc;

/// Verdicts of a round, and messages in a page.
const MANY: u32 = 200;

pub(super) async fn gather(context: &Context, review: &Review, persona: &str) -> Result<Matter, BrokerError> {
    let content = context.find_content(&review.round.content_hash).await?;
    let mut discussion = Vec::new();
    loop {
        let after = discussion.last().map_or(0, |last: &store::MessageRow| last.id);
        let page = context.reader.list_messages(review.number, None, after, MANY).await.map_err(unreadable)?;
        let is_last = page.next_cursor.is_none();
        discussion.extend(page.items);
        if is_last {
            break;
        }
    }
    Ok(Matter {
        intent: content.intent.clone(),
        description: content.description.clone(),
        diff: content.diff.clone(),
        round: review.round.number,
        has_copy: false,
        before: before(context, review, persona).await?,
        findings: review.findings.iter().filter(|found| found.status == FindingStatus::Open).map(line).collect(),
        discussion,
    })
}

/// The last vote of this seat, whoever gave it.
async fn before(context: &Context, review: &Review, persona: &str) -> Result<Option<Before>, BrokerError> {
    for round in (1..=review.round.number).rev() {
        let verdicts = context.reader.list_verdicts(review.number, round, MANY).await.map_err(unreadable)?;
        let last = verdicts.into_iter().find(|given| given.persona == persona && given.verdict.is_vote());
        if let Some(last) = last {
            let diff = changed_since(context, review, ContentHash(last.content_hash)).await;
            return Ok(Some(Before { round, verdict: Some(last.verdict), reason: last.reason, diff }));
        }
    }
    Ok(None)
}

/// From what was judged then to what stands now. Without it, there is still the whole change.
async fn changed_since(context: &Context, review: &Review, judged: ContentHash) -> Option<String> {
    let now = &review.round.content_hash;
    if judged == *now {
        return None;
    }
    let (then, now) = (context.find_content(&judged).await.ok()?, context.find_content(now).await.ok()?);
    match context.changes(review, &then, &now).await {
        Ok(changes) => changes.content.diff,
        Err(error) => {
            tracing::warn!(review.id = %review.id, %error, "what changed since a verdict cannot be told");
            None
        }
    }
}

/// A finding in a line, with where it stands now and what the proposer says of it.
fn line(finding: &Arc<Finding>) -> String {
    let Finding { number, found, persona, reply, .. } = finding.as_ref();
    let mut line = format!("{number} [{}, {}, raised by {persona}]", found.severity, found.kind);
    if let Some(place) = finding.place() {
        let lines = place.lines.map(|lines| format!(":{}-{}", lines.start, lines.end)).unwrap_or_default();
        line += &format!(" {}{lines}", place.file);
    }
    line += &format!(" {}", found.title);
    if let Some(reply) = reply {
        line += &format!(" (the proposer says {}: {})", reply.says, reply.note.as_deref().unwrap_or("no more"));
    }
    line
}
