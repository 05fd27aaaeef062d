//! Operations that read the discussion of a review and add messages to it.

use super::{Call, check_round, error::CallError, pagination::page_end, require_text};
use actors::CommandOutcome;
use api::{
    ErrorBody,
    messages::{DiscussionRequest, DiscussionResponse, Message, MessageRequest, MessageResponse},
    next_step::next_step,
};
use domain::{
    credential::Authority,
    finding::FindingNumber,
    review::{AddMessage, AnchoredText, Command, MessageAnchor, Recipient, Reply},
};
use serde_json::Value;

/// Messages read at once. Fewer are returned if they are long.
const MAX_MESSAGES: u32 = 100;

/// The size of a row without its texts.
const ROW_CHARS: usize = 200;

pub(super) async fn add(call: &Call<'_>, request: MessageRequest) -> Result<MessageResponse, CallError> {
    let role = call.acting_role("sender_role", request.sender_role)?;
    require_text("body", &request.body)?;
    let by = call.acting_name(role, request.caller_id)?;
    if let Some(to) = request.to {
        check_recipient(role, to, request.persona.as_deref())?;
    }
    if let Some(anchor) = &request.anchor {
        check_anchor(anchor)?;
    }
    let id = call.resolve(&request.review_id).await?;
    let message = AddMessage {
        role,
        by,
        persona: request.persona,
        to: request.to,
        body: request.body,
        anchor: request.anchor,
        metadata: request.metadata.map(Value::Object),
        gives_up: false,
    };
    let CommandOutcome { review, reply, .. } = call.broker.execute(id, Command::AddMessage(message)).await?;
    // A message that begins with a decision counts as a verdict.
    let (message_id, verdict) = match reply {
        Reply::MessageAdded { id, .. } => (Some(id), None),
        Reply::VerdictTaken { verdict, .. } => (None, Some(verdict)),
        Reply::Submitted | Reply::Claimed { .. } | Reply::AutoRejected | Reply::Released { .. } | Reply::Done => {
            (None, None)
        }
    };
    Ok(MessageResponse { head: (&*review).into(), message_id, verdict, sender_role: role, next: next_step(&review) })
}

fn check_recipient(role: Authority, to: Recipient, persona: Option<&str>) -> Result<(), ErrorBody> {
    match (role, to) {
        _ if persona.is_some() => Err(ErrorBody::invalid("to", "not allowed with persona, which names one seat")),
        (Authority::Operator, _) | (Authority::Proposer, Recipient::Reviewers) => Ok(()),
        (Authority::Proposer, _) => Err(ErrorBody::invalid("to", "a proposer writes to \"reviewers\"")),
        (Authority::Reviewer, _) => {
            Err(ErrorBody::invalid("to", "a reviewer writes in the discussion of its own seat"))
        }
    }
}

fn check_anchor(anchor: &MessageAnchor) -> Result<(), ErrorBody> {
    let is_description = anchor.text == Some(AnchoredText::Description);
    let (start, end) = (anchor.line_start, anchor.line_end);
    if anchor.issue.as_deref().is_some_and(|issue| FindingNumber::parse(issue).is_none()) {
        return Err(ErrorBody::invalid("anchor.issue", "expected the id of an issue, for example I-41"));
    }
    if is_description && anchor.file.is_some() {
        return Err(ErrorBody::invalid("anchor.file", "not allowed with in=\"description\""));
    }
    if start.is_some() && anchor.file.is_none() && !is_description {
        return Err(ErrorBody::invalid("anchor.line_start", "needs anchor.file, or in=\"description\""));
    }
    if start == Some(0) || (end.is_some() && start.is_none_or(|start| end < Some(start))) {
        return Err(ErrorBody::invalid(
            "anchor.line_end",
            "lines are counted from 1, and line_end is not before line_start",
        ));
    }
    Ok(())
}

/// Where a page starts: after a message, or inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DiscussionCursor {
    after: Option<u64>,
    /// Bytes of the next message's body that earlier pages held.
    skip: usize,
}

impl DiscussionCursor {
    fn parse(text: &str) -> Option<Self> {
        let (after, skip) = text.split_once('.')?;
        let after = if after.is_empty() { None } else { Some(after.parse().ok()?) };
        Some(Self { after, skip: skip.parse().ok()? })
    }

    fn encode(self) -> String {
        let after = self.after.map(|id| id.to_string()).unwrap_or_default();
        format!("{after}.{}", self.skip)
    }
}

pub(super) async fn list(call: &Call<'_>, request: DiscussionRequest) -> Result<DiscussionResponse, CallError> {
    let bad_cursor = || ErrorBody::bad_cursor("discussion");
    let mut cursor = match request.cursor.as_deref() {
        Some(cursor) => DiscussionCursor::parse(cursor).ok_or_else(bad_cursor)?,
        None => DiscussionCursor { after: None, skip: 0 },
    };
    let name = call.authz.identity_for("caller_id", request.caller_id)?;
    let review = call.view(&request.review_id, request.at, name.as_deref()).await?;
    if let Some(round) = request.round {
        check_round(&review, round)?;
    }
    let after = cursor.after.unwrap_or(0);
    let page = review.messages(request.round, after, MAX_MESSAGES).await?;
    let mut left = call.service.settings.page_chars;
    let (mut messages, mut is_cut) = (Vec::new(), false);
    for message in &page.items {
        let rest = message.body.get(cursor.skip..).ok_or_else(bad_cursor)?;
        let metadata = message.metadata.as_ref().filter(|_| cursor.skip == 0);
        let left_for_body = left.saturating_sub(ROW_CHARS + metadata.map_or(0, |metadata| metadata.to_string().len()));
        let fits = rest.len() <= left_for_body || rest.chars().count() <= left_for_body;
        // The first message of a page is always started, so that every page makes progress.
        if !messages.is_empty() && !fits {
            is_cut = true;
            break;
        }
        let end = if fits { rest.len() } else { page_end(rest, left_for_body.max(ROW_CHARS)) };
        messages.push(row(message, &rest[..end], cursor.skip == 0));
        if end < rest.len() {
            cursor.skip += end;
            is_cut = true;
            break;
        }
        left = left_for_body.saturating_sub(rest.chars().count());
        cursor = DiscussionCursor { after: Some(message.id), skip: 0 };
    }
    let has_more = is_cut || page.next_cursor.is_some();
    Ok(DiscussionResponse {
        review_id: review.id,
        number: review.number,
        messages,
        next_cursor: has_more.then(|| cursor.encode()),
    })
}

/// `body` is the part of the message on this page; `is_start` if it is the first part.
fn row(message: &Message, body: &str, is_start: bool) -> Message {
    Message {
        body: body.to_owned(),
        body_total: (body.len() < message.body.len()).then(|| message.body.chars().count()),
        metadata: message.metadata.clone().filter(|_| is_start),
        ..message.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::DiscussionCursor;

    #[test]
    fn a_cursor_is_parsed_as_it_was_written() {
        for cursor in [DiscussionCursor { after: None, skip: 7 }, DiscussionCursor { after: Some(12), skip: 0 }] {
            assert_eq!(DiscussionCursor::parse(&cursor.encode()), Some(cursor));
        }
        assert_eq!(DiscussionCursor::parse("x.1"), None);
        assert_eq!(DiscussionCursor::parse("12"), None);
    }
}
