//! Finds what comes close to a candidate without approving it, so that a refusal can name it: reviews, or receipts that do
//! not count.

use std::cmp::Reverse;

use domain::approvals::ReviewedContent;

use crate::approval_search::{Comparison, paths_of};
use crate::decision::{Decision, Difference, Gate, Outcome};
use crate::{Candidate, GateError, ReceiptFault};

const MAX_NEAR_MISSES: usize = 3;

#[derive(Debug, Clone)]
pub enum NearMiss {
    /// A review that changes some of the candidate's files.
    Review { review: Box<ReviewedContent>, difference: Difference },
    /// A receipt of the candidate that does not count, or the lack of one.
    Receipt(ReceiptFault),
}

impl Gate {
    pub(crate) async fn add_near_misses(&mut self, decision: &mut Decision) -> Result<(), GateError> {
        if let Outcome::Unapproved(near_misses) = &mut decision.outcome {
            *near_misses = self.find_near_misses(&decision.candidate).await?;
        }
        Ok(())
    }

    async fn find_near_misses(&mut self, candidate: &Candidate) -> Result<Vec<NearMiss>, GateError> {
        if self.source.is_receipts() {
            return self.list_receipt_faults(candidate).await;
        }
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
            let Some(Comparison { difference, .. }) = self.compare(&review, candidate).await? else { continue };
            near_misses.push((Box::new(review), difference));
            if near_misses.len() == MAX_NEAR_MISSES {
                break;
            }
        }
        near_misses.sort_by_key(|(_, difference)| *difference != Difference::None);
        Ok(near_misses.into_iter().map(|(review, difference)| NearMiss::Review { review, difference }).collect())
    }
}
