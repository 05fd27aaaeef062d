//! Finds reviews that come close to a candidate without approving it, so that a refusal can name them.

use std::cmp::Reverse;

use domain::approvals::ReviewedContent;

use crate::decision::{Decision, Difference, Gate, Outcome, paths_of};
use crate::{Candidate, GateError};

const MAX_NEAR_MISSES: usize = 3;

/// A review that changes some of the candidate's files.
#[derive(Debug, Clone)]
pub struct NearMiss {
    pub review: ReviewedContent,
    pub difference: Difference,
}

impl Gate {
    pub(crate) async fn add_near_misses(&mut self, decision: &mut Decision) -> Result<(), GateError> {
        if let Outcome::Unapproved(near_misses) = &mut decision.outcome {
            *near_misses = self.find_near_misses(&decision.candidate).await?;
        }
        Ok(())
    }

    async fn find_near_misses(&mut self, candidate: &Candidate) -> Result<Vec<NearMiss>, GateError> {
        let changes = self.changes(candidate).await?;
        let recent = self.recent_reviews().await?;
        let mut ranked: Vec<_> = recent
            .iter()
            .filter_map(|review| {
                let paths = paths_of(&review.files);
                let shared = paths.intersection(&changes.paths).count();
                let unshared = paths.union(&changes.paths).count() - shared;
                (shared > 0).then_some((unshared, Reverse(review.number.0), review.number))
            })
            .collect();
        ranked.sort_unstable();
        let mut near_misses = Vec::new();
        for (.., number) in ranked {
            let Some(review) = self.find_review(number).await? else { continue };
            let Some(difference) = self.compare(&review, candidate).await? else { continue };
            near_misses.push(NearMiss { review, difference });
            if near_misses.len() == MAX_NEAR_MISSES {
                break;
            }
        }
        near_misses.sort_by_key(|near_miss| near_miss.difference != Difference::None);
        Ok(near_misses)
    }
}
