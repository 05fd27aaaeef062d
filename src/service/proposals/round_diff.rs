//! What changed between two rounds of a review.

use crate::service::{CallError, error::error_body};
use actors::{Bases, Broker, BrokerError, Changes};
use api::ErrorBody;
use domain::{
    content::{Content, ContentHash},
    review::Review,
};

pub(super) struct RoundDiff {
    pub(super) content: Content,
    pub(super) note: Option<String>,
}

impl RoundDiff {
    /// What changed from round `from` to `to`, a content of `round`.
    pub(super) async fn load(
        review: &Review,
        from: u32,
        round: u32,
        to: &Content,
        broker: &Broker,
    ) -> Result<Self, CallError> {
        let (number, last) = (review.number, review.round.number);
        let rounds = broker.reader().list_rounds(number).await?;
        let row = rounds.into_iter().find(|row| row.number == from);
        let unknown = || {
            let error = BrokerError::NoSuchRound { number, round: from, last };
            error_body(&error).with("field", "since_round")
        };
        let row = row.ok_or_else(unknown)?;
        if from > round {
            let problem = format!("is {from}, after the requested round {round}; give an earlier one");
            return Err(ErrorBody::invalid("since_round", &problem).into());
        }
        let hash = if from == last { review.round.content_hash.clone() } else { ContentHash(row.content_hash) };
        let before = broker.content(&hash).await?;
        let Changes { content, bases } = broker.changes(review, &before, to).await?;
        let note = note(from, round, &content, bases);
        Ok(Self { content, note })
    }
}

fn note(from: u32, round: u32, content: &Content, bases: Bases) -> Option<String> {
    let is_unchanged = content.diff.as_deref().is_none_or(str::is_empty);
    let description = if content.description.is_some() { "changed, returned in full" } else { "unchanged" };
    match bases {
        Bases::None => Some(format!("Neither round {from} nor round {round} has a diff. Description: {description}.")),
        Bases::Same | Bases::Different if is_unchanged => {
            Some(format!("The resulting files are those of round {from}. Description: {description}."))
        }
        Bases::Same => None,
        Bases::Different => Some(format!(
            "Rounds {from} and {round} are based on different commits. The diff compares the resulting files, so it \
             also holds what changed between the bases."
        )),
    }
}
