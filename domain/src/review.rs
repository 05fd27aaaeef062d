//! The types for the state of one review. Submodules hold its commands, events, refusals and replies, and the function
//! that decides commands.

mod command;
mod event;
mod past;
mod reply;
mod seat;
mod target;
mod transition;

pub use command::{
    AcceptCounterPatch, AddMessage, AddSeat, CheckNeeded, CheckedDiff, ClaimSeat, Command, CommandKind, GiveVerdict,
    OfferedFindings, OfferedPatch, PatchedContent, Propose, RebasedContent, ReleaseSeat, Revise, UpdateFinding,
};
pub use event::{
    Anchored, ClaimEndReason, DuplicateLink, Event, FindingRaised, FindingResolved, FindingUpdated, LoggedEvent,
    Proposed, Requeued, RequeuedSeat, VerdictGiven,
};
pub use past::{PastReview, PastRound};
pub use reply::{Refusal, Reply};
pub use seat::{
    Answered, Asked, Claim, CounterPatch, LastMessage, LastVerdict, PatchStatus, Reservation, Reviewed, Seat,
    Superseded,
};
pub use target::{ReviewTarget, TargetCommit, TargetKind, TargetName};
pub use transition::{Rules, Transition, apply, check_needed, distinct_personas, replay, transition};

use crate::identity::is_same_identity;
use crate::{
    consensus::{Escalation, Policy},
    content::ContentHash,
    finding::{Finding, FindingNumber},
    ids::{ReviewId, ReviewNumber, VALIDATOR},
    priority::Priority,
    time::{Tick, Timestamp},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::sync::Arc;

crate::string_enum! {
    #[derive(Default)]
    Status {
        #[default]
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
    /// Reviewers are wanted or working: leases run and free seats can be claimed.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Claimed | Self::InReview)
    }

    /// Rejected, cancelled or closed: only closing is left.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Rejected | Self::Cancelled | Self::Closed)
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
    /// Whom a message addresses if it does not name a seat.
    Recipient { Proposer = "proposer", Reviewers = "reviewers", Everyone = "everyone" }
}

impl Recipient {
    pub const fn includes_proposer(self) -> bool {
        matches!(self, Self::Proposer | Self::Everyone)
    }

    pub const fn includes_reviewers(self) -> bool {
        matches!(self, Self::Reviewers | Self::Everyone)
    }
}

crate::string_enum! {
    /// The side of a diff that lines are counted on.
    #[derive(Default)]
    DiffSide { Old = "old", #[default] New = "new" }
}

crate::string_enum! {
    /// The text that lines belong to.
    #[derive(Default)]
    AnchoredText { #[default] Diff = "diff", Description = "description" }
}

/// What a message refers to.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageAnchor {
    /// An issue of the review, for example I-41.
    pub issue: Option<String>,
    /// A file of the change.
    pub file: Option<String>,
    /// The first line, counted from 1.
    #[schemars(range(min = 1))]
    pub line_start: Option<u32>,
    /// The last line. Default: line_start.
    #[schemars(range(min = 1))]
    pub line_end: Option<u32>,
    /// "old": lines before the change. Default "new".
    pub side: Option<DiffSide>,
    /// "description": lines of the description. Default "diff".
    #[serde(rename = "in")]
    pub text: Option<AnchoredText>,
}

crate::string_enum! {
    /// What a diff applies to.
    AppliesTo { Base = "base", Worktree = "worktree" }
}

/// The phase of a proposal that names none.
pub const DEFAULT_PHASE: &str = "work";

/// The proposer, and the step of its work that the proposal belongs to.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The proposer's name. A reviewer with this name is refused.
    pub fn identity(&self) -> &str {
        self.proposer_id.as_deref().unwrap_or(&self.agent_type)
    }
}

/// Git's answer about a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum DiffCheck {
    /// The proposer skipped the check. Reviewers see that.
    Skipped,
    Applies {
        to: AppliesTo,
        /// The tree that results from applying the diff to its base; `None` for a working tree.
        tree_id: Option<String>,
    },
    Fails {
        message: String,
    },
    /// Git failed or timed out. The next claim checks again.
    Unknown {
        why: String,
    },
}

impl DiffCheck {
    /// Whether the diff applies; `None` if git has not said.
    pub const fn applies(&self) -> Option<bool> {
        match self {
            Self::Applies { .. } => Some(true),
            Self::Fails { .. } => Some(false),
            Self::Skipped | Self::Unknown { .. } => None,
        }
    }
}

/// The active diff without its text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffFacts {
    pub base_commit: Option<String>,
    /// The proposer named the base or a target. Otherwise the base was HEAD, and the diff must still apply to HEAD when
    /// it is claimed. Rounds that were stored without this field behave as if the base was named.
    #[serde(default = "base_was_named")]
    pub base_named: bool,
    pub patch_id: Option<String>,
    /// The check against the base.
    pub check: DiffCheck,
    /// The check against HEAD at the last claim or accepted counter-patch. `None` if HEAD was the base.
    pub head: Option<HeadCheck>,
}

