//! Command types: the changes that a caller can request of a review.

use super::{
    ClaimEndReason, DiffCheck, DiffFacts, FindingRaised, HeadCheck, MessageAnchor, Proposed, Recipient, Role, Round,
};
use crate::{
    content::ContentHash,
    credential::Authority,
    diff::AffectedFile,
    finding::{Anchor, FindingNumber, RequestedStatus},
    verdict::{ReviewMetrics, Verdict},
    vote_signature::VoteSignature,
};
use std::time::Duration;

#[derive(Debug, Clone)]
pub enum Command {
    /// Creates the review.
    Propose(Box<Propose>),
    Revise(Revise),
    Claim(ClaimSeat),
    Release(ReleaseSeat),
    /// The holder of a seat is at work: its lease is renewed if less than half of it is left.
    Renew {
        by: String,
    },
    AddSeat(AddSeat),
    /// The process of a reviewer has ended, and with it the reviewer's claims.
    ReviewerGone {
        reviewer: String,
        why: ClaimEndReason,
        detail: Option<String>,
        /// How long its seats are kept for it. `None` if it will not come back; then its reservations end as well.
        keep_seat: Option<Duration>,
    },
    /// Ends the leases and reservations whose time is over.
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
        /// As in [`super::Review`].
        landed_as: Option<String>,
    },
}

/// The first submission of a review.
#[derive(Debug, Clone)]
pub struct Propose {
    /// The event that follows, unless the command repeats an earlier one.
    pub proposed: Proposed,
    /// The first content of the review that this request key created earlier. `None` if there was no such review when
    /// the content was prepared.
    pub first_content: Option<ContentHash>,
}

/// A further round.
#[derive(Debug, Clone)]
pub struct Revise {
    pub proposer_id: Option<String>,
    /// The active content that the new one was completed from. What a revision leaves out stays as it was.
    pub completes: ContentHash,
    /// The rules decide its number.
    pub round: Round,
    /// Positions of the open findings in the new content. A finding that is missing here could not be located.
    pub anchors: Vec<(FindingNumber, Anchor)>,
}

/// Work for git that must be done before a command can be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckNeeded {
    /// Check the active diff before a reviewer spends time on it.
    ActiveDiff,
    /// Check the counter-patch that comes with a verdict.
    OfferedPatch,
    /// Build the content that results from accepting this counter-patch.
    PendingPatch { id: u64 },
}

/// Git's answer about the active diff, and the content it is about.
#[derive(Debug, Clone)]
pub struct CheckedDiff {
    pub content_hash: ContentHash,
    /// The check against the base.
    pub check: DiffCheck,
    /// `None` if HEAD is the base.
    pub head: Option<HeadCheck>,
    /// Set if the proposer did not name the base and the diff applies to HEAD, but not to its base.
    pub rebased: Option<RebasedContent>,
}

/// The active content with HEAD as its base.
#[derive(Debug, Clone)]
pub struct RebasedContent {
    pub content_hash: ContentHash,
    /// As in [`Revise`].
    pub anchors: Vec<(FindingNumber, Anchor)>,
}

#[derive(Debug, Clone)]
pub struct ClaimSeat {
    pub by: String,
    pub persona: Option<String>,
    /// Take a seat over: any that is held or reserved as an operator, or the caller's own from another client as a
    /// reviewer.
    pub takes_over: Option<Authority>,
    pub check: Option<CheckedDiff>,
    /// Personas whose free seats belong to reviewers of the pool, unless such a reviewer gave the seat up.
    pub pool_personas: Vec<String>,
}

/// One more required reviewer for a running review.
#[derive(Debug, Clone)]
pub struct AddSeat {
    pub role: Authority,
    pub by: Option<String>,
    /// The persona, or `@name` for one reviewer.
    pub persona: String,
}

/// A reviewer returns its claim, which it names as in a verdict.
#[derive(Debug, Clone)]
pub struct ReleaseSeat {
    pub by: Option<String>,
    pub generation: Option<u32>,
    pub reason: Option<String>,
    /// The reviewer tried and failed. The seat keeps the reason until the next claim or round.
    pub gave_up: bool,
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
    pub findings: Option<OfferedFindings>,
    pub signature: Option<VoteSignature>,
    /// Fingerprint of the request as the caller sent it. A repeat has the same one.
    pub digest: String,
}

/// A counter-patch. Its text is stored under the version of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPatch {
    pub check: Option<DiffCheck>,
    pub files: Vec<AffectedFile>,
}

/// Findings of a verdict, checked against the files of one content.
#[derive(Debug, Clone)]
pub struct OfferedFindings {
    pub content_hash: ContentHash,
    /// `late` says that the lines have not changed since the persona last voted. The rules decide what follows from it,
    /// and set the fields after it.
    pub list: Vec<FindingRaised>,
}

/// A statement about a finding: a reviewer or operator decides, a proposer answers.
#[derive(Debug, Clone)]
pub struct UpdateFinding {
    pub number: FindingNumber,
    pub role: Authority,
    pub by: Option<String>,
    pub requested: RequestedStatus,
    pub duplicate_of: Option<FindingNumber>,
    pub note: Option<String>,
}

#[derive(Debug, Clone)]
pub struct AddMessage {
    pub role: Authority,
    pub by: Option<String>,
    /// The seat whose discussion is meant.
    pub persona: Option<String>,
    /// Instead of a seat: all seats for a proposer, any party for an operator.
    pub to: Option<Recipient>,
    pub body: String,
    pub anchor: Option<MessageAnchor>,
    pub metadata: Option<serde_json::Value>,
    /// The reviewer cannot do what it is asked, so an operator has to look at the review.
    pub gives_up: bool,
}

#[derive(Debug, Clone)]
pub struct AcceptCounterPatch {
    pub by: Option<String>,
    pub persona: Option<String>,
    pub patched: Option<PatchedContent>,
}

/// The content that results from accepting a counter-patch.
#[derive(Debug, Clone)]
pub struct PatchedContent {
    pub patch: u64,
    /// The active content when the counter-patch was applied.
    pub replaces: ContentHash,
    pub content_hash: ContentHash,
    pub diff: DiffFacts,
    /// As in [`Revise`].
    pub anchors: Vec<(FindingNumber, Anchor)>,
    /// As in [`Round`].
    pub required: Vec<String>,
}

impl Command {
    /// Whether the caller acts for a seat without naming itself, by the generation of the claim alone.
    pub const fn is_unnamed_reviewer(&self) -> bool {
        matches!(
            self,
            Self::GiveVerdict(GiveVerdict { by: None, .. })
                | Self::Release(ReleaseSeat { by: None, .. })
                | Self::AddMessage(AddMessage { role: Authority::Reviewer, by: None, .. })
        )
    }
}

crate::string_enum! {
    /// A command's name in a refusal.
    CommandKind {
        Revise = "revise",
        Claim = "claim",
        Release = "release",
        AddSeat = "add a seat",
        Verdict = "give a verdict",
        UpdateIssue = "update an issue",
        Message = "add a message",
        AcceptCounterPatch = "accept a counter-patch",
        RejectCounterPatch = "reject a counter-patch",
        Cancel = "cancel",
        Close = "close",
    }
}
