//! Decides whose turn it is: who must act next in a review, and why. Every interface that shows a review shows this
//! list, and the `next` field of responses is written from it.

use crate::identity::is_same_identity;
use crate::{
    credential::Authority,
    review::{Asked, Review, Seat, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

crate::string_enum! {
    /// Why a party must act.
    TurnReason {
        /// A seat is free.
        Unclaimed = "unclaimed",
        /// A reviewer holds a seat and has not voted.
        Reviewing = "reviewing",
        /// The other side, or an operator, wrote a message.
        Message = "message",
        /// The proposer answered or disputed an issue.
        IssueAnswered = "issue_answered",
        CounterPatchOffered = "counter_patch_offered",
        CounterPatchAccepted = "counter_patch_accepted",
        CounterPatchRejected = "counter_patch_rejected",
        ChangesRequested = "changes_requested",
        DiffDoesNotApply = "diff_does_not_apply",
        Approved = "approved",
        Rejected = "rejected",
        Cancelled = "cancelled",
        /// A limit was reached, or a reviewer gave up.
        Escalated = "escalated",
    }
}

crate::string_enum! {
    /// The operation that a party is expected to call.
    TurnTool {
        ClaimReview = "claim_review",
        SubmitVerdict = "submit_verdict",
        AddMessage = "add_message",
        UpdateIssue = "update_issue",
        CreateReview = "create_review",
        AcceptCounterPatch = "accept_counter_patch",
        CloseReview = "close_review",
    }
}

/// A party that must act.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    pub who: Authority,
    /// The persona of the seat that it is about. Absent if it is about the whole review.
    pub seat: Option<String>,
    /// The party's name. Absent if any reviewer or operator can act.
    pub name: Option<String>,
    pub why: TurnReason,
    pub since: jiff::Timestamp,
    /// The expected call. Other calls may be allowed as well.
    pub tool: TurnTool,
}

/// Who asks whether it is their turn. `None` leaves open what the caller did not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asker<'a> {
    pub name: Option<&'a str>,
    pub role: Option<Authority>,
}

impl Asker<'_> {
    /// Whether the review waits for this party. A caller without a name counts only in the role it says it acts in.
    pub fn must_act(&self, review: &Review) -> bool {
        waiting_on(review).iter().any(|turn| self.has(turn, review))
    }

    fn has(&self, turn: &Turn, review: &Review) -> bool {
        let is_proposer = match self.name {
            Some(name) => review.is_proposed_by(name),
            None => self.role == Some(Authority::Proposer),
        };
        match turn.who {
            Authority::Proposer => is_proposer && self.role != Some(Authority::Reviewer),
            Authority::Operator => self.role == Some(Authority::Operator),
            Authority::Reviewer => {
                let may_review = !is_proposer && self.role != Some(Authority::Proposer);
                let is_named = match (&turn.name, self.name) {
                    (Some(expected), Some(name)) => is_same_identity(expected, name),
                    // One reviewer holds one seat of a review.
                    (None, Some(name)) => !review.is_held_by(name),
                    (_, None) => false,
                };
                may_review && is_named
            }
        }
    }
}

/// Who must act next. Never empty before the review is closed; then it is.
pub fn waiting_on(review: &Review) -> Vec<Turn> {
    if let Some(escalated) = review.escalated.filter(|_| review.escalation().is_some()) {
        return vec![Turn {
            who: Authority::Operator,
            seat: None,
            name: None,
            why: TurnReason::Escalated,
            since: escalated.at.into(),
            tool: TurnTool::AddMessage,
        }];
    }
    let mut turns: Vec<Turn> = review.seats.iter().flat_map(|seat| seat_turns(review, seat)).collect();
    let asked = review.asked_proposer.as_ref().filter(|_| review.is_undecided());
    turns.extend(asked.map(|asked| proposer(review, None, asked, TurnTool::AddMessage)));
    let is_answering = turns.iter().any(|turn| turn.who == Authority::Proposer && turn.why != TurnReason::Message);
    let (why, tool) = match review.status {
        Status::Pending | Status::Claimed | Status::InReview | Status::Closed => return turns,
        // A counter-patch is on offer.
        Status::ChangesRequested if is_answering => return turns,
        Status::ChangesRequested if review.auto_rejected() => (TurnReason::DiffDoesNotApply, TurnTool::CreateReview),
        Status::ChangesRequested => (TurnReason::ChangesRequested, TurnTool::CreateReview),
        Status::Approved => (TurnReason::Approved, TurnTool::CloseReview),
        Status::Rejected => (TurnReason::Rejected, TurnTool::CloseReview),
        Status::Cancelled => (TurnReason::Cancelled, TurnTool::CloseReview),
    };
    turns.insert(0, proposer(review, None, &Asked { why, since: review.status_since }, tool));
    turns
}

