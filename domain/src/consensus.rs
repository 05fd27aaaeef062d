//! Rules that turn the votes of a review's seats into one outcome, and the policy that chooses the rule.

use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

crate::string_enum! {
    /// The name of a rule, as callers write it.
    RuleName {
        RequireAll = "require_all",
        MinApprovals = "min_approvals",
        Majority = "majority",
    }
}

/// How many approvals a review needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    RequireAll,
    MinApprovals(u32),
    /// More than half of the seats.
    Majority,
}

/// The voting policy that a proposer asks for. Every field has a default.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRequest {
    /// Default require_all. Under each rule one "rejected" ends the review.
    pub rule: Option<RuleName>,
    /// Approvals needed. Only with the rule "min_approvals".
    #[schemars(range(min = 1))]
    pub min_approvals: Option<u32>,
    /// From this round on, a request for changes also escalates to a person.
    #[schemars(range(min = 1))]
    pub max_rounds: Option<u32>,
    /// An open critical issue blocks approval. Default: with several seats.
    pub block_on_critical: Option<bool>,
    /// Also if its location was not found. Default true.
    pub ungrounded_blocks: Option<bool>,
    /// Minutes without approval after which a person is asked.
    #[schemars(range(min = 1))]
    pub max_minutes: Option<u32>,
    /// Cost in dollars at which a person is asked.
    pub max_cost_usd: Option<f64>,
}

/// How the votes of a review lead to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub rule: Rule,
    /// A request for changes in this round or later escalates the review to a person. Nothing is refused.
    pub max_rounds: u32,
    /// An open critical finding prevents an approval.
    pub block_on_critical: bool,
    /// Also if the finding refers to lines that do not exist.
    pub ungrounded_blocks: bool,
    /// After this many minutes the review is escalated.
    pub max_minutes: Option<u32>,
    /// Above this cost the review is escalated, in millionths of a dollar.
    pub max_cost_micro_usd: Option<u64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            rule: Rule::RequireAll,
            max_rounds: 3,
            block_on_critical: false,
            ungrounded_blocks: true,
            max_minutes: None,
            max_cost_micro_usd: None,
        }
    }
}

crate::string_enum! {
    /// Why a person should look at a review.
    Escalation {
        Rounds = "max_rounds",
        Minutes = "max_minutes",
        Cost = "max_cost_usd",
        Oscillation = "oscillating_findings",
        Exchanges = "max_exchanges",
        CouldNotReview = "could_not_review",
    }
}

crate::string_enum! {
    Outcome {
        Undecided = "undecided",
        Approved = "approved",
        ChangesRequested = "changes_requested",
        Rejected = "rejected",
    }
}

impl Rule {
    pub const fn name(self) -> RuleName {
        match self {
            Self::RequireAll => RuleName::RequireAll,
            Self::MinApprovals(_) => RuleName::MinApprovals,
            Self::Majority => RuleName::Majority,
        }
    }
}

impl Policy {
    /// The number of approvals that a review with `seats` seats needs.
    pub fn needed(self, seats: usize) -> usize {
        match self.rule {
            Rule::RequireAll => seats,
            Rule::MinApprovals(n) => (n as usize).clamp(1, seats.max(1)),
            Rule::Majority => seats / 2 + 1,
        }
    }

