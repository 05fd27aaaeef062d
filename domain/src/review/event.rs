//! Event types: what can happen to a review, as the event log records it. All other data of a review can be rebuilt
//! from its events.

use super::{Category, DiffFacts, MessageAnchor, Proposer, Recipient, Reservation, Review, Role, Round, Status};
use crate::{
    consensus::{Escalation, Policy},
    content::ContentHash,
    credential::Authority,
    diff::AffectedFile,
    event_kind::EventKind,
    finding::{Anchor, FindingNumber, FindingStatus, Grounding, NewFinding, RequestedStatus},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
    vote_signature::VoteSignature,
};
use serde::{Deserialize, Serialize};

/// An event with its position in the log of its review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedEvent {
    pub at: Timestamp,
    /// The version of the review after this event.
    pub version: u64,
    pub event: Event,
}

crate::string_enum! {
    /// Why a claim ended without a vote.
    ClaimEndReason {
        LeaseExpired = "lease_expired",
        Released = "released",
        ReviewerExited = "reviewer_exited",
        /// An operator stopped the reviewer's process.
        ReviewerStopped = "reviewer_stopped",
        BrokerRestarted = "broker_restarted",
        /// The reviewer tried and failed.
        CouldNotReview = "could_not_review",
        /// An operator, or the same reviewer from another client, took the seat over.
        TakenOver = "taken_over",
        /// A dedicated reviewer has ended its turn and will come back.
        TurnEnded = "turn_ended",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    Proposed(Proposed),
    Revised {
        by: String,
        round: Round,
        generation: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        anchors: Vec<Anchored>,
    },
    Claimed {
        persona: String,
        by: String,
        generation: u32,
        lease_ends: Tick,
        /// An operator took the seat.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_operator: bool,
        /// Set if git checked the diff for this claim and the result is new.
        diff: Option<DiffFacts>,
    },
    /// The diff does not apply to its base, which the proposer did not name, but to HEAD. HEAD becomes its base.
    Rebased {
        from: Option<String>,
        to: String,
        content_hash: ContentHash,
        diff: DiffFacts,
        /// Seats that are freed because they voted on the old content or were reviewing it.
        requeued: Requeued,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        anchors: Vec<Anchored>,
    },
    /// A claim was refused because the diff does not apply.
    AutoRejected {
        claimant: String,
        message: String,
        generation: u32,
        /// Set if the diff applies to its base, but no longer to HEAD.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<DiffFacts>,
    },
    ClaimEnded {
        persona: String,
        by: String,
        reason: ClaimEndReason,
        /// The holder's reason, or how its process ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        generation: u32,
        /// Set if the reviewer will come back: the seat is kept for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reservation: Option<Reservation>,
    },
    ReservationEnded {
        persona: String,
        reviewer: String,
    },
    /// The holder of a seat was active.
    ClaimRenewed {
        persona: String,
        by: String,
        lease_ends: Tick,
    },
    SeatAdded {
        persona: String,
        role: Authority,
        by: String,
        /// The status of the review after the seat was added.
        status: Status,
        /// New lease end of each claim that owes a vote and has no lease running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ends: Option<Tick>,
    },
    VerdictGiven(VerdictGiven),
    FindingUpdated(FindingUpdated),
    MessageAdded {
        /// The seat whose discussion it belongs to; `None` if it addresses `to`.
        persona: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Recipient>,
        role: Authority,
        by: String,
        round: u32,
        body: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<MessageAnchor>,
        metadata: Option<serde_json::Value>,
        digest: String,
        /// New lease end of the holder.
        lease_ends: Option<Tick>,
        /// Set if a question of the proposer puts the review back into the queue.
        requeued: Option<Requeued>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalation: Option<Escalation>,
    },
    CounterPatchAccepted {
        by: String,
        persona: String,
        patch: u64,
        content_hash: ContentHash,
        diff: DiffFacts,
        /// Seats that are freed because they voted on the old content or were reviewing it.
        requeued: Requeued,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        anchors: Vec<Anchored>,
        /// As in [`Round`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        required: Vec<String>,
    },
    CounterPatchRejected {
        by: String,
        persona: String,
        patch: u64,
    },
    Cancelled {
        by: String,
        reason: String,
        /// Reviewers whose claims end.
        detached: Vec<String>,
        generation: u32,
    },
    Closed {
        by: Role,
        identity: String,
        /// Findings that were still open. They are closed as wont_fix.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settled: Vec<FindingNumber>,
        /// As in [`super::Review`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landed_as: Option<String>,
    },
}

/// The position of a finding in a new content; `None` if it could not be located.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchored {
    pub number: FindingNumber,
    pub anchor: Option<Anchor>,
}

/// A verdict and its effect on the review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictGiven {
    pub persona: String,
    pub by: String,
    pub generation: u32,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub summary: Option<String>,
    pub metrics: Option<ReviewMetrics>,
    pub content_hash: ContentHash,
    pub round: u32,
    /// The verdict brought a counter-patch. Its text is stored under this event's version.
    pub offers_patch: bool,
    /// The files that the counter-patch changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch_files: Vec<AffectedFile>,
    /// The status of the review after this verdict.
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingRaised>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<FindingResolved>,
    /// The verdict undoes a decision, so seats can be claimed again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reopens: bool,
    /// New lease end of each claim that owes a vote and has no lease running.
    pub lease_ends: Option<Tick>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<VoteSignature>,
    pub digest: String,
}

/// A finding raised with a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingRaised {
    pub number: FindingNumber,
    pub found: NewFinding,
    pub grounding: Grounding,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oscillating: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateLink>,
}

