//! Rules for submitting content: the proposal that creates a review, and its revisions.

use super::{
    super::{DiffFacts, Propose, Revise, Round},
    CommandKind, Decided, DiffCheck, Event, LoggedEvent, Refusal, Reply, Review, Status, Transition, apply, findings,
    or_proposer, proposer_only, wrong_status,
};
use crate::identity::is_same_identity;
use crate::{ids::DEFAULT_PERSONA, time::Now};

pub(super) fn propose(propose: Propose, now: Now) -> Transition {
    let mut proposed = propose.proposed;
    proposed.personas = distinct_personas(proposed.personas);
    let next = apply::begin(&proposed, now.at, 1);
    let events = vec![LoggedEvent { at: now.at, version: 1, event: Event::Proposed(proposed) }];
    Transition { next, events, reply: Reply::Submitted }
}

/// A proposal whose request key has created `review` already: a repeat if it is the same request.
pub(super) fn repeat(review: &Review, propose: &Propose) -> Decided {
    let Propose { proposed, first_content } = propose;
    let same_origin = review.proposer == proposed.proposer
        && review.category == proposed.category
        && review.priority == proposed.priority
        && review.policy == proposed.policy
        // Seats may have been added since.
        && review.personas().starts_with(&proposed.personas);
    let content_hash = &proposed.round.content_hash;
    match first_content {
        _ if !same_origin => Err(Refusal::IdempotencyKeyReused { number: review.number }),
        _ if review.round.content_hash == *content_hash => Ok((Vec::new(), Reply::Submitted)),
        Some(first) if first == content_hash => Ok((Vec::new(), Reply::Submitted)),
        Some(_) => Err(Refusal::IdempotencyKeyReused { number: review.number }),
        // The review was created while this content was prepared; the caller prepares it again.
        None => Err(Refusal::ContentMoved),
    }
}

/// One seat per persona: without duplicates, and at least one, because a review without seats could not be claimed.
pub fn distinct_personas(personas: Vec<String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::with_capacity(personas.len().max(1));
    for persona in personas {
        // `@ada` and `@Ada` ask for one reviewer.
        let is_same =
            |other: &String| *other == persona || persona.starts_with('@') && is_same_identity(other, &persona);
        if !distinct.iter().any(is_same) {
            distinct.push(persona);
        }
    }
    if distinct.is_empty() {
        distinct.push(DEFAULT_PERSONA.into());
    }
    distinct
}

pub(super) fn revise(review: &Review, revise: Revise) -> Decided {
    let Revise { proposer_id, completes, round, anchors } = revise;
    if round.request_key.is_some() && round.request_key == review.round.request_key {
        let same = round.content_hash == review.round.content_hash;
        return if same {
            Ok((Vec::new(), Reply::Submitted))
        } else {
            Err(Refusal::IdempotencyKeyReused { number: review.number })
        };
    }
    if !is_revisable(review) {
        return Err(wrong_status(review, CommandKind::Revise));
    }
    // The active content again, without a request key: a repeat after a lost response. After a request for changes or a
    // rejection it is a new round: the proposer insists.
    let skips = |diff: Option<&DiffFacts>| diff.map(|diff| diff.check == DiffCheck::Skipped);
    let same_check = skips(round.diff.as_ref()) == skips(review.round.diff.as_ref());
    let is_undisputed = review.status.is_open() || review.status == Status::Approved;
    if is_undisputed && round.content_hash == review.round.content_hash && same_check {
        return Ok((Vec::new(), Reply::Submitted));
    }
    proposer_only(review, proposer_id.as_deref(), CommandKind::Revise)?;
    if completes != review.round.content_hash {
        return Err(Refusal::ContentMoved);
    }
    let revised = Event::Revised {
        by: or_proposer(review, proposer_id),
        round: Round { number: review.round.number + 1, ..round },
        generation: review.claim_generation + 1,
        anchors: findings::reanchor(review, &anchors),
    };
    Ok((vec![revised], Reply::Submitted))
}

/// As with a pull request, the proposer can submit a new round until the review is closed.
pub(super) fn is_revisable(review: &Review) -> bool {
    !review.is_final()
}