    /// The outcome of these votes. One rejection decides at once, and so do enough approvals unless a finding `blocks`.
    /// A request for changes waits for the last vote, so that one round of changes answers every reviewer.
    pub fn outcome(self, votes: &[Option<Verdict>], blocks: bool) -> Outcome {
        let count = |wanted| votes.iter().flatten().filter(|v| **v == wanted).count();
        if count(Verdict::Rejected) > 0 {
            Outcome::Rejected
        } else if !blocks && count(Verdict::Approved) >= self.needed(votes.len()) {
            Outcome::Approved
        } else if votes.iter().all(Option::is_some) {
            Outcome::ChangesRequested
        } else {
            Outcome::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Policy, Rule};
    use crate::verdict::Verdict::{self, Approved, ChangesRequested, Rejected};

    #[track_caller]
    fn check(rule: Rule, votes: &[Option<Verdict>], expected: Outcome) {
        let policy = Policy { rule, ..Policy::default() };
        assert_eq!(policy.outcome(votes, false), expected);
        // Something that blocks takes back an approval and nothing else.
        let complete = votes.iter().all(Option::is_some);
        let blocked = match expected {
            Outcome::Approved if complete => Outcome::ChangesRequested,
            Outcome::Approved => Outcome::Undecided,
            other @ (Outcome::Undecided | Outcome::ChangesRequested | Outcome::Rejected) => other,
        };
        assert_eq!(policy.outcome(votes, true), blocked);
    }

    #[test]
    fn one_seat_is_simply_that_verdict() {
        check(Rule::RequireAll, &[None], Outcome::Undecided);
        check(Rule::RequireAll, &[Some(Approved)], Outcome::Approved);
        check(Rule::RequireAll, &[Some(ChangesRequested)], Outcome::ChangesRequested);
        check(Rule::RequireAll, &[Some(Rejected)], Outcome::Rejected);
    }

    #[test]
    fn all_must_approve_by_default() {
        check(Rule::RequireAll, &[Some(Approved), None], Outcome::Undecided);
        check(Rule::RequireAll, &[Some(Approved), Some(Approved)], Outcome::Approved);
        check(Rule::RequireAll, &[Some(ChangesRequested), None], Outcome::Undecided);
        check(Rule::RequireAll, &[Some(ChangesRequested), Some(Approved)], Outcome::ChangesRequested);
    }

    #[test]
    fn enough_approvals_need_not_wait() {
        check(Rule::MinApprovals(1), &[Some(Approved), None, None], Outcome::Approved);
        check(Rule::Majority, &[Some(Approved), None, Some(Approved)], Outcome::Approved);
        check(Rule::Majority, &[Some(Approved), None, Some(ChangesRequested)], Outcome::Undecided);
        check(Rule::MinApprovals(9), &[Some(Approved), Some(Approved)], Outcome::Approved);
        check(Rule::MinApprovals(0), &[None, None], Outcome::Undecided);
    }

    /// Every way that three seats can have voted, in any order, by how many there are of each vote.
    #[test]
    fn three_seats_by_the_number_of_each_vote() {
        const VOTES: [Option<Verdict>; 4] = [None, Some(Approved), Some(ChangesRequested), Some(Rejected)];
        for n in 0..64 {
            let votes = [VOTES[n / 16], VOTES[n / 4 % 4], VOTES[n % 4]];
            let count = |wanted| votes.iter().filter(|vote| **vote == wanted).count();
            for (rule, needed) in [(Rule::RequireAll, 3), (Rule::MinApprovals(2), 2), (Rule::Majority, 2)] {
                let expected = match (count(Some(Rejected)), count(Some(Approved)), count(None)) {
                    (1.., _, _) => Outcome::Rejected,
                    (0, approvals, _) if approvals >= needed => Outcome::Approved,
                    (0, _, 0) => Outcome::ChangesRequested,
                    (0, _, _) => Outcome::Undecided,
                };
                check(rule, &votes, expected);
            }
        }
    }

    #[test]
    fn approvals_needed_by_the_number_of_seats() {
        let needed = |rule| [1, 2, 3, 4, 10].map(|seats| Policy { rule, ..Policy::default() }.needed(seats));
        assert_eq!(needed(Rule::RequireAll), [1, 2, 3, 4, 10]);
        assert_eq!(needed(Rule::MinApprovals(2)), [1, 2, 2, 2, 2]);
        assert_eq!(needed(Rule::Majority), [1, 2, 2, 3, 6]);
    }

    #[test]
    fn one_rejection_ends_it() {
        check(Rule::MinApprovals(1), &[Some(Approved), Some(Rejected), None], Outcome::Rejected);
    }
}