const fn base_was_named() -> bool {
    true
}

/// Git's answer about a diff and the commit that HEAD was, which is not the base of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadCheck {
    pub commit: String,
    /// The number of commits in HEAD that are not in the base.
    pub behind: u64,
    pub check: DiffCheck,
    /// The diff does not apply because HEAD already has the change: the proposer has committed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contains: bool,
}

impl HeadCheck {
    /// Whether the diff applies to HEAD or is part of it; `None` if git has not said.
    pub const fn fits(&self) -> Option<bool> {
        if self.contains { Some(true) } else { self.check.applies() }
    }
}

/// The active content without its text, which is stored under its hash.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    pub content_hash: ContentHash,
    pub intent: String,
    pub diff: Option<DiffFacts>,
    /// What the proposer changed in this round, in its own words.
    pub change_note: Option<String>,
    /// Identifies the call that submitted this round, so that a repeat of it is recognised.
    pub request_key: Option<String>,
    /// The commits that the active diff was taken from.
    pub target: Option<Box<ReviewTarget>>,
    /// Personas without whose approval this content is not approved, whatever the policy says. The operator's panel rules
    /// name them.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub required: Box<[String]>,
}

/// The state of a review, equal to its database rows. Seats and findings have rows of their own, so JSON leaves them out.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub id: ReviewId,
    pub number: ReviewNumber,
    /// Grows by one with every event. Waiting callers compare it.
    pub version: u64,
    pub proposer: Proposer,
    pub category: Option<Category>,
    pub priority: Priority,
    pub status: Status,
    pub round: Round,
    /// The branch of the latest round that was taken from one. It stays when a counter-patch replaces that content.
    pub branch: Option<String>,
    /// When the status last changed.
    pub status_since: Timestamp,
    pub times: Times,
    /// Changes were requested at least once.
    pub returned: bool,
    #[serde(skip)]
    pub seats: Vec<Seat>,
    pub policy: Policy,
    pub claim_generation: u32,
    /// The latest verdict on the active content.
    pub decision: Option<Decision>,
    /// The approved content. `Some` exactly while the review is approved or was closed after an approval.
    pub approved_hash: Option<ContentHash>,
    /// The commit in which the approved content landed, as the proposer said when it closed the review.
    pub landed_as: Option<String>,
    /// Why an operator must look at the review, or had to.
    pub escalated: Option<Escalated>,
    /// An operator wrote to the proposer, who has not responded yet.
    pub asked_proposer: Option<Asked>,
    /// Messages of all rounds and seats.
    pub messages: MessageCount,
    /// Oldest first. In an `Arc` because every transition copies the review and findings rarely change.
    #[serde(skip)]
    pub findings: Vec<Arc<Finding>>,
    /// The cost reported by its verdicts, in millionths of a dollar.
    pub cost_micro_usd: u64,
    pub cancel_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A review up to one of its versions. What later versions have added is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewVersion {
    pub number: ReviewNumber,
    pub version: u64,
}

/// When a review reached what statistics count, and how long it was in its statuses before the present one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    pub first_claimed_at: Option<Timestamp>,
    /// Votes only.
    pub first_verdict_at: Option<Timestamp>,
    /// When it was approved, rejected or cancelled. `None` if that was undone.
    pub decided_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    /// Milliseconds, in the order of [`Status::ALL`], without `closed`, which has no end.
    pub spent_ms: [i64; Status::ALL.len() - 1],
}

/// An escalation to an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    pub why: Escalation,
    pub at: Timestamp,
    /// An operator has acted since. The parties go on.
    pub answered: bool,
}

/// How many messages a review has, and the last one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCount {
    pub total: u32,
    /// Its id is the version of the review when it was written.
    pub last_id: Option<u64>,
    pub last_by: Option<String>,
    pub last_digest: Option<String>,
    /// How many there were when the proposer last wrote, revised or answered a counter-patch.
    pub seen_by_proposer: u32,
}

/// The latest verdict that carries a reason or moved the status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub by: String,
}

impl Review {
    pub const fn at_version(&self) -> ReviewVersion {
        ReviewVersion { number: self.number, version: self.version }
    }

    /// The broker requested changes because the diff does not apply.
    pub fn auto_rejected(&self) -> bool {
        self.status == Status::ChangesRequested && self.decision.as_ref().is_some_and(|d| d.by == VALIDATOR)
    }

    /// The reviewers that hold a seat, in the order of the seats.
    pub fn holders(&self) -> impl Iterator<Item = &str> {
        self.seats.iter().filter_map(|seat| seat.claim.as_ref()).map(|claim| claim.by.as_str())
    }

