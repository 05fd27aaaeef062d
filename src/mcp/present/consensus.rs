//! How the votes stand, and what is missing. The one home of both for every answer.

use crate::mcp::schema;
use domain::{
    consensus::{Outcome, Policy, Rule, RuleName},
    review::{Review, Seat, Status},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Vote<'a> {
    pub persona: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
}

/// How votes become an outcome.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct PolicyRow {
    #[schemars(schema_with = "schema::rule")]
    pub rule: RuleName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_approvals: Option<u32>,
    /// From this round on, asking for changes also asks for a person.
    pub max_rounds: u32,
    /// An open critical issue keeps approvals from being enough.
    pub block_on_critical: bool,
    /// Also one that speaks of what is not there.
    pub ungrounded_blocks: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

/// Millionths of a dollar in dollars.
#[expect(clippy::cast_precision_loss, reason = "nobody spends 2^53 of them")]
pub(super) fn dollars(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

impl PolicyRow {
    pub(super) fn of(policy: Policy) -> Self {
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
            max_cost_usd: policy.max_cost.map(dollars),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Consensus<'a> {
    #[schemars(schema_with = "schema::outcome")]
    pub outcome: Outcome,
    pub approvals: usize,
    pub approvals_needed: usize,
    pub votes: Vec<Vote<'a>>,
    /// Personas whose vote is awaited. Empty once it is decided, or while it is the proposer's turn.
    pub waiting_for: Vec<&'a str>,
    /// Open critical issues that keep approvals from being enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<String>,
    /// Why it stands so, and what an undecided review still needs.
    pub why: String,
}

impl<'a> Consensus<'a> {
    pub(super) fn of(review: &'a Review) -> Self {
        let votes: Vec<_> = review.seats.iter().map(|seat| seat.vote).collect();
        let blocking: Vec<_> = review.blocking().map(|finding| finding.number.to_string()).collect();
        let outcome = review.policy.outcome(&votes, !blocking.is_empty());
        let needed = review.policy.needed(votes.len());
        let approvals = votes.iter().flatten().filter(|vote| **vote == Verdict::Approved).count();
        let awaited: Vec<_> =
            review.seats.iter().filter(|seat| review.status.is_open() && seat.vote.is_none()).collect();
        Self {
            outcome,
            approvals,
            approvals_needed: needed,
            votes: review.seats.iter().map(|seat| Vote { persona: &seat.persona, verdict: seat.vote }).collect(),
            waiting_for: awaited.iter().map(|seat| seat.persona.as_str()).collect(),
            why: why(review, outcome, &tally(approvals, needed, &blocking), &awaited),
            blocking,
        }
    }
}

fn tally(approvals: usize, needed: usize, blocking: &[String]) -> String {
    let votes = format!("{approvals} of {needed} needed approvals");
    match blocking {
        [] => votes,
        [only] => format!("{votes}, and {only}, which is critical, blocks until it is settled"),
        several => format!("{votes}, and {}, which are critical, block until they are settled", several.join(", ")),
    }
}

fn why(review: &Review, outcome: Outcome, tally: &str, awaited: &[&Seat]) -> String {
    let who_said = |verdict| {
        let seats = review.seats.iter().filter(|seat| seat.vote == Some(verdict));
        seats.map(|seat| seat.persona.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (outcome, review.status) {
        (Outcome::Approved, _) => format!("{tally} are given"),
        (Outcome::Rejected, _) => format!("rejected by {}; one rejection ends it", who_said(Verdict::Rejected)),
        (Outcome::ChangesRequested, _) => match who_said(Verdict::ChangesRequested) {
            nobody if nobody.is_empty() => format!("every seat has voted, {tally}"),
            wanted => format!("every seat has voted, {tally}; changes are wanted by {wanted}"),
        },
        (Outcome::Undecided, _) if review.auto_rejected() => {
            "nobody has judged it: the broker sent it back, because the diff does not apply".into()
        }
        (Outcome::Undecided, Status::ChangesRequested) => {
            format!("{tally}; it is the proposer's turn, whose next revision is judged anew")
        }
        (Outcome::Undecided, Status::Cancelled | Status::Closed) => "it ended before the votes were in".into(),
        (
            Outcome::Undecided,
            Status::Pending | Status::Claimed | Status::InReview | Status::Approved | Status::Rejected,
        ) => {
            let missing = awaited.iter().map(|seat| missing(seat)).collect::<Vec<_>>().join(", ");
            match who_said(Verdict::ChangesRequested) {
                wanted if wanted.is_empty() => format!("{tally}; awaited: {missing}"),
                wanted => format!(
                    "{tally}; changes are wanted by {wanted}, and the others are heard first, so that one revision \
                     answers all; awaited: {missing}"
                ),
            }
        }
    }
}

/// A seat without a vote, and on whom it waits.
fn missing(seat: &Seat) -> String {
    match (&seat.claim, &seat.reservation) {
        (Some(claim), _) => format!("{} (held by {})", seat.persona, claim.by),
        (None, Some(reservation)) => format!("{} (kept for {})", seat.persona, reservation.reviewer),
        (None, None) if seat.gave_up.is_some() => format!("{} (free; a reviewer gave up on it)", seat.persona),
        (None, None) => format!("{} (free)", seat.persona),
    }
}
