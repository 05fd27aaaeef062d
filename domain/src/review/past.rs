//! A review as it was after one of its events, with what the database keeps beside the snapshot and changes later: the
//! contents of its rounds and what became of its counter-patches.

use super::{Event, LoggedEvent, PatchStatus, Review, ReviewTarget, Round, apply, replay};
use crate::content::ContentHash;
use std::{collections::BTreeMap, slice, sync::Arc};

/// A review as it was.
#[derive(Debug, Clone)]
pub struct PastReview {
    pub review: Arc<Review>,
    /// Oldest first.
    pub rounds: Vec<PastRound>,
    /// By the version in which they were offered. `None`: dropped, because its seat was vacated or got another one.
    pub patches: BTreeMap<u64, Option<PatchStatus>>,
}

/// The contents that a round had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRound {
    pub number: u32,
    /// The active content.
    pub content_hash: ContentHash,
    /// The content it was submitted with, if another one has replaced it.
    pub submitted_hash: Option<ContentHash>,
    pub target: Option<Box<ReviewTarget>>,
}

impl PastReview {
    /// The review that a proposal creates; `None` if `first` is another event.
    pub fn begin(first: &LoggedEvent) -> Option<Self> {
        let review = Arc::new(replay(slice::from_ref(first))?);
        let rounds = vec![PastRound::new(&review.round)];
        Some(Self { review, rounds, patches: BTreeMap::new() })
    }

    /// The review after the next event.
    #[must_use]
    pub fn after(self, logged: &LoggedEvent) -> Self {
        let Self { review, mut rounds, mut patches } = self;
        let review = apply(Arc::unwrap_or_clone(review), logged);
        if matches!(logged.event, Event::Revised { .. }) {
            rounds.push(PastRound::new(&review.round));
        } else if logged.event.replaces_content()
            && let Some(round) = rounds.last_mut()
        {
            let before = std::mem::replace(&mut round.content_hash, review.round.content_hash.clone());
            round.submitted_hash.get_or_insert(before);
        }
        for status in patches.values_mut() {
            status.take_if(|status| *status == PatchStatus::Pending);
        }
        for patch in review.seats.iter().filter_map(|seat| seat.patch.as_ref()) {
            patches.insert(patch.id, Some(patch.status));
        }
        Self { review: Arc::new(review), rounds, patches }
    }
}

impl PastRound {
    fn new(round: &Round) -> Self {
        Self {
            number: round.number,
            content_hash: round.content_hash.clone(),
            submitted_hash: None,
            target: round.target.clone(),
        }
    }
}
