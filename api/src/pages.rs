//! Reads all pages of a long text or list of one review.

use crate::{
    event_history::{TimelineRequest, TimelineResponse, TimelineRound},
    exports::Source,
    messages::{DiscussionRequest, Message},
    operation::{GetDiscussion, GetProposal, GetReviewTimeline},
    proposals::{ProposalRequest, ProposalResponse},
};

/// A proposal with its complete texts.
pub async fn proposal<S: Source>(source: &S, mut request: ProposalRequest) -> Result<ProposalResponse, S::Error> {
    let mut proposal = source.execute::<GetProposal>(request.clone()).await?;
    while let Some(cursor) = proposal.next_cursor.take() {
        request.cursor = Some(cursor);
        let page = source.execute::<GetProposal>(request.clone()).await?;
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

/// All messages, each with its complete text.
pub async fn discussion<S: Source>(source: &S, mut request: DiscussionRequest) -> Result<Vec<Message>, S::Error> {
    let mut messages: Vec<Message> = Vec::new();
    loop {
        let page = source.execute::<GetDiscussion>(request.clone()).await?;
        for next in page.messages {
            match messages.last_mut() {
                // A long message continues on the next page.
                Some(message) if message.id == next.id => message.body.push_str(&next.body),
                Some(_) | None => messages.push(next),
            }
        }
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(messages),
        }
    }
}

/// The complete timeline of a review.
pub async fn timeline<S: Source>(source: &S, review_id: &str) -> Result<TimelineResponse, S::Error> {
    let request = |cursor| TimelineRequest { review_id: review_id.to_owned(), cursor, ..Default::default() };
    let mut timeline = source.execute::<GetReviewTimeline>(request(None)).await?;
    while let Some(cursor) = timeline.next_cursor.take() {
        let mut page = source.execute::<GetReviewTimeline>(request(Some(cursor))).await?;
        timeline.rounds.append(&mut page.rounds);
        timeline.next_cursor = page.next_cursor;
    }
    join_rounds(&mut timeline.rounds);
    Ok(timeline)
}

/// Joins the parts of a round that continues on the next page.
pub fn join_rounds(rounds: &mut Vec<TimelineRound>) {
    rounds.dedup_by(|next, round| {
        let continues = next.round == round.round;
        if continues {
            round.events.append(&mut next.events);
        }
        continues
    });
}
