//! Request and response types for claiming a seat of a review and giving it back.

use crate::{
    diffs::{DiffState, Files},
    issues::Issue,
    messages::Message,
    reviews::{ReviewHead, ReviewStatusResponse, SeatState},
    truncation::paged_excerpt,
};
use domain::{
    content::{Content, ContentHash},
    credential::Authority,
    finding::FindingStatus,
    query_types::ConventionsFile,
    review::{Proposer, Review, Seat},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

/// Commits listed beside a claim.
const MAX_COMMITS: usize = 20;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClaimRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// Your own stable name, not the proposer's. Use it again in submit_verdict.
    pub reviewer_id: Option<String>,
    /// The seat to take if the review has several. Default: the first free seat.
    pub persona: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AddSeatRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The persona of the new seat, for example "security", or "@ada" for one person or agent.
    pub reviewer: String,
    /// The role you act in: proposer or operator.
    pub role: Option<Authority>,
    /// Your own id. Optional for the proposer.
    pub caller_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AddSeatResponse {
    /// False if the review already has this seat.
    pub added: bool,
    #[serde(flatten)]
    pub review: ReviewStatusResponse,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    /// Pass it to submit_verdict.
    pub claim_generation: u32,
    /// The persona whose seat you hold.
    pub seat: Option<String>,
    pub claimed_by: Option<String>,
    /// How to review from this seat, if the broker's settings define its persona. Follow its prompt.
    pub persona: Option<PersonaBrief>,
    /// The project's conventions: AGENTS.md and CLAUDE.md at its root and nearest to the changed files, from before the
    /// change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conventions: Vec<ConventionsFile>,
    /// All seats, yours included.
    pub seats: Vec<SeatState>,
    pub intent: String,
    #[serde(flatten)]
    pub proposer: Proposer,
    /// The start of a long description. get_proposal pages the rest.
    pub description: Option<String>,
    #[serde(flatten)]
    pub files: Files,
    /// The affected files that your persona does not review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_files: Vec<String>,
    pub content_hash: ContentHash,
    #[serde(flatten)]
    pub diff: DiffState,
    /// Only for a reviewer that the broker started: a folder with the changed project, for you alone, until you have
    /// voted.
    pub workspace: Option<String>,
    /// Present if this seat has voted or written before: what is new since then.
    pub re_review: Option<ReReview>,
    /// The claim was not granted: the broker sent the review back because its diff does not apply (validation_error).
    pub auto_rejected: bool,
    /// What to do next.
    pub next: Cow<'static, str>,
}

impl ClaimResponse {
    /// `seat`: the claimed seat; `None` if the broker rejected the diff instead.
    pub fn new(review: &Review, content: &Content, seat: Option<&Seat>) -> Self {
        let claim = seat.and_then(|seat| seat.claim.as_ref());
        let auto_rejected = review.auto_rejected();
        Self {
            head: review.into(),
            claim_generation: claim.map_or(review.claim_generation, |claim| claim.generation),
            seat: seat.map(|seat| seat.persona.clone()),
            claimed_by: claim.map(|claim| claim.by.as_str()).or_else(|| review.claimed_by()).map(str::to_owned),
            persona: None,
            conventions: Vec::new(),
            seats: review.seats.iter().map(SeatState::from).collect(),
            intent: review.round.intent.clone(),
            proposer: review.proposer.clone(),
            description: content.description.as_deref().map(paged_excerpt),
            files: content.into(),
            ignored_files: Vec::new(),
            content_hash: review.round.content_hash.clone(),
            diff: DiffState::new(review, MAX_COMMITS),
            workspace: None,
            re_review: seat.and_then(|seat| ReReview::of_seat(review, seat)),
            auto_rejected,
            next: Cow::Borrowed(match seat {
                _ if auto_rejected => {
                    "The broker sent this review back to the proposer. Take another review from list_reviews."
                }
                Some(seat) if seat.vote.is_some() => {
                    "You have already voted. Take another review from list_reviews. A new submit_verdict changes your vote."
                }
                Some(seat) if seat.asked_reviewer.is_some() => {
                    "Read everything with get_proposal and the messages with get_discussion, then answer with submit_verdict and this claim_generation."
                }
                Some(_) | None => {
                    "Read everything with get_proposal, then answer with submit_verdict and this claim_generation."
                }
            }),
        }
    }
}

/// The persona of a claimed seat.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PersonaBrief {
    pub focus: String,
    /// How to review, and how to report issues.
    pub prompt: String,
    /// Patterns of paths that this persona does not review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

/// What a reviewer needs to know when it comes back to a review.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReReview {
    /// The round in which this seat last voted, or else the current one. If it is an earlier round,
    /// get_proposal(since_round=...) shows what changed since.
    pub since_round: u32,
    /// Messages since this seat last voted or wrote, oldest first. get_discussion returns them in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// Issues of this seat that the proposer disputes or has answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
    /// The open issues of this persona, with their current location. Use update_issue to say of each whether it is
    /// fixed, wont_fix or still open.
    pub issues: Vec<Issue>,
    pub hint: Cow<'static, str>,
}

impl ReReview {
    /// What a reviewer that takes a seat again has to look at. The service adds the messages.
    pub fn of_seat(review: &Review, seat: &Seat) -> Option<Self> {
        seat.last_act?;
        let own = review.findings.iter().map(AsRef::as_ref);
        let own = own.filter(|finding| finding.persona == seat.persona && finding.status == FindingStatus::Open);
        let answered = own.clone().filter(|finding| finding.reply.is_some());
        let voted_in = seat.reviewed.as_ref().map(|reviewed| reviewed.round);
        let since_round = voted_in.or(seat.last_act_round).unwrap_or(review.round.number);
        Some(Self {
            since_round,
            messages: Vec::new(),
            answered: answered.map(|finding| finding.number.to_string()).collect(),
            issues: Issue::most_severe(review, own),
            hint: Cow::Borrowed(if since_round < review.round.number {
                "Read what changed with get_proposal(since_round=...) and these messages. Check each of these issues. Raise new issues only on lines that changed since, unless they are critical."
            } else {
                "This seat has voted or written in this round. The content is the same, unless a counter-patch was accepted. Read these messages, check each of these issues, and answer with submit_verdict."
            }),
        })
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// From claim_review: proves that the claim is still yours.
    pub claim_generation: Option<u32>,
    /// The name you claimed with. Required without claim_generation.
    pub reviewer_id: Option<String>,
    /// Why you give the claim back. It is kept in the log.
    pub reason: Option<String>,
}
