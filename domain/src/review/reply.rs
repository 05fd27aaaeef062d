//! Types for what the caller of a command gets besides the new state of the review: a reply, or a refusal that says
//! what is allowed instead.

use super::{CommandKind, Review, Seat, Status};
use crate::{
    content::ContentHash,
    credential::Authority,
    finding::{FindingNumber, FindingStatus, RequestedStatus},
    ids::ReviewNumber,
    verdict::Verdict,
};

/// The result of a command. Seats are given by their index in [`Review::seats`].
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
        /// `None` if the message is not part of one seat's discussion.
        seat: Option<usize>,
        id: u64,
    },
    Done,
}

impl Reply {
    /// The seat that the caller acted for.
    pub fn seat<'a>(&self, review: &'a Review) -> Option<&'a Seat> {
        match self {
            Self::Claimed { seat } | Self::Released { seat } | Self::VerdictTaken { seat, .. } => {
                review.seats.get(*seat)
            }
            Self::MessageAdded { seat, .. } => review.seats.get((*seat)?),
            Self::Submitted | Self::AutoRejected | Self::Done => None,
        }
    }
}

/// Why a command is not allowed. A refused command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Refusal {
    #[error("the review does not exist")]
    UnknownReview,
    #[error("{number} is {status}: cannot {command} now; possible: {possible}")]
    WrongStatus { number: ReviewNumber, status: Status, command: CommandKind, possible: String },
    #[error("{number} is already claimed by {by}; claim another review")]
    AlreadyClaimed { number: ReviewNumber, by: String },
    #[error("{number} is reserved for {reviewer}; claim another review")]
    Reserved { number: ReviewNumber, reviewer: String },
    #[error("{reviewer} proposed {number} and cannot review it; another reviewer_id must")]
    OwnProposal { number: ReviewNumber, reviewer: String },
    #[error("reviewer_id {given:?} cannot be used to review; choose a name of your own")]
    BadReviewerId { given: String },
    #[error("{reviewer} already has the {persona} seat of {number}; a reviewer has one seat at a time")]
    HoldsAnotherSeat { number: ReviewNumber, reviewer: String, persona: String },
    #[error("the {persona} seat of {number} is for {reviewer}, who takes this seat and no other")]
    HasOwnSeat { number: ReviewNumber, reviewer: String, persona: String },
    #[error("{number} has no seat for persona {persona:?}; its seats: {seats}")]
    NoSuchSeat { number: ReviewNumber, persona: String, seats: String },
    #[error("{number} has several seats; name one with persona: {seats}")]
    PersonaNeeded { number: ReviewNumber, seats: String },
    #[error("claim_generation {given} is not current (now {current}); the claim ended, claim again")]
    StaleClaim { given: u32, current: u32 },
    #[error("content_hash {given} is not current (now {current}); read the proposal again")]
    StaleContent { given: String, current: ContentHash },
    #[error("the seat is held by {holder}, not by {reviewer}")]
    NotYourSeat { reviewer: String, holder: String },
    #[error("this seat of {number} is not claimed; claim it first")]
    NotClaimed { number: ReviewNumber },
    #[error("no claim named; give the claim_generation of your claim or the reviewer_id that holds the seat")]
    NoFence,
    #[error("verdict {verdict} needs a reason")]
    ReasonNeeded { verdict: Verdict },
    #[error("verdict {verdict} cannot carry a counter_patch; only changes_requested and comment can")]
    CounterPatchNotAllowed { verdict: Verdict },
    #[error("{number} is approved; request changes to offer a counter_patch")]
    CounterPatchOnApproved { number: ReviewNumber },
    #[error("the counter-patch does not apply: {message}")]
    CounterPatchFails { message: String },
    #[error("{number} has no pending counter-patch")]
    NoPendingCounterPatch { number: ReviewNumber },
    #[error("{number} already has {has} issues and suggestions; the limit is {limit}, put the rest into the reason")]
    TooManyIssues { number: ReviewNumber, has: usize, limit: usize },
    #[error("{number} has no issue {issue}")]
    UnknownIssue { number: ReviewNumber, issue: FindingNumber },
    #[error(
        "{issue}: a proposer cannot set {requested}; allowed: fixed, wont_fix, disputed (its reviewer then decides)"
    )]
    NotForProposers { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue}: a reviewer cannot set {requested}; allowed: open, fixed, wont_fix, duplicate")]
    NotForReviewers { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue}: {requested} needs a note that says why")]
    NoteNeeded { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue} is already {status}; only an open issue can be answered")]
    IssueSettled { issue: FindingNumber, status: FindingStatus },
    #[error("{issue}: duplicate needs duplicate_of, another open issue of this review")]
    DuplicateOfNeeded { issue: FindingNumber },
    #[error("{number} has {limit} seats already, the most that a review can have")]
    TooManySeats { number: ReviewNumber, limit: usize },
    #[error("not your turn: the last message came from the {role}; wait for the other side")]
    OutOfTurn { role: Authority },
    #[error("only the proposer may {command}; use the proposer's role or id")]
    NotTheProposer { command: CommandKind },
    #[error("the content changed while git was checking; nothing was saved, try again")]
    ContentMoved,
    #[error("this idempotency_key was used for {number} with another content; use a new key")]
    IdempotencyKeyReused { number: ReviewNumber },
}

impl Refusal {
    /// A stable code for programs: the variant's name.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}
