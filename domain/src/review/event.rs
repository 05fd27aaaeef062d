//! What happened to a review. The log of these is the truth; every other row can be made from it.

use super::{Category, DiffFacts, Proposer, Reservation, Review, Role, Round, Status};
use crate::{
    consensus::{Escalation, Policy},
    content::ContentHash,
    credential::Authority,
    event_kind::EventKind,
    finding::{Anchor, FindingNumber, FindingStatus, Grounding, NewFinding, RequestedStatus},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use serde::{Deserialize, Serialize};

/// An event as it stands in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedEvent {
    pub at: Timestamp,
    /// The review's version once this has happened.
    pub version: u64,
    pub event: Event,
}

crate::string_enum! {
    /// Why a claim ended without a vote.
    ClaimEndReason {
        LeaseExpired = "lease_expired",
        Released = "released",
        ReviewerExited = "reviewer_exited",
        /// An operator ended the reviewer's process.
        ReviewerStopped = "reviewer_stopped",
        BrokerRestarted = "broker_restarted",
        /// It was tried and came to nothing.
        CouldNotReview = "could_not_review",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    Proposed(Proposed),
    Revised {
        /// Left out by the first release, here and below: it was the proposer then.
        #[serde(default)]
        by: Option<String>,
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
        /// What git said just now, where it was asked.
        diff: Option<DiffFacts>,
    },
    /// A claim found that the diff does not apply.
    AutoRejected {
        claimant: String,
        words: String,
        generation: u32,
    },
    ClaimEnded {
        persona: String,
        by: String,
        reason: ClaimEndReason,
        /// The holder's words, or how its process ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        generation: u32,
    },
    ReservationEnded {
        persona: String,
        reviewer: String,
    },
    VerdictGiven {
        persona: String,
        by: String,
        generation: u32,
        verdict: Verdict,
        reason: Option<String>,
        summary: Option<String>,
        metrics: Option<ReviewMetrics>,
        content_hash: ContentHash,
        round: u32,
        /// A counter-patch came with it; its text is stored under this event's version.
        offers_patch: bool,
        /// The status that consensus gives from here on.
        status: Status,
        escalate: bool,
        /// Left out by the first release: it was the number of rounds then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_why: Option<Escalation>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<FindingRaised>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settles: Vec<FindingResolved>,
        /// It undoes a decision, so that seats can be taken again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reopens: bool,
        /// The lease of whoever owes a vote from here on and has none running.
        lease_ends: Option<Tick>,
        digest: String,
    },
    FindingUpdated(FindingUpdated),
    MessageAdded {
        persona: String,
        role: Role,
        by: Option<String>,
        round: u32,
        body: String,
        metadata: Option<serde_json::Value>,
        digest: String,
        /// The holder's lease starts anew.
        lease_ends: Option<Tick>,
        /// A proposer's question puts the review back into the queue.
        requeued: Option<Requeued>,
    },
    CounterPatchAccepted {
        #[serde(default)]
        by: Option<String>,
        persona: String,
        patch: u64,
        content_hash: ContentHash,
        diff: DiffFacts,
        /// Seats that had approved the old content, or were reading it.
        freed: Vec<String>,
        generation: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        anchors: Vec<Anchored>,
    },
    CounterPatchRejected {
        #[serde(default)]
        by: Option<String>,
        persona: String,
        patch: u64,
    },
    Cancelled {
        by: Option<String>,
        reason: String,
        /// Reviewers who are no longer needed.
        detached: Vec<String>,
        generation: u32,
    },
    Closed {
        by: Role,
        #[serde(default)]
        identity: Option<String>,
    },
}

/// Where a finding stands in a new content; `None`: it could not be followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchored {
    pub number: FindingNumber,
    pub anchor: Option<Anchor>,
}

/// A finding that came with a verdict.
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
    pub double: Option<DuplicateLink>,
}

/// What an approval made of a finding of its own persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingResolved {
    pub number: FindingNumber,
    pub status: FindingStatus,
}

/// That a finding had been raised before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateLink {
    pub of: FindingNumber,
    /// The first was settled and is open again.
    pub reopens: bool,
}

