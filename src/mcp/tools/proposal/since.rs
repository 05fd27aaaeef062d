//! A proposal for somebody who knows an earlier round of it: only what changed.

use super::{Server, Stop};
use crate::mcp::refusal::Refused;
use actors::{Bases, BrokerError, Changes};
use domain::{
    content::{Content, ContentHash},
    review::Review,
};

pub(super) struct Since {
    pub(super) content: Content,
    pub(super) note: Option<String>,
}

/// What changed from round `from` to `to`, the content of `round` that is shown.
pub(super) async fn look(review: &Review, from: u32, round: u32, to: &Content, server: &Server) -> Result<Since, Stop> {
    let (number, last) = (review.number, review.round.number);
    let rounds = server.broker.rounds(review.id).await?;
    let row = rounds.into_iter().find(|row| row.number == from);
    let unknown = || Refused::from(BrokerError::NoSuchRound { number, round: from, last }).with("field", "since_round");
    let row = row.ok_or_else(unknown)?;
    if from > round {
        let problem = format!("is {from}, after the round shown ({round}); give an earlier one");
        return Err(Refused::invalid("since_round", &problem).into());
    }
    let hash = if from == last { review.round.content_hash.clone() } else { ContentHash(row.content_hash) };
    let before = server.broker.content(&hash).await?;
    let Changes { content, bases } = server.broker.changes(review, &before, to).await?;
    let note = note(from, round, &content, bases);
    Ok(Since { content, note })
}

fn note(from: u32, round: u32, content: &Content, bases: Bases) -> Option<String> {
    let unchanged = content.diff.as_deref().is_none_or(str::is_empty);
    let description = if content.description.is_some() { "it is another and shown whole" } else { "it is the same" };
    match bases {
        Bases::None => Some(format!("Neither round {from} nor round {round} has a diff. Description: {description}.")),
        Bases::Same | Bases::Different if unchanged => {
            Some(format!("The files come out as in round {from}. Description: {description}."))
        }
        Bases::Same => None,
        Bases::Different => Some(format!(
            "Rounds {from} and {round} are based on different commits: the diff is between the files that come out, \
             so it also holds what changed between the bases."
        )),
    }
}
