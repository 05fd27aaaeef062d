//! Which content of a review is shown.

use super::{Asked, Server, Stop, Which, since, since::Since};
use actors::BrokerError;
use domain::{
    content::{Content, ContentHash},
    review::{Review, ReviewTarget},
};
use std::sync::Arc;

pub(super) struct Shown {
    pub(super) hash: ContentHash,
    /// What the round was submitted with, where a counter-patch has taken its place.
    pub(super) submitted: Option<ContentHash>,
    /// Where the diff was taken from.
    pub(super) target: Option<Box<ReviewTarget>>,
    pub(super) since: Option<Since>,
    whole: Arc<Content>,
}

impl Shown {
    /// Where a counter-patch was `offered` in the round, it may have been accepted as well.
    pub(super) async fn find(
        review: &Review,
        round: u32,
        asked: &Asked,
        offered: bool,
        server: &Server,
    ) -> Result<Self, Stop> {
        let (active, submitted, target) = contents_of(review, round, offered, server).await?;
        // The target is that of the submitted content.
        let (hash, target) = match (asked.which, &submitted) {
            (Which::Submitted, Some(submitted)) => (submitted.clone(), target),
            (Which::Active, Some(_)) => (active, None),
            (Which::Submitted | Which::Active, None) => (active, target),
        };
        let whole = server.broker.content(&hash).await?;
        let since = match asked.since {
            Some(from) => Some(since::look(review, from, round, &whole, server).await?),
            None => None,
        };
        Ok(Self { hash, submitted, target, since, whole })
    }

    /// The same, to be kept.
    pub(super) fn into_content(self) -> Arc<Content> {
        self.since.map_or(self.whole, |since| Arc::new(since.content))
    }

    /// All of it, or what of it is new.
    pub(super) fn content(&self) -> &Content {
        self.since.as_ref().map_or(&self.whole, |since| &since.content)
    }
}

type Contents = (ContentHash, Option<ContentHash>, Option<Box<ReviewTarget>>);

/// The active content of a round and, where a counter-patch took its place, the one submitted first; and the target of
/// whichever was submitted.
async fn contents_of(review: &Review, round: u32, offered: bool, server: &Server) -> Result<Contents, Stop> {
    let (number, last) = (review.number, review.round.number);
    if round == last && !offered {
        return Ok((review.round.content_hash.clone(), None, review.round.target.clone()));
    }
    let rounds = server.broker.rounds(review.id).await?;
    let found = rounds.into_iter().find(|row| row.number == round);
    let row = found.ok_or(BrokerError::NoSuchRound { number, round, last })?;
    let active = if round == last { review.round.content_hash.clone() } else { ContentHash(row.content_hash) };
    let submitted = row.submitted_hash.map(ContentHash).filter(|submitted| *submitted != active);
    Ok((active, submitted, row.target))
}
