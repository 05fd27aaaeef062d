//! Whose turn it is: who must act next in a review, and why. Every surface that shows a review shows this list, and
//! `next` is written from it.

use crate::{
    credential::Authority,
    review::{Asked, CommandKind, Review, Seat, Status},
    time::Timestamp,
};

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

/// One party that must act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub who: Authority,
    /// The persona of the seat that the turn is about; `None` if it is about the whole review.
    pub seat: Option<String>,
    /// The name of the party; `None` if any reviewer or operator can act.
    pub name: Option<String>,
    pub why: TurnReason,
    pub since: Timestamp,
    /// What the party is expected to do. Other commands may be allowed as well.
    pub action: CommandKind,
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
            Some(name) => name == review.proposer.identity(),
            None => self.role == Some(Authority::Proposer),
        };
        match turn.who {
            Authority::Proposer => is_proposer && self.role != Some(Authority::Reviewer),
            Authority::Operator => self.role == Some(Authority::Operator),
            Authority::Reviewer => {
                let may_review = !is_proposer && self.role != Some(Authority::Proposer);
                let is_named = match (&turn.name, self.name) {
                    (Some(expected), Some(name)) => expected == name,
                    // One reviewer holds one seat of a review.
                    (None, Some(name)) => !review.holders().any(|holder| holder == name),
                    (_, None) => false,
                };
                may_review && is_named
            }
        }
    }
}

/// Who must act next. Never empty before the review is closed; then it is.
pub fn waiting_on(review: &Review) -> Vec<Turn> {
    if let Some(escalated) = review.escalated.filter(|escalated| !escalated.answered && is_undecided(review)) {
        return vec![Turn {
            who: Authority::Operator,
            seat: None,
            name: None,
            why: TurnReason::Escalated,
            since: escalated.at,
            action: CommandKind::Message,
        }];
    }
    let mut turns: Vec<Turn> = review.seats.iter().flat_map(|seat| seat_turns(review, seat)).collect();
    let asked = review.asked_proposer.as_ref().filter(|_| is_undecided(review));
    turns.extend(asked.map(|asked| proposer(review, None, asked, CommandKind::Message)));
    let is_answering = turns.iter().any(|turn| turn.who == Authority::Proposer && turn.why != TurnReason::Message);
    let (why, action) = match review.status {
        Status::Pending | Status::Claimed | Status::InReview | Status::Closed => return turns,
        // A counter-patch is on offer.
        Status::ChangesRequested if is_answering => return turns,
        Status::ChangesRequested if review.auto_rejected() => (TurnReason::DiffDoesNotApply, CommandKind::Revise),
        Status::ChangesRequested => (TurnReason::ChangesRequested, CommandKind::Revise),
        Status::Approved => (TurnReason::Approved, CommandKind::Close),
        Status::Rejected => (TurnReason::Rejected, CommandKind::Close),
        Status::Cancelled => (TurnReason::Cancelled, CommandKind::Close),
    };
    turns.insert(0, proposer(review, None, &Asked { why, since: review.status_since }, action));
    turns
}

/// Reviewers are at work, or the proposer has to change something.
fn is_undecided(review: &Review) -> bool {
    review.status.is_open() || review.status == Status::ChangesRequested
}

fn seat_turns(review: &Review, seat: &Seat) -> Vec<Turn> {
    let is_open = review.status.is_open();
    let offers = seat.pending_patch().filter(|_| is_undecided(review) && (seat.vote.is_none() || !is_open));
    let asked_proposer = seat.asked_proposer.as_ref().filter(|_| is_open);
    let mut turns = Vec::new();
    if offers.is_some() {
        let since = seat.asked_proposer.as_ref().map_or(seat.since, |asked| asked.since);
        let asked = Asked { why: TurnReason::CounterPatchOffered, since };
        turns.push(proposer(review, Some(seat), &asked, CommandKind::AcceptCounterPatch));
    } else if let Some(asked) = asked_proposer {
        turns.push(proposer(review, Some(seat), asked, CommandKind::Message));
    }
    let must_vote = is_open && seat.vote.is_none();
    let asked_reviewer = seat.asked_reviewer.as_ref();
    let why = asked_reviewer.map(|asked| asked.why);
    match &seat.claim {
        None if must_vote => turns.push(Turn {
            who: Authority::Reviewer,
            seat: Some(seat.persona.clone()),
            name: seat.reservation.as_ref().map(|reservation| reservation.reviewer.clone()),
            why: why.unwrap_or(TurnReason::Unclaimed),
            since: seat.since,
            action: CommandKind::Claim,
        }),
        // The reviewer waits for an answer.
        Some(_) if must_vote && !turns.is_empty() => {}
        Some(claim) if must_vote => turns.push(Turn {
            who: Authority::Reviewer,
            seat: Some(seat.persona.clone()),
            name: Some(claim.by.clone()),
            why: why.unwrap_or(TurnReason::Reviewing),
            since: asked_reviewer.map_or(claim.at, |asked| asked.since),
            action: CommandKind::Verdict,
        }),
        Some(claim) if is_undecided(review) || review.status == Status::Approved => {
            turns.extend(asked_reviewer.map(|asked| Turn {
                who: Authority::Reviewer,
                seat: Some(seat.persona.clone()),
                name: Some(claim.by.clone()),
                why: asked.why,
                since: asked.since,
                action: match asked.why {
                    TurnReason::IssueAnswered => CommandKind::UpdateIssue,
                    _ => CommandKind::Message,
                },
            }));
        }
        Some(_) | None => {}
    }
    turns
}

fn proposer(review: &Review, seat: Option<&Seat>, asked: &Asked, action: CommandKind) -> Turn {
    Turn {
        who: Authority::Proposer,
        seat: seat.map(|seat| seat.persona.clone()),
        name: Some(review.proposer.identity().into()),
        why: asked.why,
        since: asked.since,
        action,
    }
}
