//! Response types for the voting policy of a review and the current state of the vote.

use domain::{
    consensus::{Outcome, Rule, RuleName},
    review::{Review, Seat, Status},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The voting policy of a review.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    pub rule: RuleName,
    pub min_approvals: Option<u32>,
    /// From this round on, a request for changes also escalates to a person.
    pub max_rounds: u32,
    /// An open critical issue blocks approval.
    pub block_on_critical: bool,
    /// A critical issue blocks even if its file, lines or quote were not found.
    pub ungrounded_blocks: bool,
    pub max_minutes: Option<u32>,
    pub max_cost_usd: Option<f64>,
}

impl From<domain::consensus::Policy> for Policy {
    fn from(policy: domain::consensus::Policy) -> Self {
        let min_approvals = match policy.rule {
            Rule::MinApprovals(n) => Some(n),
            Rule::RequireAll | Rule::Majority => None,
        };
        Self {
            rule: policy.rule.name(),
            min_approvals,
            max_rounds: policy.max_rounds,
            block_on_critical: policy.block_on_critical,
            ungrounded_blocks: policy.ungrounded_blocks,
            max_minutes: policy.max_minutes,
            max_cost_usd: policy.max_cost_micro_usd.map(dollars),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "costs stay far below 2^53 millionths")]
pub(crate) fn dollars(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// The vote of one seat.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    pub persona: String,
    pub verdict: Option<Verdict>,
}

/// Where the votes stand, and which are missing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Consensus {
    pub outcome: Outcome,
    pub approvals: usize,
    pub approvals_needed: usize,
    pub votes: Vec<Vote>,
    /// Personas that have not voted yet. Empty once the review is decided and while the proposer has to act.
    pub waiting_for: Vec<String>,
    /// Open critical issues that block approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<String>,
    /// The outcome explained, and what an undecided review still needs.
    pub why: String,
}

impl From<&Review> for Consensus {
    fn from(review: &Review) -> Self {
        let votes: Vec<_> = review.seats.iter().map(|seat| seat.vote).collect();
        let blocking: Vec<_> = review.blocking().map(|finding| finding.number.to_string()).collect();
        let outcome = review.policy.outcome(&votes, !blocking.is_empty());
        let needed = review.policy.needed(votes.len());
        let approvals = votes.iter().flatten().filter(|vote| **vote == Verdict::Approved).count();
        let missing: Vec<_> =
            review.seats.iter().filter(|seat| review.status.is_open() && seat.vote.is_none()).collect();
        Self {
            outcome,
            approvals,
            approvals_needed: needed,
            votes: review.seats.iter().map(|seat| Vote { persona: seat.persona.clone(), verdict: seat.vote }).collect(),
            waiting_for: missing.iter().map(|seat| seat.persona.clone()).collect(),
            why: explain(review, outcome, &tally(approvals, needed, &blocking), &missing),
            blocking,
        }
    }
}

fn tally(approvals: usize, needed: usize, blocking: &[String]) -> String {
    let votes = format!("{approvals} of {needed} needed approvals");
    match blocking {
        [] => votes,
        [only] => format!("{votes}; the critical issue {only} blocks until it is resolved"),
        several => format!("{votes}; the critical issues {} block until they are resolved", several.join(", ")),
    }
}

fn explain(review: &Review, outcome: Outcome, tally: &str, missing: &[&Seat]) -> String {
    let voters = |verdict| {
        let seats = review.seats.iter().filter(|seat| seat.vote == Some(verdict));
        seats.map(|seat| seat.persona.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (outcome, review.status) {
        (Outcome::Approved, _) => tally.to_owned(),
        (Outcome::Rejected, _) => format!("rejected by {}; one rejection ends the review", voters(Verdict::Rejected)),
        (Outcome::ChangesRequested, _) => match voters(Verdict::ChangesRequested) {
            requesters if requesters.is_empty() => format!("every seat has voted: {tally}"),
            requesters => format!("every seat has voted: {tally}; changes requested by {requesters}"),
        },
        (Outcome::Undecided, _) if review.auto_rejected() => {
            "not judged: the broker sent it back because the diff does not apply".into()
        }
        (Outcome::Undecided, Status::ChangesRequested) => {
            format!("{tally}; the proposer has to act, and its next revision is judged afresh")
        }
        (Outcome::Undecided, Status::Cancelled | Status::Closed) => "the review ended before all votes were in".into(),
        (
            Outcome::Undecided,
            Status::Pending | Status::Claimed | Status::InReview | Status::Approved | Status::Rejected,
        ) => {
            let missing = missing.iter().map(|seat| describe(seat)).collect::<Vec<_>>().join(", ");
            match voters(Verdict::ChangesRequested) {
                requesters if requesters.is_empty() => format!("{tally}; waiting for {missing}"),
                requesters => format!(
                    "{tally}; changes requested by {requesters}; the other seats vote first, so that one revision \
                     can answer all of them; waiting for {missing}"
                ),
            }
        }
    }
}

/// A seat without a vote, and who is expected to cast it.
fn describe(seat: &Seat) -> String {
    match (&seat.claim, seat.reserved_for()) {
        (Some(claim), _) => format!("{} (claimed by {})", seat.persona, claim.by),
        (None, Some(reviewer)) => format!("{} (reserved for {reviewer})", seat.persona),
        (None, None) if seat.gave_up.is_some() => format!("{} (free; a reviewer gave up on it)", seat.persona),
        (None, None) => format!("{} (free)", seat.persona),
    }
}
