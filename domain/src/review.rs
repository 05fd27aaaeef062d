//! A review: its state, what can be asked of it, what happened to it.

mod command;
mod event;
mod refusal;
mod target;
mod transition;

pub use command::{
    AcceptCounterPatch, AddMessage, Check, CheckNeeded, ClaimSeat, Command, CommandKind, GiveVerdict, OfferedFinding,
    OfferedFindings, OfferedPatch, Proposal, ReleaseSeat, Revise, UpdateFinding,
};
pub use event::{
    Anchored, ClaimEndReason, DuplicateLink, Event, FindingRaised, FindingResolved, FindingUpdated, LoggedEvent,
    Proposed, Requeued,
};
pub use refusal::Refusal;
pub use target::{ReviewTarget, TargetCommit, TargetKind};
pub use transition::{
    Rules, Transition, apply, check_needed, followed, propose, replay, seats_for, spoken_for, transition,
};

use crate::{
    consensus::{Escalation, Policy},
    content::ContentHash,
    finding::{Finding, FindingNumber},
    ids::{ReviewId, ReviewNumber, VALIDATOR},
    priority::Priority,
    time::{Tick, Timestamp},
    verdict::Verdict,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

crate::string_enum! {
    Status {
        Pending = "pending",
        Claimed = "claimed",
        InReview = "in_review",
        ChangesRequested = "changes_requested",
        Approved = "approved",
        Rejected = "rejected",
        Cancelled = "cancelled",
        Closed = "closed",
    }
}

impl Status {
    /// Reviewers are awaited or at work: leases run, and a free seat can be taken.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Claimed | Self::InReview)
    }
}

crate::string_enum! {
    Category {
        PlanReview = "plan_review",
        CodeChange = "code_change",
        Verification = "verification",
        Handoff = "handoff",
    }
}

crate::string_enum! {
    Role { Proposer = "proposer", Reviewer = "reviewer" }
}

crate::string_enum! {
    /// What a diff was found to apply to.
    AppliesTo { Base = "base", Worktree = "worktree" }
}

/// Who proposes, and where in their work the proposal stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposer {
    pub agent_type: String,
    pub agent_role: String,
    pub phase: String,
    pub plan: Option<String>,
    pub task: Option<String>,
    pub project: Option<String>,
    pub proposer_id: Option<String>,
}

impl Proposer {
    /// The name nobody may review this proposal under.
    pub fn identity(&self) -> &str {
        self.proposer_id.as_deref().unwrap_or(&self.agent_type)
    }
}

/// What git said of a round's diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum DiffCheck {
    /// The proposer asked for no check; every reviewer is shown that.
    Skipped,
    Applies {
        to: AppliesTo,
        /// The tree that base and diff make together; a working tree has none.
        tree_id: Option<String>,
    },
    Fails {
        words: String,
    },
    /// Git could not tell (it timed out, say); a claim tries again.
    Unknown {
        why: String,
    },
}

/// What is known of the active diff beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffFacts {
    pub base_commit: Option<String>,
    pub patch_id: Option<String>,
    pub check: DiffCheck,
}

/// The active content, as far as the rules need it; the text itself is kept under its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    pub content_hash: ContentHash,
    pub intent: String,
    pub diff: Option<DiffFacts>,
    /// Names the call that submitted this round, so that a repeat of it is recognised.
    pub request_key: Option<String>,
    /// Where the diff was taken from, as long as it is the active one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Box<ReviewTarget>>,
}

/// A seat taken by a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub by: String,
    pub generation: u32,
    pub at: Timestamp,
    /// `None` once the seat has voted: nothing is owed, so nothing runs out.
    pub lease_ends: Option<Tick>,
}

/// A seat kept free for the reviewer that was asked back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub reviewer: String,
    pub until: Tick,
}

/// A counter-patch that waits for the proposer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingPatch {
    /// The version of the review at which it was offered.
    pub id: u64,
    pub by: String,
}

/// The end of a seat's discussion: whose turn it is, and what a repeat looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    pub id: u64,
    pub role: Role,
    /// Only there is a repeat one: the same words may be said of every round.
    pub round: u32,
    pub digest: String,
    /// The other side's last message in this round, whose sender may not know yet that it arrived.
    pub answers: Option<Answered>,
}

/// A message that has been answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub id: u64,
    pub digest: String,
}

impl LastMessage {
    /// Id and digest of what `role` said last in this round.
    pub fn said_by(&self, role: Role) -> Option<(u64, &str)> {
        if self.role == role {
            Some((self.id, &self.digest))
        } else {
            self.answers.as_ref().map(|answered| (answered.id, answered.digest.as_str()))
        }
    }
}

