//! Several votes, one outcome. Pure: a function of the seats' votes and the policy.

use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// How many approvals it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    RequireAll,
    MinApprovals(u32),
    /// More than half of the seats.
    Majority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub rule: Rule,
    /// From this round on, asking for changes also asks for a person. Nothing is refused.
    pub max_rounds: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self { rule: Rule::RequireAll, max_rounds: 3 }
    }
}

crate::words! {
    Outcome {
        Undecided = "undecided",
        Approved = "approved",
        ChangesRequested = "changes_requested",
        Rejected = "rejected",
    }
}

impl Policy {
    /// Approvals needed among `seats`.
    pub fn needed(self, seats: usize) -> usize {
        match self.rule {
            Rule::RequireAll => seats,
            Rule::MinApprovals(n) => (n as usize).clamp(1, seats.max(1)),
            Rule::Majority => seats / 2 + 1,
        }
    }

    /// What the votes say. A rejection ends it at once; an approval counts as soon as enough have
    /// given one; a request for changes waits for the last vote, so that one round of changes
    /// answers every reviewer.
    pub fn outcome(self, votes: &[Option<Verdict>]) -> Outcome {
        let count = |wanted| votes.iter().flatten().filter(|v| **v == wanted).count();
        if count(Verdict::Rejected) > 0 {
            Outcome::Rejected
        } else if count(Verdict::Approved) >= self.needed(votes.len()) {
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
        assert_eq!(policy.outcome(votes), expected);
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

    #[test]
    fn one_rejection_ends_it() {
        check(Rule::MinApprovals(1), &[Some(Approved), Some(Rejected), None], Outcome::Rejected);
    }
}
