//! Chooses which content of a review a call returns.

use super::round_diff::RoundDiff;
use crate::service::CallError;
use actors::{Broker, BrokerError};
use api::proposals::{ContentChoice, ProposalRequest};
use domain::{
    content::{Content, ContentHash},
    review::{Review, ReviewTarget},
};
use std::sync::Arc;

pub(super) struct ChosenContent {
    pub(super) hash: ContentHash,
    /// The content that the round was submitted with, if a counter-patch replaced it.
    pub(super) submitted: Option<ContentHash>,
    /// Where the diff was read from.
    pub(super) target: Option<Box<ReviewTarget>>,
    pub(super) since: Option<RoundDiff>,
    full: Arc<Content>,
}

impl ChosenContent {
    /// `has_patch`: a counter-patch was offered in the round, so it may have been accepted.
    pub(super) async fn find(
        review: &Review,
        round: u32,
        request: &ProposalRequest,
        has_patch: bool,
        broker: &Broker,
    ) -> Result<Self, CallError> {
        let (active, submitted, target) = contents_of(review, round, has_patch, broker).await?;
        // The target belongs to the submitted content.
        let (hash, target) = match (request.content.unwrap_or_default(), &submitted) {
            (ContentChoice::Submitted, Some(submitted)) => (submitted.clone(), target),
            (ContentChoice::Active, Some(_)) => (active, None),
            (ContentChoice::Submitted | ContentChoice::Active, None) => (active, target),
        };
        let full = broker.content(&hash).await?;
        let since = match request.since_round {
            Some(from) => Some(RoundDiff::load(review, from, round, &full, broker).await?),
            None => None,
        };
        Ok(Self { hash, submitted, target, since, full })
    }

    /// The whole content, or what changed since an earlier round.
    pub(super) fn content(&self) -> &Content {
        self.since.as_ref().map_or(&self.full, |since| &since.content)
    }

    pub(super) fn into_content(self) -> Arc<Content> {
        self.since.map_or(self.full, |since| Arc::new(since.content))
    }
}

type Contents = (ContentHash, Option<ContentHash>, Option<Box<ReviewTarget>>);

/// The active content of a round, the submitted content if a counter-patch replaced it, and the target of the submitted
/// content.
async fn contents_of(review: &Review, round: u32, has_patch: bool, broker: &Broker) -> Result<Contents, CallError> {
    let (number, last) = (review.number, review.round.number);
    if round == last && !has_patch {
        return Ok((review.round.content_hash.clone(), None, review.round.target.clone()));
    }
    let rounds = broker.reader().list_rounds(number).await?;
    let found = rounds.into_iter().find(|row| row.number == round);
    let row = found.ok_or(BrokerError::NoSuchRound { number, round, last })?;
    let active = if round == last { review.round.content_hash.clone() } else { ContentHash(row.content_hash) };
    let submitted = row.submitted_hash.map(ContentHash).filter(|submitted| *submitted != active);
    Ok((active, submitted, row.target))
}
