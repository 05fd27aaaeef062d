//! A business "no": what is wrong, and what is possible instead. Nothing changed.

use super::{CommandKind, Role, Status};
use crate::{
    content::ContentHash,
    finding::{FindingNumber, FindingStatus, RequestedStatus},
    ids::ReviewNumber,
    verdict::Verdict,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{number} is {status}: cannot {asked} now; possible: {possible}")]
    WrongStatus { number: ReviewNumber, status: Status, asked: CommandKind, possible: String },
    #[error("{number} is already claimed by {by}; list_reviews(status=\"pending\") shows what is free")]
    AlreadyClaimed { number: ReviewNumber, by: String },
    #[error("{number} is being claimed by {by} (git is checking its diff); try again in a moment or take another")]
    BeingClaimed { number: ReviewNumber, by: String },
    #[error("{number} is reserved for {reviewer}, who was asked to look again; take another")]
    Reserved { number: ReviewNumber, reviewer: String },
    #[error("{reviewer} proposed {number} and cannot review it; another reviewer_id must")]
    OwnProposal { number: ReviewNumber, reviewer: String },
    #[error("reviewer_id {given:?} is not a name to review under; give one of your own")]
    BadReviewer { given: String },
    #[error("{reviewer} already holds the {persona} seat of {number}; one reviewer holds one seat")]
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
    #[error("nobody holds this seat of {number}; claim it first")]
    NotClaimed { number: ReviewNumber },
    #[error("a verdict needs the claim_generation of your claim, or the reviewer_id that holds the seat")]
    NoFence,
    #[error("verdict {verdict} needs a reason")]
    ReasonNeeded { verdict: Verdict },
    #[error("a counter_patch may come with changes_requested or comment, not with {verdict}")]
    PatchNotAllowed { verdict: Verdict },
    #[error("the counter-patch does not apply: {words}")]
    PatchFails { words: String },
    #[error("{number} has no pending counter-patch")]
    NoPendingPatch { number: ReviewNumber },
    #[error("{number} has {has} issues and suggestions already, of at most {limit}; say the rest in the reason")]
    TooManyFindings { number: ReviewNumber, has: usize, limit: usize },
    #[error("{number} has no issue {issue}; list_issues shows those it has")]
    UnknownFinding { number: ReviewNumber, issue: FindingNumber },
    #[error("{issue}: a proposer cannot say {wish}; say fixed, wont_fix or disputed, and its reviewer decides")]
    NotForProposers { issue: FindingNumber, wish: RequestedStatus },
    #[error("{issue}: {wish} is the proposer's word; a reviewer says open, fixed, wont_fix or duplicate")]
    NotForReviewers { issue: FindingNumber, wish: RequestedStatus },
    #[error("{issue}: {wish} needs a note that says why")]
    NoteNeeded { issue: FindingNumber, wish: RequestedStatus },
    #[error("{issue} is {status} already; there is nothing to answer")]
    FindingSettled { issue: FindingNumber, status: FindingStatus },
    #[error("{issue}: duplicate needs duplicate_of, another open issue of the same review")]
    DuplicateOfWhat { issue: FindingNumber },
    #[error("not your turn: the last message came from the {role}; wait for the other side")]
    OutOfTurn { role: Role },
    #[error("only the proposer may {asked}; say so with the proposer's role or id")]
    NotTheProposer { asked: CommandKind },
    #[error("the content changed while git was checking; nothing was saved, try again")]
    ContentMoved,
    #[error("this idempotency_key made {number} with another content; use a new key")]
    KeyReused { number: ReviewNumber },
}

impl Refusal {
    /// Stable, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
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
