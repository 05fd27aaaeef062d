//! Under which name a subscriber hears of an event. The log has more kinds than most listeners care to tell apart.

use crate::{pool::PoolEvent, review::Event};

crate::string_enum! {
    /// What an event means to somebody who only shows reviews.
    Topic {
        /// Look at the review again: its status, its seats or its content is another.
        ReviewUpdated = "review_updated",
        /// A verdict has come in.
        IterationAdded = "review_iteration_added",
        IssueResolved = "issue_resolved",
        MessageAdded = "message_added",
        /// A reviewer process has begun, ends or has ended.
        ReviewerUpdated = "reviewer_updated",
        /// Good to know, and nothing that is shown changes.
        Activity = "activity",
    }
}

/// Every kind of event that the log can hold.
pub const KINDS: &[&str] = &[
    "proposed",
    "revised",
    "claimed",
    "auto_rejected",
    "claim_ended",
    "reservation_ended",
    "verdict_given",
    "finding_updated",
    "message_added",
    "counter_patch_accepted",
    "counter_patch_rejected",
    "cancelled",
    "closed",
    "reviewer_spawned",
    "reviewer_retried",
    "reviewer_draining",
    "reviewer_terminated",
    "crash_loop",
    "crash_loop_cleared",
];

impl Event {
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Proposed(_)
            | Self::Revised { .. }
            | Self::Claimed { .. }
            | Self::AutoRejected { .. }
            | Self::ClaimEnded { .. }
            | Self::ReservationEnded { .. }
            | Self::CounterPatchAccepted { .. }
            | Self::CounterPatchRejected { .. }
            | Self::Cancelled { .. }
            | Self::Closed { .. } => Topic::ReviewUpdated,
            Self::VerdictGiven { .. } => Topic::IterationAdded,
            Self::FindingUpdated(updated) if updated.settles => Topic::IssueResolved,
            Self::FindingUpdated(_) => Topic::Activity,
            Self::MessageAdded { .. } => Topic::MessageAdded,
        }
    }
}

impl PoolEvent {
    pub const fn topic(&self) -> Topic {
        match self {
            Self::ReviewerSpawned { .. }
            | Self::ReviewerRetried { .. }
            | Self::ReviewerDraining { .. }
            | Self::ReviewerTerminated { .. } => Topic::ReviewerUpdated,
            Self::CrashLoop { .. } | Self::CrashLoopCleared { .. } => Topic::Activity,
        }
    }
}

#[cfg(test)]
#[path = "topic_tests.rs"]
mod tests;
