//! Enums for the kinds of events in the log, and for the coarser topics that subscribers filter by.

use crate::{
    review::{Event, Status},
    reviewer_pool::PoolEvent,
};

crate::string_enum! {
    /// The kind of an event, as the log's `kind` column and its JSON name it.
    #[derive(Default)]
    EventKind {
        #[default]
        Proposed = "proposed",
        Revised = "revised",
        Claimed = "claimed",
        Rebased = "rebased",
        AutoRejected = "auto_rejected",
        ClaimEnded = "claim_ended",
        ReservationEnded = "reservation_ended",
        ClaimRenewed = "claim_renewed",
        SeatAdded = "seat_added",
        VerdictGiven = "verdict_given",
        FindingUpdated = "finding_updated",
        MessageAdded = "message_added",
        CounterPatchAccepted = "counter_patch_accepted",
        CounterPatchRejected = "counter_patch_rejected",
        Cancelled = "cancelled",
        Closed = "closed",
        ReviewerSpawned = "reviewer_spawned",
        ReviewerRetried = "reviewer_retried",
        ReviewerDraining = "reviewer_draining",
        ReviewerTerminated = "reviewer_terminated",
        CrashLoop = "crash_loop",
        CrashLoopCleared = "crash_loop_cleared",
        PoolPaused = "pool_paused",
        PoolResumed = "pool_resumed",
        PoolLimitChanged = "pool_limit_changed",
    }
}

impl EventKind {
    /// Events of the reviewer pool, which belong to no review.
    pub const fn is_pool_event(self) -> bool {
        self.is_event_of_whole_pool() || self.is_reviewer_event()
    }

    /// Kinds listed in the activity feed. The others matter only when debugging.
    pub const fn is_activity(self) -> bool {
        !matches!(self, Self::ReservationEnded | Self::ClaimRenewed) && !self.is_reviewer_event()
    }

    const fn is_event_of_whole_pool(self) -> bool {
        matches!(
            self,
            Self::CrashLoop | Self::CrashLoopCleared | Self::PoolPaused | Self::PoolResumed | Self::PoolLimitChanged
        )
    }

    const fn is_reviewer_event(self) -> bool {
        matches!(
            self,
            Self::ReviewerSpawned | Self::ReviewerRetried | Self::ReviewerDraining | Self::ReviewerTerminated
        )
    }
}

crate::string_enum! {
    /// What an event means to a client that displays reviews.
    Topic {
        /// The review's status, seats or content changed; load it again.
        ReviewUpdated = "review_updated",
        /// A verdict was submitted.
        IterationAdded = "review_iteration_added",
        IssueResolved = "issue_resolved",
        MessageAdded = "message_added",
        /// A reviewer process started, is draining or ended.
        ReviewerUpdated = "reviewer_updated",
        /// Worth reporting, but nothing on display changes.
        Activity = "activity",
    }
}

impl Event {
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Proposed(_)
            | Self::Revised { .. }
            | Self::Claimed { .. }
            | Self::Rebased { .. }
            | Self::AutoRejected { .. }
            | Self::ClaimEnded { .. }
            | Self::ReservationEnded { .. }
            | Self::ClaimRenewed { .. }
            | Self::SeatAdded { .. }
            | Self::CounterPatchAccepted { .. }
            | Self::CounterPatchRejected { .. }
            | Self::Cancelled { .. }
            | Self::Closed { .. } => Topic::ReviewUpdated,
            Self::VerdictGiven(_) => Topic::IterationAdded,
            Self::FindingUpdated(updated) if updated.settles => Topic::IssueResolved,
            Self::FindingUpdated(_) => Topic::Activity,
            Self::MessageAdded { .. } => Topic::MessageAdded,
        }
    }
}

impl Event {
    /// What the event means besides its topic: a decision of the review also updates it.
    pub const fn also(&self) -> Option<Topic> {
        let status = if let Self::VerdictGiven(given) = self
            && given.verdict.is_vote()
        {
            given.status
        } else if let Self::FindingUpdated(updated) = self
            && updated.settles
        {
            updated.status
        } else {
            return None;
        };
        match status {
            Status::Approved | Status::ChangesRequested | Status::Rejected => Some(Topic::ReviewUpdated),
            Status::Pending | Status::Claimed | Status::InReview | Status::Cancelled | Status::Closed => None,
        }
    }
}

impl PoolEvent {
    pub fn topic(&self) -> Topic {
        if self.reviewer().is_some() { Topic::ReviewerUpdated } else { Topic::Activity }
    }
}

/// Whether `name` is a kind or a topic: what event filters accept.
pub fn is_event_name(name: &str) -> bool {
    EventKind::parse(name).is_some() || Topic::parse(name).is_some()
}

/// The kinds and topics that [`is_event_name`] accepts, for an error message.
pub fn list_event_names() -> String {
    let names = |names: Vec<&str>| names.join(", ");
    let kinds = names(EventKind::ALL.iter().map(|kind| kind.as_str()).collect());
    let topics = names(Topic::ALL.iter().map(|topic| topic.as_str()).collect());
    format!("{kinds}; or a type: {topics}")
}

#[cfg(test)]
#[path = "event_kind_tests.rs"]
mod tests;
