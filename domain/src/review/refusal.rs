//! Refusals: why a command is not allowed, and what is allowed instead. A refused command changes nothing.

use super::{CommandKind, Role, Status};
use crate::{
    content::ContentHash,
    finding::{FindingNumber, FindingStatus, RequestedStatus},
    ids::ReviewNumber,
    verdict::Verdict,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the review does not exist")]
    UnknownReview,
    #[error("{number} is {status}: cannot {command} now; possible: {possible}")]
    WrongStatus { number: ReviewNumber, status: Status, command: CommandKind, possible: String },
    #[error("{number} is already claimed by {by}; claim another review")]
    AlreadyClaimed { number: ReviewNumber, by: String },
    #[error("{number} is being claimed by {by} (git is checking its diff); try again in a moment or claim another")]
    BeingClaimed { number: ReviewNumber, by: String },
    #[error("{number} is reserved for {reviewer}, who was asked to look again; claim another review")]
    Reserved { number: ReviewNumber, reviewer: String },
    #[error("{reviewer} proposed {number} and cannot review it; another reviewer_id must")]
    OwnProposal { number: ReviewNumber, reviewer: String },
    #[error("reviewer_id {given:?} cannot be used to review; choose a name of your own")]
    BadReviewer { given: String },
    #[error("{reviewer} already holds the {persona} seat of {number}; a reviewer holds one seat at a time")]
    HoldsAnotherSeat { number: ReviewNumber, reviewer: String, persona: String },
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
    PatchNotAllowed { verdict: Verdict },
    #[error("the counter-patch does not apply: {message}")]
    PatchFails { message: String },
    #[error("{number} has no pending counter-patch")]
    NoPendingPatch { number: ReviewNumber },
    #[error("{number} already has {has} issues and suggestions; the limit is {limit}, put the rest into the reason")]
    TooManyFindings { number: ReviewNumber, has: usize, limit: usize },
    #[error("{number} has no issue {issue}")]
    UnknownFinding { number: ReviewNumber, issue: FindingNumber },
    #[error(
        "{issue}: a proposer cannot set {requested}; allowed: fixed, wont_fix, disputed (its reviewer then decides)"
    )]
    NotForProposers { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue}: a reviewer cannot set {requested}; allowed: open, fixed, wont_fix, duplicate")]
    NotForReviewers { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue}: {requested} needs a note that says why")]
    NoteNeeded { issue: FindingNumber, requested: RequestedStatus },
    #[error("{issue} is already {status}; only an open issue can be answered")]
    FindingSettled { issue: FindingNumber, status: FindingStatus },
    #[error("{issue}: duplicate needs duplicate_of, another open issue of this review")]
    DuplicateOfWhat { issue: FindingNumber },
    #[error("not your turn: the last message came from the {role}; wait for the other side")]
    OutOfTurn { role: Role },
    #[error("only the proposer may {command}; use the proposer's role or id")]
    NotTheProposer { command: CommandKind },
    #[error("the content changed while git was checking; nothing was saved, try again")]
    ContentMoved,
    #[error("this idempotency_key was used for {number} with another content; use a new key")]
    KeyReused { number: ReviewNumber },
}

impl Refusal {
    /// A stable code for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownReview => "unknown_review",
            Self::WrongStatus { .. } => "wrong_status",
            Self::AlreadyClaimed { .. } => "already_claimed",
            Self::BeingClaimed { .. } => "being_claimed",
            Self::Reserved { .. } => "reserved",
            Self::OwnProposal { .. } => "own_proposal",
            Self::BadReviewer { .. } => "bad_reviewer_id",
            Self::HoldsAnotherSeat { .. } => "holds_another_seat",
            Self::NoSuchSeat { .. } => "no_such_seat",
            Self::PersonaNeeded { .. } => "persona_needed",
            Self::StaleClaim { .. } => "stale_claim",
            Self::StaleContent { .. } => "stale_content",
            Self::NotYourSeat { .. } => "not_your_seat",
            Self::NotClaimed { .. } => "not_claimed",
            Self::NoFence => "no_fence",
            Self::ReasonNeeded { .. } => "reason_needed",
            Self::PatchNotAllowed { .. } => "counter_patch_not_allowed",
            Self::PatchFails { .. } => "counter_patch_fails",
            Self::NoPendingPatch { .. } => "no_pending_counter_patch",
            Self::TooManyFindings { .. } => "too_many_issues",
            Self::UnknownFinding { .. } => "unknown_issue",
            Self::NotForProposers { .. } => "not_for_proposers",
            Self::NotForReviewers { .. } => "not_for_reviewers",
            Self::NoteNeeded { .. } => "note_needed",
            Self::FindingSettled { .. } => "issue_settled",
            Self::DuplicateOfWhat { .. } => "duplicate_of_needed",
            Self::OutOfTurn { .. } => "out_of_turn",
            Self::NotTheProposer { .. } => "not_the_proposer",
            Self::ContentMoved => "content_moved",
            Self::KeyReused { .. } => "idempotency_key_reused",
        }
    }
}
