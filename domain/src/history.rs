//! The words in which the past is asked for.

crate::string_enum! {
    /// What can stand in the log, of reviews and of the pool of reviewers.
    LogKind {
        Proposed = "proposed",
        Revised = "revised",
        Claimed = "claimed",
        AutoRejected = "auto_rejected",
        ClaimEnded = "claim_ended",
        ReservationEnded = "reservation_ended",
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
    }
}

impl LogKind {
    /// About the pool of reviewers and no review.
    pub const fn is_of_the_pool(self) -> bool {
        match self {
            Self::ReviewerSpawned
            | Self::ReviewerRetried
            | Self::ReviewerDraining
            | Self::ReviewerTerminated
            | Self::CrashLoop
            | Self::CrashLoopCleared => true,
            Self::Proposed
            | Self::Revised
            | Self::Claimed
            | Self::AutoRejected
            | Self::ClaimEnded
            | Self::ReservationEnded
            | Self::VerdictGiven
            | Self::FindingUpdated
            | Self::MessageAdded
            | Self::CounterPatchAccepted
            | Self::CounterPatchRejected
            | Self::Cancelled
            | Self::Closed => false,
        }
    }

    /// Of interest to people, and not only to whoever looks for a fault.
    pub const fn is_activity(self) -> bool {
        match self {
            Self::ReservationEnded
            | Self::ReviewerSpawned
            | Self::ReviewerRetried
            | Self::ReviewerDraining
            | Self::ReviewerTerminated => false,
            Self::Proposed
            | Self::Revised
            | Self::Claimed
            | Self::AutoRejected
            | Self::ClaimEnded
            | Self::VerdictGiven
            | Self::FindingUpdated
            | Self::MessageAdded
            | Self::CounterPatchAccepted
            | Self::CounterPatchRejected
            | Self::Cancelled
            | Self::Closed
            | Self::CrashLoop
            | Self::CrashLoopCleared => true,
        }
    }
}

crate::string_enum! {
    LogOrder { Newest = "newest", Oldest = "oldest" }
}

crate::string_enum! {
    /// By what statistics are told apart. A day is one in UTC.
    GroupBy {
        None = "none",
        Reviewer = "reviewer",
        Persona = "persona",
        Category = "category",
        Day = "day",
    }
}
