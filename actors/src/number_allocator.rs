//! Numbers of reviews and findings. Each number is given out once, even if the command that asked for it fails.

use domain::{finding::FindingNumber, ids::ReviewNumber};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Holds the last number of each kind.
pub(crate) struct NumberAllocator {
    review: AtomicI64,
    finding: AtomicI64,
}

impl NumberAllocator {
    /// Continues after the highest stored numbers.
    pub(crate) fn after(ReviewNumber(review): ReviewNumber, finding: i64) -> Self {
        Self { review: AtomicI64::new(review), finding: AtomicI64::new(finding) }
    }

    pub(crate) fn next_review(&self) -> ReviewNumber {
        ReviewNumber(self.review.fetch_add(1, Relaxed) + 1)
    }

    /// Reserves consecutive numbers for `count` findings.
    pub(crate) fn next_findings(&self, count: usize) -> impl Iterator<Item = FindingNumber> + use<> {
        let first = self.finding.fetch_add(count as i64, Relaxed) + 1;
        (first..).take(count).map(FindingNumber)
    }
}