fn seat_turns(review: &Review, seat: &Seat) -> Vec<Turn> {
    let is_open = review.status.is_open();
    // A proposer that asks about a counter-patch decides it after the answer.
    let is_questioned = seat.asked_proposer.is_none() && seat.asked_reviewer.is_some();
    let offers = seat.pending_patch().filter(|_| review.is_undecided() && !is_questioned);
    let asked_proposer = seat.asked_proposer.as_ref().filter(|_| is_open || review.status == Status::Approved);
    let mut turns = Vec::new();
    if offers.is_some() {
        let since = seat.asked_proposer.as_ref().map_or(seat.since, |asked| asked.since);
        let asked = Asked { why: TurnReason::CounterPatchOffered, since };
        turns.push(proposer(review, Some(seat), &asked, TurnTool::AcceptCounterPatch));
    } else if let Some(asked) = asked_proposer {
        turns.push(proposer(review, Some(seat), asked, TurnTool::AddMessage));
    }
    let must_vote = is_open && seat.vote.is_none();
    let asked_reviewer = seat.asked_reviewer.as_ref();
    let why = asked_reviewer.map(|asked| asked.why);
    match &seat.claim {
        // Its reviewer is away until the proposer has answered, or a message reaches it.
        None if must_vote && !turns.is_empty() && asked_reviewer.is_none() && seat.reservation.is_some() => {}
        None if must_vote => turns.push(Turn {
            who: Authority::Reviewer,
            seat: Some(seat.persona.clone()),
            name: seat.reserved_for().map(str::to_owned),
            why: why.unwrap_or(TurnReason::Unclaimed),
            since: seat.since.into(),
            tool: TurnTool::ClaimReview,
        }),
        // The reviewer waits for an answer, and no message has reached it since.
        Some(_) if must_vote && !turns.is_empty() && asked_reviewer.is_none() => {}
        Some(claim) if must_vote => turns.push(Turn {
            who: Authority::Reviewer,
            seat: Some(seat.persona.clone()),
            name: Some(claim.by.clone()),
            why: why.unwrap_or(TurnReason::Reviewing),
            since: asked_reviewer.map_or(claim.at, |asked| asked.since).into(),
            tool: TurnTool::SubmitVerdict,
        }),
        Some(claim) if review.is_undecided() || review.status == Status::Approved => {
            turns.extend(asked_reviewer.map(|asked| Turn {
                who: Authority::Reviewer,
                seat: Some(seat.persona.clone()),
                name: Some(claim.by.clone()),
                why: asked.why,
                since: asked.since.into(),
                tool: if asked.why == TurnReason::IssueAnswered { TurnTool::UpdateIssue } else { TurnTool::AddMessage },
            }));
        }
        Some(_) | None => {}
    }
    turns
}

fn proposer(review: &Review, seat: Option<&Seat>, asked: &Asked, tool: TurnTool) -> Turn {
    Turn {
        who: Authority::Proposer,
        seat: seat.map(|seat| seat.persona.clone()),
        name: Some(review.proposer.identity().into()),
        why: asked.why,
        since: asked.since.into(),
        tool,
    }
}
