//! Replays reviews: folds the events of a review up to one of them, and keeps some of the states it passed.

use crate::error::BrokerError;
use domain::{ids::ReviewNumber, review::PastReview};
use std::collections::VecDeque;
use store::{Reader, StoreError};
use tokio::sync::Mutex;

/// Events read at once. A state is kept after each of these pages, so that a step back folds one page again.
const PAGE_EVENTS: u32 = 500;

/// States that are kept, of all reviews.
const MAX_KEPT: usize = 64;

/// The states that replays have passed, the one used last at the end. One replay folds at a time: the calls of a page that
/// shows one event share its work, and others wait for milliseconds.
#[derive(Default)]
pub(crate) struct PastReviews(Mutex<VecDeque<PastReview>>);

impl PastReviews {
    /// The review after its event `version`; `None` if the log ends before.
    pub(crate) async fn find(
        &self,
        reader: &Reader,
        number: ReviewNumber,
        version: u64,
    ) -> Result<Option<PastReview>, BrokerError> {
        let mut kept = self.0.lock().await;
        let mut past = take_nearest(&mut kept, number, version);
        loop {
            let passed = past.as_ref().map_or(0, |past| past.review.version);
            if passed >= version {
                break;
            }
            let limit = u32::try_from(version - passed).unwrap_or(PAGE_EVENTS).min(PAGE_EVENTS);
            let log = reader.list_review_log(number, passed, limit).await?;
            if log.is_empty() {
                break;
            }
            // The state before the page is kept beside the one behind it.
            if let Some(before) = &past {
                keep(&mut kept, before.clone());
            }
            for logged in &log {
                past = match past {
                    Some(past) => Some(past.after(logged)),
                    None => Some(PastReview::begin(logged).ok_or_else(|| bad_log(number))?),
                };
            }
        }
        let Some(past) = past else { return Ok(None) };
        keep(&mut kept, past.clone());
        Ok(Some(past).filter(|past| past.review.version == version))
    }
}

fn bad_log(number: ReviewNumber) -> StoreError {
    StoreError::Corrupt(format!("the log of {number} does not start with a proposal"))
}

/// The latest kept state of this review that is not after `version`.
fn take_nearest(kept: &mut VecDeque<PastReview>, number: ReviewNumber, version: u64) -> Option<PastReview> {
    let of_review = kept.iter().enumerate().filter(|(_, past)| past.review.number == number);
    let before = of_review.filter(|(_, past)| past.review.version <= version);
    let (index, _) = before.max_by_key(|(_, past)| past.review.version)?;
    kept.remove(index)
}

fn keep(kept: &mut VecDeque<PastReview>, past: PastReview) {
    kept.push_back(past);
    if kept.len() > MAX_KEPT {
        kept.pop_front();
    }
}