    /// The first reviewer that holds a seat.
    pub fn claimed_by(&self) -> Option<&str> {
        if self.auto_rejected() { Some(VALIDATOR) } else { self.holders().next() }
    }

    /// Seats that can be claimed now. They may be reserved.
    pub fn free_seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(|seat| self.status.is_open() && seat.is_free())
    }

    /// Personas of the seats that `caller` can claim: free, and not reserved for another reviewer.
    pub fn claimable_by(&self, caller: Option<&str>) -> Vec<String> {
        let is_open =
            |seat: &&Seat| seat.reserved_for().is_none() || caller.is_some_and(|caller| seat.is_reserved_for(caller));
        self.free_seats().filter(is_open).map(|seat| seat.persona.clone()).collect()
    }

    /// Whether this identity is the proposer.
    pub fn is_proposed_by(&self, name: &str) -> bool {
        is_same_identity(self.proposer.identity(), name)
    }

    /// Whether this identity holds a seat.
    pub fn is_held_by(&self, name: &str) -> bool {
        self.seats.iter().any(|seat| seat.is_held_by(name))
    }

    /// The reviewer for whom all free seats are reserved.
    pub fn reserved_for(&self) -> Option<&str> {
        let free = self.seats.iter().filter(|seat| seat.is_free());
        let reserved = free.map(Seat::reserved_for);
        reserved.collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// The claimed seat that a reviewer names by the generation of its claim or, without one, by its own name.
    pub fn claimed_seat(&self, by: Option<&str>, generation: Option<u32>) -> Option<(usize, &Seat, &Claim)> {
        let is_meant = |claim: &Claim| match (generation, by) {
            (Some(generation), _) => claim.generation == generation,
            (None, Some(by)) => is_same_identity(&claim.by, by),
            (None, None) => false,
        };
        let claimed =
            self.seats.iter().enumerate().filter_map(|(index, seat)| Some((index, seat, seat.claim.as_ref()?)));
        claimed.into_iter().find(|(_, _, claim)| is_meant(claim))
    }

    /// Messages that were written since `name` last acted in this review; `None` for a stranger.
    pub fn unread(&self, name: &str) -> Option<u32> {
        if self.is_proposed_by(name) {
            return Some(self.messages.total - self.messages.seen_by_proposer);
        }
        self.seats.iter().find(|seat| seat.is_held_by(name)).map(|seat| seat.messages - seat.messages_seen)
    }

    /// Reviewers are at work, or the proposer has to change something.
    pub const fn is_undecided(&self) -> bool {
        self.status.is_open() || matches!(self.status, Status::ChangesRequested)
    }

    /// Why the review waits for an operator. One that is decided does not.
    pub fn escalation(&self) -> Option<Escalation> {
        let escalated = self.escalated.filter(|escalated| !escalated.answered && self.is_undecided());
        escalated.map(|escalated| escalated.why)
    }

    /// The commit that the active diff is against.
    pub fn base_commit(&self) -> Option<&str> {
        self.round.diff.as_ref()?.base_commit.as_deref()
    }

    pub fn patch_id(&self) -> Option<&str> {
        self.round.diff.as_ref()?.patch_id.as_deref()
    }

    /// The tree that results from the active diff, if git has applied it to its base.
    pub fn tree_id(&self) -> Option<&str> {
        match &self.round.diff.as_ref()?.check {
            DiffCheck::Applies { tree_id, .. } => tree_id.as_deref(),
            DiffCheck::Skipped | DiffCheck::Fails { .. } | DiffCheck::Unknown { .. } => None,
        }
    }

    /// The reason that the latest verdict gave.
    pub fn reason(&self) -> Option<&str> {
        self.decision.as_ref()?.reason.as_deref()
    }

    /// Whether git checks the diffs of this review.
    pub fn checks_diffs(&self) -> bool {
        !matches!(self.round.diff.as_ref().map(|diff| &diff.check), Some(DiffCheck::Skipped))
    }

    pub fn finding(&self, number: FindingNumber) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.number == number).map(Arc::as_ref)
    }

    /// Open findings that prevent an approval.
    pub fn blocking(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().map(Arc::as_ref).filter(|finding| finding.blocks(&self.policy))
    }

    pub fn personas(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.persona.clone()).collect()
    }

    /// When the next lease or reservation ends.
    pub fn next_deadline(&self) -> Option<Tick> {
        let lease = |seat: &Seat| seat.claim.as_ref().and_then(|claim| claim.lease_ends);
        let reserved = |seat: &Seat| seat.reservation.as_ref().map(|r| r.until);
        self.seats.iter().flat_map(|seat| [lease(seat), reserved(seat)]).flatten().min()
    }

    /// No command can change the review any more.
    pub const fn is_final(&self) -> bool {
        matches!(self.status, Status::Closed)
    }
}