/// The last verdict of a seat, comments included, to recognise a repeat of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVerdict {
    pub generation: u32,
    pub verdict: Verdict,
    pub digest: String,
}

/// What a seat last voted on, in this round or an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub round: u32,
    pub content_hash: ContentHash,
}

/// One required reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    pub persona: String,
    pub claim: Option<Claim>,
    pub vote: Option<Verdict>,
    pub reservation: Option<Reservation>,
    pub patch: Option<PendingPatch>,
    pub last_message: Option<LastMessage>,
    pub last_verdict: Option<LastVerdict>,
    pub reviewed: Option<Reviewed>,
    /// Why a reviewer gave up on it in this round. It is free for others.
    pub gave_up: Option<String>,
}

impl Seat {
    pub fn new(persona: impl Into<String>) -> Self {
        Self {
            persona: persona.into(),
            claim: None,
            vote: None,
            reservation: None,
            patch: None,
            last_message: None,
            last_verdict: None,
            reviewed: None,
            gave_up: None,
        }
    }

    /// Nobody holds it and no vote stands for it; it may still be reserved.
    pub fn is_free(&self) -> bool {
        self.claim.is_none() && self.vote.is_none()
    }

    pub fn is_held_by(&self, reviewer: &str) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.by == reviewer)
    }

    /// The reservation, unless it has run out.
    pub fn reserved_at(&self, tick: Tick) -> Option<&Reservation> {
        self.reservation.as_ref().filter(|r| r.until > tick)
    }
}

/// The state of a review: what its database rows say, no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: ReviewId,
    pub number: ReviewNumber,
    /// One more with every event; waiting callers compare it.
    pub version: u64,
    pub proposer: Proposer,
    pub category: Option<Category>,
    pub priority: Priority,
    pub status: Status,
    pub round: Round,
    /// Changes have been asked for at least once, so the proposer may revise while it is pending.
    pub returned: bool,
    pub seats: Vec<Seat>,
    pub policy: Policy,
    pub claim_generation: u32,
    /// The last word on the active content, and who said it.
    pub decision: Option<Decision>,
    /// What an approval stands for; `Some` exactly while the review is approved, and after it closed
    /// as such.
    pub approved_hash: Option<ContentHash>,
    /// Why a person is asked.
    pub escalated: Option<Escalation>,
    /// Oldest first. Shared, because a review is copied for every change and findings seldom change.
    pub findings: Vec<Arc<Finding>>,
    /// What its verdicts have cost so far, as far as they say, in millionths of a dollar.
    pub cost: u64,
    pub cancel_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The latest verdict that carries a reason or moved the status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub by: String,
}

impl Review {
    /// The broker itself sent it back, because the diff does not apply.
    pub fn auto_rejected(&self) -> bool {
        self.status == Status::ChangesRequested && self.decision.as_ref().is_some_and(|d| d.by == VALIDATOR)
    }

    /// Everyone who holds a seat, in the order of the seats.
    pub fn holders(&self) -> impl Iterator<Item = &str> {
        self.seats.iter().filter_map(|seat| seat.claim.as_ref()).map(|claim| claim.by.as_str())
    }

    /// The claimant to show where there is room for one.
    pub fn claimed_by(&self) -> Option<&str> {
        if self.auto_rejected() { Some(VALIDATOR) } else { self.holders().next() }
    }

    /// Seats that can be taken now. They may be reserved.
    pub fn free_seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| self.status.is_open() && seat.is_free())
    }

    pub fn finding(&self, number: FindingNumber) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.number == number).map(Arc::as_ref)
    }

    /// Open findings that keep approvals from being enough.
    pub fn blocking(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().map(Arc::as_ref).filter(|finding| finding.blocks(&self.policy))
    }

    pub fn personas(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.persona.clone()).collect()
    }

    /// When the next lease or reservation ends, whichever is first.
    pub fn next_deadline(&self) -> Option<Tick> {
        let lease = |seat: &Seat| seat.claim.as_ref().and_then(|claim| claim.lease_ends);
        let reserved = |seat: &Seat| seat.reservation.as_ref().map(|r| r.until);
        self.seats.iter().flat_map(|seat| [lease(seat), reserved(seat)]).flatten().min()
    }

    /// Nothing can happen to it any more.
    pub const fn is_final(&self) -> bool {
        matches!(self.status, Status::Closed)
    }
}