/// A finding that was resolved by its persona's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingResolved {
    pub number: FindingNumber,
    pub status: FindingStatus,
}

/// Links a finding to an earlier one that says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateLink {
    pub first: FindingNumber,
    /// The first one was resolved and is open again.
    pub reopens: bool,
}

/// A statement about a finding and its effect on the review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingUpdated {
    pub number: FindingNumber,
    pub role: Authority,
    pub by: String,
    pub requested: RequestedStatus,
    pub duplicate_of: Option<FindingNumber>,
    pub note: Option<String>,
    pub round: u32,
    /// Whether the statement resolves the finding. A proposer's answer to an issue does not.
    pub settles: bool,
    /// The status of the review after this update.
    pub status: Status,
    pub lease_ends: Option<Tick>,
    /// Set if the proposer's answer puts the review back into the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeued: Option<Requeued>,
}

/// A review as it was created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    pub id: ReviewId,
    pub number: ReviewNumber,
    pub proposer: Proposer,
    pub category: Option<Category>,
    pub priority: Priority,
    pub round: Round,
    pub personas: Vec<String>,
    pub policy: Policy,
}

/// Seats that return to the queue, each reserved for the reviewer who should look again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requeued {
    pub seats: Vec<RequeuedSeat>,
    pub generation: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequeuedSeat {
    pub persona: String,
    pub reservation: Option<Reservation>,
}

impl Event {
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Proposed(_) => EventKind::Proposed,
            Self::Revised { .. } => EventKind::Revised,
            Self::Claimed { .. } => EventKind::Claimed,
            Self::Rebased { .. } => EventKind::Rebased,
            Self::AutoRejected { .. } => EventKind::AutoRejected,
            Self::ClaimEnded { .. } => EventKind::ClaimEnded,
            Self::ReservationEnded { .. } => EventKind::ReservationEnded,
            Self::ClaimRenewed { .. } => EventKind::ClaimRenewed,
            Self::SeatAdded { .. } => EventKind::SeatAdded,
            Self::VerdictGiven(_) => EventKind::VerdictGiven,
            Self::FindingUpdated(_) => EventKind::FindingUpdated,
            Self::MessageAdded { .. } => EventKind::MessageAdded,
            Self::CounterPatchAccepted { .. } => EventKind::CounterPatchAccepted,
            Self::CounterPatchRejected { .. } => EventKind::CounterPatchRejected,
            Self::Cancelled { .. } => EventKind::Cancelled,
            Self::Closed { .. } => EventKind::Closed,
        }
    }

    /// The identity that caused the event; `None` if the broker did.
    pub fn actor(&self) -> Option<&str> {
        match self {
            Self::Proposed(proposed) => Some(proposed.proposer.identity()),
            Self::Claimed { by, .. } | Self::ClaimRenewed { by, .. } | Self::SeatAdded { by, .. } => Some(by),
            Self::VerdictGiven(given) => Some(&given.by),
            Self::FindingUpdated(updated) => Some(&updated.by),
            Self::ClaimEnded { by, reason: ClaimEndReason::Released | ClaimEndReason::CouldNotReview, .. } => Some(by),
            Self::AutoRejected { claimant, .. } => Some(claimant),
            Self::MessageAdded { by, .. }
            | Self::Closed { identity: by, .. }
            | Self::Revised { by, .. }
            | Self::CounterPatchAccepted { by, .. }
            | Self::CounterPatchRejected { by, .. }
            | Self::Cancelled { by, .. } => Some(by),
            Self::Rebased { .. } | Self::ClaimEnded { .. } | Self::ReservationEnded { .. } => None,
        }
    }

    /// Whether the event makes another content the active one.
    pub const fn replaces_content(&self) -> bool {
        matches!(
            self,
            Self::Proposed(_) | Self::Revised { .. } | Self::Rebased { .. } | Self::CounterPatchAccepted { .. }
        )
    }

    /// The findings that this event changes. `review` is the state after the event.
    pub fn touched_findings(&self, review: &Review) -> Vec<FindingNumber> {
        match self {
            Self::Revised { anchors, .. }
            | Self::Rebased { anchors, .. }
            | Self::CounterPatchAccepted { anchors, .. } => anchors.iter().map(|anchored| anchored.number).collect(),
            Self::VerdictGiven(VerdictGiven { findings, resolved, .. }) => {
                let repeated = findings.iter().filter_map(|raised| raised.duplicate).map(|duplicate| duplicate.first);
                let resolved = resolved.iter().map(|resolved| resolved.number);
                findings.iter().map(|raised| raised.number).chain(repeated).chain(resolved).collect()
            }
            Self::Closed { settled, .. } => settled.clone(),
            Self::FindingUpdated(FindingUpdated { number, duplicate_of: None, .. }) => vec![*number],
            Self::FindingUpdated(FindingUpdated { number, duplicate_of: Some(first), .. }) => {
                let duplicates = review.findings.iter().filter(|other| other.duplicate_of == Some(*first));
                duplicates.map(|duplicate| duplicate.number).chain([*number, *first]).collect()
            }
            Self::Proposed(_)
            | Self::Claimed { .. }
            | Self::AutoRejected { .. }
            | Self::ClaimEnded { .. }
            | Self::ReservationEnded { .. }
            | Self::ClaimRenewed { .. }
            | Self::SeatAdded { .. }
            | Self::MessageAdded { .. }
            | Self::CounterPatchRejected { .. }
            | Self::Cancelled { .. } => Vec::new(),
        }
    }
}
