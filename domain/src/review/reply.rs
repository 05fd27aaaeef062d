//! What a command returns to its caller beside the review.

use super::{Review, Seat};
use crate::{finding::FindingNumber, verdict::Verdict};

/// Seats are given by their index in [`Review::seats`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Submitted,
    Claimed {
        seat: usize,
    },
    /// The claim failed: the diff does not apply, and the broker requested changes.
    AutoRejected,
    Released {
        seat: usize,
    },
    VerdictTaken {
        seat: usize,
        verdict: Verdict,
        /// Every finding that the seat has raised in this round.
        findings: Vec<FindingNumber>,
    },
    MessageAdded {
        seat: usize,
        id: u64,
    },
    Done,
}

impl Reply {
    /// The seat that the caller acted for.
    pub fn seat<'a>(&self, review: &'a Review) -> Option<&'a Seat> {
        match self {
            Self::Claimed { seat }
            | Self::Released { seat }
            | Self::VerdictTaken { seat, .. }
            | Self::MessageAdded { seat, .. } => review.seats.get(*seat),
            Self::Submitted | Self::AutoRejected | Self::Done => None,
        }
    }
}
