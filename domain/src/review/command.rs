//! What can be asked of a review.

use super::{AppliesTo, Category, ClaimEndReason, DiffFacts, Proposer, ReviewTarget, Role};
use crate::{
    consensus::Policy,
    content::ContentHash,
    credential::Authority,
    finding::{Anchor, FindingNumber, Grounding, NewFinding, RequestedStatus},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    verdict::{ReviewMetrics, Verdict},
};

/// A first submission; it makes the review.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub id: ReviewId,
    pub number: ReviewNumber,
    pub proposer: Proposer,
    pub category: Option<Category>,
    /// Left out: what the identity says.
    pub priority: Option<Priority>,
    pub intent: String,
    pub content_hash: ContentHash,
    pub diff: Option<DiffFacts>,
    pub personas: Vec<String>,
    pub policy: Policy,
    pub request_key: Option<String>,
    pub target: Option<Box<ReviewTarget>>,
}

impl Proposal {
    /// Its place in the queue: the one that was asked for, else what its identity says.
    pub fn priority(&self) -> Priority {
        let Proposer { agent_type, agent_role, phase, task, .. } = &self.proposer;
        self.priority.unwrap_or_else(|| Priority::infer(agent_type, agent_role, phase, task.as_deref()))
    }
}

/// What git said about a diff that a command depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// There is nothing to check, or the proposer said to skip it.
    NotNeeded,
    Applies {
        to: AppliesTo,
        tree_id: Option<String>,
    },
    Fails {
        words: String,
    },
}

/// What must be checked by git before a command can be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckNeeded {
    /// The active diff, before somebody spends time on it.
    ActiveDiff,
    /// The diff offered with a verdict.
    OfferedPatch,
    /// The pending counter-patch that is about to become the active diff.
    PendingPatch { id: u64 },
}

#[derive(Debug, Clone)]
pub struct ClaimSeat {
    pub by: String,
    pub persona: Option<String>,
    /// The content git looked at; a claim of another content is refused.
    pub checked: Option<ContentHash>,
    pub check: Check,
}

/// A reviewer gives its claim back. It names the claim as a verdict does.
#[derive(Debug, Clone)]
pub struct ReleaseSeat {
    pub by: Option<String>,
    pub generation: Option<u32>,
    pub reason: Option<String>,
    /// It was tried and could not be done; the seat remembers that until the next claim or round.
    pub gave_up: bool,
}

#[derive(Debug, Clone)]
pub struct Revise {
    pub proposer_id: Option<String>,
    /// The content this one was completed from; what a revision leaves out stays as it was.
    pub completes: ContentHash,
    pub intent: String,
    pub content_hash: ContentHash,
    pub diff: Option<DiffFacts>,
    pub request_key: Option<String>,
    /// Where the findings that are open stand in the new content; one left out could not be followed.
    pub anchors: Vec<(FindingNumber, Anchor)>,
    pub target: Option<Box<ReviewTarget>>,
}

/// Findings as a verdict brings them, looked at beforehand.
#[derive(Debug, Clone, Default)]
pub struct OfferedFindings {
    /// The first of as many numbers that nobody else has.
    pub first: i64,
    /// Of what was given, before anybody looked at it: by this a repeat is known.
    pub digest: Option<String>,
    /// The content they were checked against.
    pub checked: Option<ContentHash>,
    pub list: Vec<OfferedFinding>,
}

#[derive(Debug, Clone)]
pub struct OfferedFinding {
    pub found: NewFinding,
    pub grounding: Grounding,
    /// Whether it stands on lines that changed since its persona last voted; `None`: nobody can tell.
    pub on_changed_lines: Option<bool>,
}

/// What somebody says of a finding.
#[derive(Debug, Clone)]
pub struct UpdateFinding {
    pub number: FindingNumber,
    /// In which capacity.
    pub role: Authority,
    pub by: Option<String>,
    pub wish: RequestedStatus,
    pub duplicate_of: Option<FindingNumber>,
    pub note: Option<String>,
}

/// A counter-patch as offered; its text is stored under the version of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPatch {
    pub digest: String,
    pub check: Check,
}

#[derive(Debug, Clone)]
pub struct GiveVerdict {
    pub by: Option<String>,
    pub generation: Option<u32>,
    pub content_hash: Option<String>,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub summary: Option<String>,
    pub metrics: Option<ReviewMetrics>,
    pub patch: Option<OfferedPatch>,
    pub findings: OfferedFindings,
}

#[derive(Debug, Clone)]
pub struct AddMessage {
    pub role: Role,
    /// Who says it, where the caller tells.
    pub by: Option<String>,
    pub persona: Option<String>,
    pub body: String,
    pub metadata: Option<serde_json::Value>,
}

#[derive(Debug, Clone)]
pub struct AcceptCounterPatch {
    /// Who does it, where the caller tells; here and below.
    pub by: Option<String>,
    pub persona: Option<String>,
    /// The counter-patch and content that were looked at while git checked.
    pub checked: Option<(u64, ContentHash)>,
    pub content_hash: Option<ContentHash>,
    pub diff: Option<DiffFacts>,
    pub check: Check,
    /// As in a revision.
    pub anchors: Vec<(FindingNumber, Anchor)>,
}

#[derive(Debug, Clone)]
pub enum Command {
    Revise(Revise),
    Claim(ClaimSeat),
    Release(ReleaseSeat),
    /// A reviewer that will not come back: whatever it holds or is asked back for is free again.
    ReviewerGone {
        reviewer: String,
        why: ClaimEndReason,
        detail: Option<String>,
    },
    /// Ends what has run out by now: leases and reservations.
    Expire,
    GiveVerdict(GiveVerdict),
    UpdateFinding(UpdateFinding),
    AddMessage(AddMessage),
    AcceptCounterPatch(AcceptCounterPatch),
    RejectCounterPatch {
        by: Option<String>,
        persona: Option<String>,
    },
    Cancel {
        by: Option<String>,
        reason: String,
    },
    Close {
        by: Role,
        identity: Option<String>,
    },
}

crate::string_enum! {
    /// A command's name in a refusal.
    CommandKind {
        Revise = "revise",
        Claim = "claim",
        Release = "release",
        Verdict = "give a verdict",
        UpdateIssue = "update an issue",
        Message = "add a message",
        AcceptCounterPatch = "accept a counter-patch",
        RejectCounterPatch = "reject a counter-patch",
        Cancel = "cancel",
        Close = "close",
    }
}
