//! Messages between proposer and reviewer.

use super::{Call, Done, non_empty};
use crate::mcp::{
    args::{AddMessage, GetDiscussion},
    page::page_end,
    present::{Answer, Discussion, MessageAdded, MessageRow, next},
    refusal::Refused,
};
use actors::requests::{MessageRequest, Spoken, SpokenAs};

/// Messages read at once; fewer are shown where they are long.
const MAX_MESSAGES: u32 = 100;

/// What a row costs beside its texts.
const ROW_CHARS: usize = 200;

pub(super) async fn add(args: AddMessage, call: &Call<'_>) -> Done {
    let role = call.role("sender_role", args.sender_role.as_deref())?;
    non_empty("body", &args.body)?;
    let caller_id = call.who.speaks_as("caller_id", args.caller_id)?;
    let id = call.resolve(&args.review_id).await?;
    let message = MessageRequest { role, caller_id, persona: args.persona, body: args.body, metadata: args.metadata };
    let Spoken { review, as_what } = call.server.broker.add_message(id, message).await?;
    let (message_id, verdict) = match as_what {
        SpokenAs::Message(id) => (Some(id), None),
        SpokenAs::Verdict(verdict) => (None, Some(verdict)),
    };
    Ok(Answer::of(&MessageAdded {
        review_id: review.id,
        number: review.number.to_string(),
        message_id,
        verdict,
        sender_role: role,
        current_round: review.round.number,
        status: review.status,
        version: review.version,
        next: next(&review),
    })?)
}

/// Where a page begins: after a message, or inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    after: Option<u64>,
    /// Bytes of the next message's body that were shown before.
    skip: usize,
}

impl Place {
    fn parse(cursor: &str) -> Option<Self> {
        let (after, skip) = cursor.split_once('.')?;
        let after = if after.is_empty() { None } else { Some(after.parse().ok()?) };
        Some(Self { after, skip: skip.parse().ok()? })
    }

    fn cursor(self) -> String {
        let after = self.after.map(|id| id.to_string()).unwrap_or_default();
        format!("{after}.{}", self.skip)
    }
}

pub(super) async fn get(args: GetDiscussion, call: &Call<'_>) -> Done {
    let bad_cursor = || Refused::bad_cursor("discussion");
    let start = match args.cursor.as_deref() {
        Some(cursor) => Place::parse(cursor).ok_or_else(bad_cursor)?,
        None => Place { after: None, skip: 0 },
    };
    let id = call.resolve(&args.review_id).await?;
    let broker = &call.server.broker;
    let review = broker.review(id).await?;
    let page = broker.discussion(id, args.round, start.after, MAX_MESSAGES).await?;
    let (mut room, mut place) = (call.server.settings.page_chars, start);
    let (mut messages, mut cut) = (Vec::new(), false);
    for message in &page.items {
        let rest = message.body.get(place.skip..).ok_or_else(bad_cursor)?;
        let beside =
            ROW_CHARS + message.metadata.as_ref().filter(|_| place.skip == 0).map_or(0, |m| m.to_string().len());
        // The first message of a page is always begun, so that every page gets further.
        let left = room.saturating_sub(beside);
        let fits = rest.len() <= left || rest.chars().count() <= left;
        if !messages.is_empty() && !fits {
            cut = true;
            break;
        }
        let end = if fits { rest.len() } else { page_end(rest, left.max(ROW_CHARS)) };
        messages.push(MessageRow::of(message, &rest[..end]));
        if end < rest.len() {
            place.skip += end;
            cut = true;
            break;
        }
        room = left.saturating_sub(rest.chars().count());
        place = Place { after: Some(message.id), skip: 0 };
    }
    let more = cut || page.next_cursor.is_some();
    Ok(Answer::of(&Discussion {
        review_id: review.id,
        number: review.number.to_string(),
        messages,
        next_cursor: more.then(|| place.cursor()),
    })?)
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_cursor_reads_back() {
        for place in [Place { after: None, skip: 7 }, Place { after: Some(12), skip: 0 }] {
            assert_eq!(Place::parse(&place.cursor()), Some(place));
        }
        assert_eq!(Place::parse("x.1"), None);
        assert_eq!(Place::parse("12"), None);
    }
}