/// What somebody said of a finding, and what it means for the review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingUpdated {
    pub number: FindingNumber,
    pub role: Authority,
    pub by: String,
    pub wish: RequestedStatus,
    pub duplicate_of: Option<FindingNumber>,
    pub note: Option<String>,
    pub round: u32,
    /// Only said: the proposer cannot settle what a reviewer has raised.
    pub settles: bool,
    /// The status that consensus gives from here on.
    pub status: Status,
    pub lease_ends: Option<Tick>,
}

/// A review as it begins.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requeued {
    pub reservation: Option<Reservation>,
    pub generation: u32,
}

impl Event {
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Proposed(_) => EventKind::Proposed,
            Self::Revised { .. } => EventKind::Revised,
            Self::Claimed { .. } => EventKind::Claimed,
            Self::AutoRejected { .. } => EventKind::AutoRejected,
            Self::ClaimEnded { .. } => EventKind::ClaimEnded,
            Self::ReservationEnded { .. } => EventKind::ReservationEnded,
            Self::VerdictGiven { .. } => EventKind::VerdictGiven,
            Self::FindingUpdated(_) => EventKind::FindingUpdated,
            Self::MessageAdded { .. } => EventKind::MessageAdded,
            Self::CounterPatchAccepted { .. } => EventKind::CounterPatchAccepted,
            Self::CounterPatchRejected { .. } => EventKind::CounterPatchRejected,
            Self::Cancelled { .. } => EventKind::Cancelled,
            Self::Closed { .. } => EventKind::Closed,
        }
    }

    /// Who made it happen, for the log, by its role where the name is not known; `None` is the broker
    /// itself.
    pub fn actor(&self) -> Option<&str> {
        match self {
            Self::Proposed(proposed) => Some(proposed.proposer.identity()),
            Self::Claimed { by, .. } | Self::VerdictGiven { by, .. } => Some(by),
            Self::FindingUpdated(updated) => Some(&updated.by),
            Self::ClaimEnded { by, reason: ClaimEndReason::Released | ClaimEndReason::CouldNotReview, .. } => Some(by),
            Self::AutoRejected { claimant, .. } => Some(claimant),
            Self::MessageAdded { by, role, .. } | Self::Closed { by: role, identity: by } => {
                Some(by.as_deref().unwrap_or(role.as_str()))
            }
            Self::Revised { by, .. }
            | Self::CounterPatchAccepted { by, .. }
            | Self::CounterPatchRejected { by, .. }
            | Self::Cancelled { by, .. } => Some(by.as_deref().unwrap_or(Role::Proposer.as_str())),
            Self::ClaimEnded { .. } | Self::ReservationEnded { .. } => None,
        }
    }

    /// The findings that are others after it, which made `review`.
    pub fn touched_findings(&self, review: &Review) -> Vec<FindingNumber> {
        match self {
            Self::Revised { anchors, .. } | Self::CounterPatchAccepted { anchors, .. } => {
                anchors.iter().map(|anchored| anchored.number).collect()
            }
            Self::VerdictGiven { findings, settles, .. } => {
                let doubled = findings.iter().filter_map(|raised| raised.double).map(|double| double.of);
                let settled = settles.iter().map(|settled| settled.number);
                findings.iter().map(|raised| raised.number).chain(doubled).chain(settled).collect()
            }
            Self::FindingUpdated(FindingUpdated { number, duplicate_of: None, .. }) => vec![*number],
            Self::FindingUpdated(FindingUpdated { number, duplicate_of: Some(first), .. }) => {
                let doubles = review.findings.iter().filter(|other| other.duplicate_of == Some(*first));
                doubles.map(|double| double.number).chain([*number, *first]).collect()
            }
            Self::Proposed(_)
            | Self::Claimed { .. }
            | Self::AutoRejected { .. }
            | Self::ClaimEnded { .. }
            | Self::ReservationEnded { .. }
            | Self::MessageAdded { .. }
            | Self::CounterPatchRejected { .. }
            | Self::Cancelled { .. }
            | Self::Closed { .. } => Vec::new(),
        }
    }
}
