//! Answers of the calls that change a review.

use super::{
    DiffState, Files, PersonaRow, SeatRow, TargetRow,
    consensus::{Consensus, PolicyRow},
    excerpt,
    findings::{FindingRow, ReReview, some_of},
    head::has_counter_patch,
    next, paged_excerpt,
};
use crate::mcp::schema;
use domain::{
    consensus::Escalation,
    content::{Content, ContentHash},
    ids::ReviewId,
    priority::Priority,
    review::{Review, Role, Seat, Status},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of claim_review.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Claimed<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub version: u64,
    pub current_round: u32,
    /// Give it back in submit_verdict.
    pub claim_generation: u32,
    /// The persona whose seat you hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<&'a str>,
    /// How to review from this seat, where the broker's operator has said so: follow its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<PersonaRow<'a>>,
    /// All of them, yours included.
    pub seats: Vec<SeatRow<'a>>,
    pub intent: &'a str,
    /// Where it is long: its beginning. get_proposal pages the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(flatten)]
    pub files: Files<'a>,
    /// Those of affected_files that your persona does not look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_files: Vec<&'a str>,
    pub has_diff: bool,
    #[schemars(with = "String")]
    pub content_hash: &'a ContentHash,
    #[serde(flatten)]
    pub diff: DiffState<'a>,
    /// The branch, commit or range the diff was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow<'a>>,
    /// Only for a reviewer that the broker has started: a folder with the project as it would be with the change,
    /// for you alone, until you have voted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Where this persona has voted in an earlier round: what to look at now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub re_review: Option<ReReview<'a>>,
    /// The claim was not given: the broker sent the review back, because its diff does not apply (validation_error).
    pub auto_rejected: bool,
    pub next: &'static str,
}

impl<'a> Claimed<'a> {
    pub(in crate::mcp) fn of(review: &'a Review, content: &'a Content, reviewer: &str) -> Self {
        let seat = review.seats.iter().find(|seat| seat.is_held_by(reviewer));
        let claim = seat.and_then(|seat| seat.claim.as_ref());
        let auto_rejected = review.auto_rejected();
        let mut diff = DiffState::of(review);
        if auto_rejected {
            let words = review.decision.as_ref().and_then(|decision| decision.reason.as_deref());
            diff.applies = Some(false);
            diff.validation_error = words.map(excerpt);
        }
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            status: review.status,
            version: review.version,
            current_round: review.round.number,
            claim_generation: claim.map_or(review.claim_generation, |claim| claim.generation),
            seat: seat.map(|seat| seat.persona.as_str()),
            persona: None,
            claimed_by: claim.map_or_else(|| review.claimed_by(), |claim| Some(claim.by.as_str())),
            seats: review.seats.iter().map(SeatRow::of).collect(),
            intent: &review.round.intent,
            description: content.description.as_deref().map(paged_excerpt),
            files: Files::of(content),
            ignored_files: Vec::new(),
            has_diff: content.diff.is_some(),
            content_hash: &review.round.content_hash,
            diff,
            target: review.round.target.as_deref().map(TargetRow::short),
            workspace: None,
            re_review: seat.and_then(|seat| ReReview::of(review, &seat.persona)),
            auto_rejected,
            next: match seat {
                _ if auto_rejected => "Sent back to the proposer by the broker; take another review from list_reviews.",
                Some(seat) if seat.vote.is_some() => {
                    "You have voted already and owe nothing more; take another review from list_reviews. A new submit_verdict changes your vote."
                }
                Some(_) | None => {
                    "Read everything with get_proposal, then answer with submit_verdict and this claim_generation."
                }
            },
        }
    }
}

/// The answer of submit_verdict.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct VerdictTaken<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub version: u64,
    pub current_round: u32,
    /// Yours, as it was taken.
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Verdict,
    pub consensus: Consensus<'a>,
    /// What your seat has found in this round, and what the broker made of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<FindingRow<'a>>,
    pub seats: Vec<SeatRow<'a>>,
    #[schemars(with = "String")]
    pub content_hash: &'a ContentHash,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approved_hash: Option<&'a ContentHash>,
    /// A person should look.
    pub escalate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::escalation")]
    pub escalate_why: Option<Escalation>,
    pub has_counter_patch: bool,
    pub next: &'static str,
}

impl<'a> VerdictTaken<'a> {
    /// `speaker`: the reviewer's name or the generation of its claim.
    pub(in crate::mcp) fn of(review: &'a Review, verdict: Verdict, speaker: (Option<&str>, Option<u32>)) -> Self {
        let own = |seat: &&Seat| {
            seat.claim
                .as_ref()
                .is_some_and(|claim| speaker.1.map_or(speaker.0 == Some(&claim.by), |g| g == claim.generation))
        };
        let persona = review.seats.iter().find(own).map(|seat| seat.persona.as_str());
        let raised = review.findings.iter().map(AsRef::as_ref);
        let raised = raised.filter(|f| Some(f.persona.as_str()) == persona && f.round == review.round.number);
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            status: review.status,
            version: review.version,
            current_round: review.round.number,
            verdict,
            consensus: Consensus::of(review),
            issues: some_of(review, raised),
            seats: review.seats.iter().map(SeatRow::of).collect(),
            content_hash: &review.round.content_hash,
            approved_hash: review.approved_hash.as_ref(),
            escalate: review.escalated.is_some(),
            escalate_why: review.escalated,
            has_counter_patch: has_counter_patch(review),
            next: next(review),
        }
    }
}

/// The answer of add_message.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct MessageAdded {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<u64>,
    /// The message began with a decision and was taken as this verdict (front matter, where the persona allows it).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
    #[schemars(schema_with = "schema::role")]
    pub sender_role: Role,
    pub current_round: u32,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub version: u64,
    pub next: &'static str,
}

/// The answer of create_review.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Submission<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    /// Give it as `since` to get_review_status(wait=true).
    pub version: u64,
    #[schemars(schema_with = "schema::priority")]
    pub priority: Priority,
    pub current_round: u32,
    /// What an approval will be bound to.
    #[schemars(with = "String")]
    pub content_hash: &'a ContentHash,
    pub has_diff: bool,
    #[serde(flatten)]
    pub diff: DiffState<'a>,
    /// The branch, commit or range the diff was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow<'a>>,
    #[serde(flatten)]
    pub files: Files<'a>,
    /// Who is to review it: one seat for each.
    pub personas: Vec<&'a str>,
    /// Why these, where you named none and a rule of the broker's operator asked for them.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub panel_because: &'a [String],
    pub policy: PolicyRow,
    /// True if this was a further round of an existing review.
    pub revised: bool,
    /// A person should look.
    pub escalate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::escalation")]
    pub escalate_why: Option<Escalation>,
    pub next: &'static str,
}

impl<'a> Submission<'a> {
    pub(in crate::mcp) fn of(review: &'a Review, content: &'a Content, revised: bool) -> Self {
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            status: review.status,
            version: review.version,
            priority: review.priority,
            current_round: review.round.number,
            content_hash: &review.round.content_hash,
            has_diff: content.diff.is_some(),
            diff: DiffState::of(review),
            target: review.round.target.as_deref().map(TargetRow::short),
            files: Files::of(content),
            personas: review.seats.iter().map(|seat| seat.persona.as_str()).collect(),
            panel_because: &[],
            policy: PolicyRow::of(review.policy),
            revised,
            escalate: review.escalated.is_some(),
            escalate_why: review.escalated,
            next: next(review),
        }
    }
}
